/**
 * `Idempotency-Key` on POST: the second request with the same key and body gets the first one's answer, also while
 * that is still being made. Kept in memory, as many and as long as below; only what succeeded is kept.
 */
import type { MiddlewareHandler } from "hono";
import { sha256 } from "../session/digest.ts";
import type { AppEnv } from "./env.ts";
import { Problem } from "./problem.ts";

const KEYS = 1000;
const KEPT_MS = 24 * 3600_000;

interface Kept {
  readonly request: string;
  readonly since: number;
  /** Null: it did not succeed, and may be tried again. */
  readonly answer: Promise<Answer | null>;
}

interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

/** `except`: paths whose answers are for one request only. */
export function replayByKey(except: ReadonlySet<string>): MiddlewareHandler<AppEnv> {
  const kept = new Map<string, Kept>();
  return async (c, next) => {
    const key = c.req.method === "POST" && !except.has(c.req.path) ? c.req.header("idempotency-key") : undefined;
    if (key === undefined) return await next();
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new Problem("bad_request", "Cannot use this Idempotency-Key as it must be 1 to 255 printable characters without spaces");
    }
    const request = sha256(JSON.stringify([c.req.path, new URL(c.req.url).search, c.get("body_text")]));
    for (let known = kept.get(key); known !== undefined && Date.now() - known.since < KEPT_MS; known = kept.get(key)) {
      if (known.request !== request) throw new Problem("key_reused", "Cannot use this Idempotency-Key again for another request");
      const answer = await known.answer;
      if (answer !== null) return toResponse(answer);
      if (kept.get(key) === known) kept.delete(key);
    }
    const answer = Promise.withResolvers<Answer | null>();
    kept.set(key, { request, since: Date.now(), answer: answer.promise });
    for (const oldest of kept.keys()) {
      if (kept.size <= KEYS) break;
      kept.delete(oldest);
    }
    try {
      await next();
    } finally {
      answer.resolve(c.res.ok ? { status: c.res.status, headers: [...c.res.headers], body: await c.res.clone().text() } : null);
    }
  };
}

function toResponse({ status, headers, body }: Answer): Response {
  const response = new Response(body, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) });
  response.headers.set("idempotency-replayed", "true");
  return response;
}
