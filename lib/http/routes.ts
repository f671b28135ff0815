/** What the routes share: how one is described for OpenAPI, and how its input is checked. */
import type { Context, MiddlewareHandler } from "hono";
import { describeRoute, resolver, validator } from "hono-openapi";
import type { GenericSchema, InferOutput } from "valibot";
import type { AppEnv } from "./env.ts";
import { type Fault, Problem } from "./problem.ts";
import { ProblemBody } from "./schemas.ts";

export interface RouteDescription {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** By status; null: no body. */
  readonly answers: Readonly<Record<number, GenericSchema | null>>;
  /** Media types other than JSON of the 200 answer. */
  readonly streams?: readonly string[];
  readonly open?: boolean;
}

export function describe({ id, summary, description, answers, streams = [], open = false }: RouteDescription): MiddlewareHandler {
  const responses = Object.entries(answers).map(([status, schema]) => [status, {
    description: STATUS_TEXT[status] ?? "Done",
    ...(schema === null ? {} : {
      content: {
        "application/json": { schema: resolver(schema) },
        ...Object.fromEntries(streams.map((type) => [type, { schema: { type: "string" } }])),
      },
    }),
  }]);
  const problem = { description: "A problem (RFC 9457)", content: { "application/problem+json": { schema: resolver(ProblemBody) } } };
  return describeRoute({
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(open ? { security: [] } : {}),
    responses: { ...Object.fromEntries(responses), default: problem },
  });
}

const STATUS_TEXT: Readonly<Record<string, string>> = { 200: "Done", 201: "Created", 202: "Taken", 204: "Gone", 304: "Not changed" };

export function checkBody<S extends GenericSchema>(schema: S) {
  return validator("json", schema, (result) => refuse("body", result));
}

export function checkQuery<S extends GenericSchema>(schema: S) {
  return validator("query", schema, (result) => refuse("query", result));
}

/** An id in another form than ours names nothing. */
export function checkPath<S extends GenericSchema>(schema: S) {
  return validator("param", schema, (result) => {
    if (!result.success) throw new Problem("not_found", "There is nothing under this path: ids look like ses_ or call_ and a UUID");
  });
}

/** The body of an answer, checked by the compiler against what OpenAPI says of it. */
export function answer<S extends GenericSchema>(
  c: Context<AppEnv>,
  _schema: S,
  body: InferOutput<S>,
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
  return keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
