/** What the routes share: how one is described for OpenAPI, and how its input is checked. */
import type { Context, MiddlewareHandler } from "hono";
import { describeRoute, resolver, validator } from "hono-openapi";
import * as v from "valibot";
import { toPointerToken } from "../session/json-pointer.ts";
import type { AppEnv } from "./env.ts";
import { type Fault, Problem, type ProblemCode, STATUS } from "./problem.ts";
import { ProblemBody } from "./schemas.ts";

export interface RouteDescription {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** By status; null: no JSON. */
  readonly answers: Readonly<Record<number, v.GenericSchema | null>>;
  /** Media types other than JSON of the 200 answer, with what one piece of a stream is; null: text. */
  readonly streams?: Readonly<Record<string, v.GenericSchema | null>>;
  /** What may be refused here besides what any route refuses. */
  readonly refuses?: readonly ProblemCode[];
  readonly open?: boolean;
  /** Request headers that mean something here. */
  readonly takes?: readonly TakenHeader[];
  /** Headers of the answers, by status. */
  readonly gives?: Readonly<Record<number, readonly GivenHeader[]>>;
}

const TAKEN = {
  "Idempotency-Key": "Makes one request of this one and those that are sent again with the same key, 1 to 255 printable characters",
  "If-None-Match": "The `ETag` of the state that is known: 304 while it has not changed",
  "Last-Event-ID": "The number of the last event that was seen; goes before `after`",
} as const;
const GIVEN = {
  ETag: "Of the state that is answered, or was made",
  Vary: "`Accept`: what is answered depends on it",
  Location: "The path of the new session",
  "Idempotency-Replayed": "`true`: this request was answered before",
} as const;
type TakenHeader = keyof typeof TAKEN;
type GivenHeader = keyof typeof GIVEN;

export function describe(
  { id, summary, description, answers, streams = {}, open = false, takes = [], gives = {}, refuses = [] }: RouteDescription,
): MiddlewareHandler {
  const responses = Object.entries(answers).map(([status, schema]) => [status, {
    description: STATUS_TEXT[status] ?? "Done",
    headers: headersOf(["X-Request-Id", ...gives[Number(status)] ?? []]),
    ...contentOf(schema, status === "200" ? streams : {}),
  }]);
  return describeRoute({
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(open ? { security: [] } : {}),
    ...(takes.length === 0 ? {} : { parameters: takes.map(toParameter) }),
    responses: {
      ...problemsOf([...(open ? [] : GUARDED), ...(takes.includes("Idempotency-Key") ? KEYED : []), ...refuses]),
      ...Object.fromEntries(responses),
      default: problem("A problem (RFC 9457)"),
    },
  });
}

/** What every route may answer that asks for a token. */
const GUARDED: readonly ProblemCode[] = ["unauthorized", "wrong_host", "wrong_origin", "invalid", "internal", "unavailable"];
/** What every route refuses that takes a body. */
export const BODIED: readonly ProblemCode[] = [
  "bad_request",
  "malformed_json",
  "body_too_slow",
  "body_too_large",
  "too_many_values",
  "unsupported_media_type",
  "unsupported_transfer_coding",
];
const KEYED: readonly ProblemCode[] = [...BODIED, "key_reused", "draining"];

function problemsOf(codes: readonly ProblemCode[]): Record<string, ReturnType<typeof problem>> {
  const statuses = [...new Set(codes.map((code) => STATUS[code]))];
  return Object.fromEntries(statuses.map((status) => {
    const named = [...new Set(codes.filter((code) => STATUS[code] === status))];
    return [String(status), problem(named.map((code) => `\`${code}\``).join(", "))];
  }));
}

function problem(description: string) {
  return {
    description,
    headers: headersOf(["X-Request-Id", "Retry-After"]),
    content: { "application/problem+json": { schema: resolver(ProblemBody) } },
  };
}

function contentOf(schema: v.GenericSchema | null, streams: NonNullable<RouteDescription["streams"]>) {
  if (schema === null && Object.keys(streams).length === 0) return {};
  const text = { type: "string" as const };
  return {
    content: {
      ...(schema === null ? {} : { "application/json": { schema: resolver(schema) } }),
      ...Object.fromEntries(Object.entries(streams).map(([type, piece]) => [type, { schema: piece === null ? text : resolver(piece) }])),
    },
  };
}

function toParameter(name: TakenHeader) {
  return { in: "header" as const, name, required: false, description: TAKEN[name], schema: { type: "string" as const } };
}

function headersOf(names: readonly (GivenHeader | "X-Request-Id" | "Retry-After")[]) {
  const words = { ...GIVEN, "X-Request-Id": "Names this request in the log of the server", "Retry-After": "With 429 and 503: seconds" };
  return Object.fromEntries(names.map((name) => [name, { description: words[name], schema: { type: "string" as const } }]));
}

const STATUS_TEXT: Readonly<Record<string, string>> = { 200: "Done", 201: "Created", 202: "Taken", 204: "Gone", 304: "Not changed" };

export function checkBody<S extends v.GenericSchema>(schema: S) {
  return validator("json", schema, (result) => refuse("body", result));
}

export function checkQuery<S extends v.GenericSchema>(schema: S) {
  return validator("query", schema, (result) => refuse("query", result), { options: { overrideAction: integerOf } });
}

/** A parameter that is read as a number, with its bounds; null: any other. */
function integerOf({ valibotAction }: { readonly valibotAction: unknown }) {
  const { output, success } = v.safeParse(Numbered, valibotAction);
  return success ? { type: "integer" as const, ...output.metadata.integer } : null;
}

const Numbered = v.object({ metadata: v.object({ integer: v.object({ minimum: v.number(), maximum: v.number() }) }) });

/** A parameter that nothing looks at would be taken for one that counts. */
export const takesNoQuery: MiddlewareHandler = async (c, next) => {
  if (c.req.url.includes("?")) {
    for (const name of new URL(c.req.url).searchParams.keys()) {
      throw new Problem("invalid", `Cannot take this query: ?${name} is not known here`, {
        errors: [{ pointer: `?${name}`, detail: "is not known here" }],
      });
    }
  }
  await next();
};

/** An id in another form than ours names nothing. */
export function checkPath<S extends v.GenericSchema>(schema: S) {
  return validator("param", schema, (result) => {
    if (!result.success) throw new Problem("not_found", "There is nothing under this path: ids look like ses_ or call_ and a UUID");
  });
}

/** The body of an answer, checked by the compiler against what OpenAPI says of it. */
export function answer<S extends v.GenericSchema>(
  c: Context<AppEnv>,
  _schema: S,
  body: v.InferOutput<S>,
  status: 200 | 201 | 202 = 200,
): Response {
  return c.body(JSON.stringify(body), status, { "content-type": "application/json", "cache-control": "no-store" });
}

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

function refuse(part: "body" | "query", result: { readonly success: boolean; readonly error?: readonly Issue[] }): void {
  if (result.success) return;
  const errors = (result.error ?? []).map((issue): Fault => ({ pointer: pointerTo(part, issue), detail: issue.message }));
  const first = errors[0];
  const where = first === undefined ? "" : `: ${first.pointer === "" ? "" : `${first.pointer} `}${first.detail}`;
  throw new Problem("invalid", `Cannot take this ${part}${where}`, { errors });
}

function pointerTo(part: "body" | "query", { path = [] }: Issue): string {
  const keys = path.map((each) => String(typeof each === "object" ? each.key : each));
  if (part === "query") return `?${keys.join(".")}`;
  return keys.map((key) => `/${toPointerToken(key)}`).join("");
}
