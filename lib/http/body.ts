/** The body of a POST: JSON of a bounded size that arrives in bounded time, read before any route sees it. */
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { JsonFault, readDocument } from "../session/json-reader.ts";
import { illFormedPlaces } from "../session/well-formed.ts";
import type { AppEnv } from "./env.ts";
import { relativePath } from "./place.ts";
import { Problem } from "./problem.ts";

export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** Of what anybody may send: without a token there is only a code to give. */
const OPEN_BYTES = 4096;

/** JSON only and in UTF-8, so that no page can make a browser send one without asking first. `open`: paths that need no token. */
export function readBody(limits: BodyLimits, open: (path: string) => boolean): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    // Where nothing takes a POST it is the method that is wrong.
    if (c.req.method === "POST" && matchedRoutes(c).some(({ method }) => method === "POST")) {
      checkType(c);
      const bytes = open(relativePath(c)) ? Math.min(limits.bytes, OPEN_BYTES) : limits.bytes;
      const text = await readText(c.req.raw, { ...limits, bytes });
      c.set("body", parseObject(text));
      // The stream is used up: whoever reads the body later gets this text.
      const { url, method, headers } = c.req.raw;
      c.req.raw = new Request(url, { method, headers, body: text });
    }
    await next();
  };
}

function checkType(c: Context<AppEnv>): void {
  const type = c.req.header("content-type") ?? "";
  const accept = { headers: { accept: "application/json" } };
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Problem("unsupported_media_type", "Cannot read this body: send JSON, with Content-Type: application/json", accept);
  }
  if (/;\s*charset\s*=(?!\s*(?:utf-8|"utf-8")\s*(?:;|$))/i.test(type)) {
    throw new Problem("unsupported_media_type", "Cannot read this body: send JSON in UTF-8, and no other charset in Content-Type", accept);
  }
  if (!/^(identity)?$/i.test(c.req.header("content-encoding") ?? "")) {
    throw new Problem("unsupported_media_type", "Cannot read this body as it is compressed: send it as it is");
  }
}

async function readText(request: Request, { bytes, ms }: BodyLimits): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > bytes) throw tooLarge(bytes);
  const reader = request.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Problem("body_too_slow", `Cannot wait longer than ${ms / 1000} s for this body`)), ms);
  try {
    let text = "";
    for (let size = 0;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > bytes) throw tooLarge(bytes);
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    if (error instanceof Problem) throw error;
    if (error instanceof TypeError) throw new Problem("malformed_json", "Cannot read this body as it is not UTF-8");
    throw new Problem("bad_request", "Cannot read this body as it broke off");
  } finally {
    clearTimeout(timer);
  }
}

/** @throws {Problem} */
function parseObject(text: string): object {
  const value = parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Problem("invalid", "Cannot take this body as it must be a JSON object", {
      errors: [{ pointer: "", detail: "must be an object" }],
    });
  }
  const errors = illFormedPlaces(text, value).map(({ pointer, what }) => ({
    pointer,
    detail: what === "text" ? "must not hold half of a surrogate pair" : "must have a name without half of a surrogate pair",
  }));
  if (errors.length === 0) return value;
  throw new Problem("invalid", `Cannot take this body as it holds half of a surrogate pair: ${errors[0]?.pointer}`, { errors });
}

/** More than a body of any route has. Whoever reads all of one that has more keeps the others waiting. */
export const MOST_VALUES = 1000;

/**
 * Reads no further than the value that is one too many. A key that comes twice is refused: who checked this body before
 * it came here may have gone by the other one. @throws {Problem}
 */
function parse(text: string): unknown {
  try {
    return readDocument(text, { uniqueKeys: true, mostValues: MOST_VALUES }).value;
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (error.beyondLimits) throw new Problem("too_many_values", `Cannot take this body as it is ${error.message}`);
    const where = text.trim() === "" ? "it is empty, send at least {}" : error.message;
    throw new Problem("malformed_json", `Cannot read this body as JSON: ${where}`);
  }
}

function tooLarge(bytes: number): Problem {
  return new Problem("body_too_large", `Cannot read this body as it is larger than ${bytes} bytes`);
}
