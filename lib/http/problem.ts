/** Errors as clients see them (RFC 9457), and the only place that knows status codes for what the desk refuses. */
import type { Context } from "hono";
import { DeskRefusal, type RefusalCode } from "../agent/desk-refusal.ts";

export type ProblemCode =
  | RefusalCode
  | "not_found"
  | "method_not_allowed"
  | "unauthorized"
  | "wrong_host"
  | "wrong_origin"
  | "bad_request"
  | "malformed_json"
  | "invalid"
  | "body_too_large"
  | "too_many_values"
  | "body_too_slow"
  | "unsupported_media_type"
  | "cursor_ahead"
  | "request_too_slow"
  | "expectation_failed"
  | "headers_too_large"
  | "unsupported_transfer_coding"
  | "internal";

/** One fault of a request's body or query. */
export interface Fault {
  /** JSON pointer into the body, or `?name` for a query parameter. */
  readonly pointer: string;
  readonly detail: string;
}

export const STATUS: Readonly<Record<ProblemCode, number>> = {
  bad_request: 400,
  malformed_json: 400,
  unauthorized: 401,
  wrong_host: 403,
  wrong_origin: 403,
  not_found: 404,
  unknown_session: 404,
  unknown_call: 404,
  method_not_allowed: 405,
  body_too_slow: 408,
  request_too_slow: 408,
  busy: 409,
  interrupted: 409,
  no_turn: 409,
  held: 409,
  settled: 409,
  not_asked: 409,
  altered: 409,
  dropped: 409,
  workspace_gone: 409,
  cursor_ahead: 409,
  body_too_large: 413,
  too_many_values: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  invalid: 422,
  unacceptable: 422,
  key_reused: 422,
  too_many_turns: 429,
  too_many_sessions: 429,
  too_many_prompts: 429,
  too_many_readers: 429,
  headers_too_large: 431,
  internal: 500,
  unsupported_transfer_coding: 501,
  draining: 503,
  unavailable: 503,
};

const RETRY_AFTER_S = 5;

/** Thrown by whatever refuses a request. */
export class Problem extends Error {
  override readonly name = "Problem";
  constructor(
    readonly code: ProblemCode,
    detail: string,
    readonly more: { readonly errors?: readonly Fault[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail);
  }

  get status(): number {
    return STATUS[this.code];
  }
}

/** What is thrown, as a problem; `part`: where options were given. What we did not expect is not explained to clients. */
export function toProblem(error: unknown, part: "body" | "query" = "body"): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DeskRefusal) {
    const { code, message, field } = error;
    if (field === null) return new Problem(code, message);
    return new Problem(code, message, { errors: [{ pointer: part === "body" ? `/${field}` : `?${field}`, detail: message }] });
  }
  return new Problem("internal", "The server failed to answer this request. Its log has the reason under the request's id.");
}

export function problemResponse(problem: Problem, c: Context): Response {
  return toResponse(problem, { instance: c.req.path, request_id: c.get("request_id") as string | undefined });
}

/** For what never becomes a request of the app. */
export function bareProblem(code: ProblemCode, detail: string): Response {
  const request_id = crypto.randomUUID();
  const response = toResponse(new Problem(code, detail), { request_id });
  response.headers.set("x-request-id", request_id);
  response.headers.set("x-content-type-options", "nosniff");
  return response;
}

function toResponse(
  { code, status, message, more }: Problem,
  of: { readonly instance?: string; readonly request_id?: string | undefined },
) {
  const body = {
    type: `urn:orrery:problem:${code}`,
    title: code.replaceAll("_", " "),
    status,
    detail: message,
    ...of,
    ...(more.errors === undefined ? {} : { errors: more.errors }),
  };
  const headers = new Headers({ "content-type": "application/problem+json", "cache-control": "no-store", ...more.headers });
  if (status === 429 || status === 503) headers.set("retry-after", String(RETRY_AFTER_S));
  return new Response(JSON.stringify(body), { status, headers });
}
