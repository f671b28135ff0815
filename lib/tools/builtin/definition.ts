/** What a built-in is made of, and the small words that all of them use. */
import type { Json, JsonInput, JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply, ProcessLaunch } from "../../session/launch.ts";
import type { ChildBrief, PlanContext, PlanState } from "../tool.ts";

export type BuiltinDefinition =
  | {
    /** Answered inside a tool host. */
    readonly kind: "host";
    readonly description: string;
    readonly input_schema: Readonly<Record<string, unknown>>;
    /** The projections of the session that it reads, in `context.state`. */
    readonly needs?: readonly (keyof PlanState)[];
    run(input: JsonObject, context: HostContext): HostReply | Promise<HostReply>;
  }
  | {
    /** A process of its own. */
    readonly kind: "process";
    readonly description: string;
    readonly input_schema: Readonly<Record<string, unknown>>;
    plan(input: JsonInput, context: PlanContext): ProcessLaunch;
  }
  | {
    /** A session that works for the call. */
    readonly kind: "child";
    readonly description: string;
    readonly input_schema: Readonly<Record<string, unknown>>;
    /** Null if this input is answered inside a tool host, by `run`. */
    brief(input: JsonObject, context: PlanContext): ChildBrief | null;
    /** What the session's task board learns of it. */
    conclude?(input: JsonObject, context: PlanContext, session: string): readonly JsonObject[];
    readonly needs?: readonly (keyof PlanState)[];
    run?(input: JsonObject, context: HostContext): Promise<HostReply>;
  };

export function succeeded(text: string, data?: Json, changes?: readonly JsonObject[]): HostReply {
  return { is_error: false, text, ...(data === undefined ? {} : { data }), ...(changes === undefined ? {} : { changes }) };
}

export function failed(text: string): HostReply {
  return { is_error: true, text };
}

/** A member whose type the schema has already checked. */
export function textOf(input: JsonObject, key: string): string {
  const value = input[key];
  if (typeof value !== "string") throw new TypeError(`"${key}" must be a string`);
  return value;
}

export function numberOf(input: JsonObject, key: string, otherwise: number): number {
  const value = input[key];
  return typeof value === "number" ? value : otherwise;
}
