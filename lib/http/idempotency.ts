/**
 * `Idempotency-Key` on POST: the second request with the same key, path and body gets the first one's answer, also while
 * that is still being made. Kept in memory, as many, as large and as long as below; only what succeeded is kept, and
 * only that takes a place.
 *
 * What is the same request is what the log could tell as well, where it knows the key: what is asked for, and not how it
 * is written or how its sender wants to be answered.
 */
import type { MiddlewareHandler } from "hono";
import { sha256 } from "../platform/digest.ts";
import type { AppEnv } from "./env.ts";
import { relativePath } from "./place.ts";
import { Problem } from "./problem.ts";

export interface KeyLimits {
  readonly keys: number;
  /** Of all kept answers, in characters. */
  readonly size: number;
  readonly ms: number;
}

export const KEYS: KeyLimits = { keys: 1000, size: 32 * 1024 * 1024, ms: 24 * 3600_000 };

interface Kept {
  readonly request: string;
  readonly since: number;
  readonly answer: Answer;
}

interface Making {
  readonly request: string;
  /** Null: it did not succeed, and may be tried again. */
  readonly answer: Promise<Answer | null>;
}

interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

/** `except`: paths whose answers are for one request only. */
export function replayByKey(except: (path: string) => boolean, limits: KeyLimits = KEYS): MiddlewareHandler<AppEnv> {
  const kept = new Answers(limits);
  const making = new Map<string, Making>();
  return async (c, next) => {
    if (c.req.method === "DELETE") {
      await next();
      // What was answered about something that is gone, or that it was made, is not true any more.
      if (c.res.ok || c.res.status === 404) kept.dropOf(c.req.path);
      return;
    }
    const given = c.req.method === "POST" && !except(relativePath(c)) ? c.req.header("idempotency-key") : undefined;
    if (given === undefined) return await next();
    if (!/^[\x21-\x7e]{1,255}$/.test(given)) {
      throw new Problem("bad_request", "Cannot use this Idempotency-Key as it must be 1 to 255 printable characters without spaces");
    }
    // In another session it is another key, as it is in the log.
    const key = `${c.req.path} ${given}`;
    const request = digestOf(c.get("body") ?? {});
    for (let first = making.get(key); first !== undefined; first = making.get(key)) {
      checkSame(first, request);
      const answer = await first.answer;
      if (answer !== null) return toResponse(answer);
    }
    const known = kept.get(key);
    if (known !== null) {
      checkSame(known, request);
      return toResponse(known.answer);
    }
    const made = Promise.withResolvers<Answer | null>();
    making.set(key, { request, answer: made.promise });
    let answer: Answer | null = null;
    try {
      await next();
      if (c.res.ok) answer = { status: c.res.status, headers: [...c.res.headers], body: await c.res.clone().text() };
      if (answer !== null && c.get("keep_answer") !== false) kept.keep(key, { request, since: Date.now(), answer });
    } finally {
      making.delete(key);
      made.resolve(answer);
    }
  };
}

/** How a sender wants to be answered is no part of what it asks for; `wait` is not in the body. */
const MANNERS: ReadonlySet<string> = new Set(["if_busy"]);

function digestOf(body: object): string {
  const asked = Object.entries(body).filter(([name]) => !MANNERS.has(name));
  return sha256(JSON.stringify(asked.sort(([left], [right]) => left < right ? -1 : 1)));
}

/** @throws {Problem} */
function checkSame({ request: first }: { readonly request: string }, request: string): void {
  if (first !== request) throw new Problem("key_reused", "Cannot use this Idempotency-Key again for another request");
}

class Answers {
  readonly #limits: KeyLimits;
  /** The oldest first. */
  readonly #kept = new Map<string, Kept>();
  #size = 0;

  constructor(limits: KeyLimits) {
    this.#limits = limits;
  }

  get(key: string): Kept | null {
    const known = this.#kept.get(key);
    if (known === undefined) return null;
    if (Date.now() - known.since < this.#limits.ms) return known;
    this.#drop(key, known);
    return null;
  }

  keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#size += kept.answer.body.length;
    for (const [oldest, each] of this.#kept) {
      if (this.#kept.size <= this.#limits.keys && this.#size <= this.#limits.size) return;
      this.#drop(oldest, each);
    }
  }

  /** Of what has this path: what was asked below it, and what has made it. */
  dropOf(path: string): void {
    for (const [key, each] of this.#kept) {
      if (key.startsWith(`${path}/`) || locationOf(each.answer) === path) this.#drop(key, each);
    }
  }

  #drop(key: string, { answer }: Kept): void {
    this.#kept.delete(key);
    this.#size -= answer.body.length;
  }
}

function locationOf({ headers }: Answer): string | undefined {
  return headers.find(([name]) => name === "location")?.[1];
}

function toResponse({ status, headers, body }: Answer): Response {
  const response = new Response(body, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) });
  response.headers.set("idempotency-replayed", "true");
  return response;
}
