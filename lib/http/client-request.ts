/** One request of a client: the operations by their names, and what becomes of an answer that is none. */
import type { InferOutput } from "valibot";
import type * as api from "./schemas.ts";

export interface ClientOptions {
  /** As `orrery serve` prints it. */
  readonly url: string;
  /** What is in the token's file; as a function it is asked for at each request. */
  readonly token: string | (() => string | Promise<string>);
  /** Takes the place of the host's own. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What the server answers when it does not do what it was asked (RFC 9457). */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  constructor(
    readonly status: number,
    /** The end of the problem's type: `busy`, `unknown_session`, … */
    readonly code: string,
    detail: string,
    readonly errors: readonly { readonly pointer: string; readonly detail: string }[] = [],
    readonly retry_after_ms: number | null = null,
  ) {
    super(detail);
  }
}

/** By the names that OpenAPI has for them. */
export const OPERATIONS = {
  capabilities: "GET /v1/capabilities",
  listTools: "GET /v1/tools",
  listSessions: "GET /v1/sessions",
  createSession: "POST /v1/sessions",
  getSession: "GET /v1/sessions/{id}",
  deleteSession: "DELETE /v1/sessions/{id}",
  prompt: "POST /v1/sessions/{id}/prompts",
  resume: "POST /v1/sessions/{id}/resume",
  cancel: "POST /v1/sessions/{id}/cancel",
  changeMode: "POST /v1/sessions/{id}/mode",
  forkSession: "POST /v1/sessions/{id}/fork",
  answerApproval: "POST /v1/sessions/{id}/approvals/{call}",
  getCall: "GET /v1/sessions/{id}/calls/{call}",
  getEvents: "GET /v1/sessions/{id}/events",
} as const;

export type Operation = keyof typeof OPERATIONS;

export interface Input {
  readonly id?: string;
  readonly call?: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** @throws {ApiProblem} @throws what `fetch` throws. */
export async function sendRequest(
  { url, token, fetch: send = fetch }: ClientOptions,
  operation: Operation,
  { id = "", call = "", query = {}, body, headers, signal }: Input,
): Promise<Response> {
  const [method = "", path = ""] = OPERATIONS[operation].split(" ");
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => value === undefined ? [] : [[name, String(value)]]);
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  const place = path.replace("{id}", encodeURIComponent(id)).replace("{call}", encodeURIComponent(call));
  const response = await send(`${url.replace(/\/+$/, "")}${place}${search}`, {
    method,
    headers: {
      authorization: `Bearer ${typeof token === "string" ? token : await token()}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw await toProblem(response);
  return response;
}

async function toProblem(response: Response): Promise<ApiProblem> {
  const text = await response.text();
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const retry_after_ms = Number.isFinite(seconds) ? seconds * 1000 : null;
  if (!(response.headers.get("content-type") ?? "").startsWith("application/problem+json")) {
    return new ApiProblem(response.status, "unknown", `The server answered with status ${response.status}`, [], retry_after_ms);
  }
  const { type, detail, errors } = JSON.parse(text) as InferOutput<typeof api.ProblemBody>;
  return new ApiProblem(response.status, type.slice(type.lastIndexOf(":") + 1), detail, errors, retry_after_ms);
}
