/** The options that commands share: their types, their help and how they are read. */
import type { FlagParametersForType } from "@stricli/core";
import type { Mode } from "../mod.ts";

/** Those of every command that opens a workspace. */
export interface CommonFlags {
  readonly workspace?: string;
  readonly trustWorkspace: boolean;
  readonly mode?: Mode;
  readonly model?: string;
  readonly baseUrl?: string;
}

/** Those of every command that runs a turn. */
export interface TurnFlags extends CommonFlags {
  readonly outputFormat: "text" | "json" | "stream-json";
  readonly events: boolean;
  readonly maxSteps?: number;
  readonly timeout?: number;
  readonly speculation: boolean;
}

/** Those of `run`. */
export interface RunFlags extends TurnFlags {
  readonly session?: string;
}

/** Those of `chat`. */
export interface ChatFlags extends CommonFlags {
  readonly session?: string;
}

export interface JsonFlag {
  readonly json: boolean;
}
export type ToolsFlags = CommonFlags & JsonFlag & { readonly validate: boolean };
export type ToolCallFlags = CommonFlags & JsonFlag & { readonly input?: string };
export type CreateToolFlags = JsonFlag & { readonly workspace?: string; readonly format: "stella" | "nanocoder" | "ts" | "py" };
export type TrustFlags = JsonFlag & { readonly forget: boolean };
export type ConfigFlags = CommonFlags & JsonFlag & { readonly origin: boolean };
export type ForkFlags = JsonFlag & { readonly at?: number };
export type ListFlags = JsonFlag & { readonly limit: number };
export type NoFlags = Readonly<Record<never, never>>;
export interface EventsFlags {
  readonly after: number;
  readonly follow: boolean;
}

export const MODES = ["normal", "auto-accept", "architect", "yolo", "plan", "headless"] as const satisfies readonly Mode[];

export const workspaceFlag: FlagParametersForType<Pick<CommonFlags, "workspace">> = {
  workspace: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "dir",
    brief: "Folder to work in (default: the project around this folder)",
  },
};

export const commonFlags: FlagParametersForType<CommonFlags> = {
  ...workspaceFlag,
  trustWorkspace: { kind: "boolean", default: false, withNegated: false, brief: "Let the workspace's own tools run, this time" },
  mode: { kind: "enum", values: MODES, optional: true, brief: "What may run unasked (default auto-accept; chat: normal)" },
  model: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "provider/model",
    brief: "Model to ask; script:FILE plays a script",
  },
  baseUrl: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "url",
    brief: "Endpoint to ask; local/… needs one",
  },
};

export const turnFlags: FlagParametersForType<TurnFlags> = {
  ...commonFlags,
  outputFormat: {
    kind: "enum",
    values: ["text", "json", "stream-json"],
    default: "text",
    brief: "The answer, one object at the end, or each event as a line",
  },
  events: { kind: "boolean", default: false, withNegated: false, brief: "Add the recorded events to the json object" },
  maxSteps: {
    kind: "parsed",
    parse: positive,
    optional: true,
    placeholder: "n",
    brief: "Replies of the model before the run is stopped",
  },
  timeout: {
    kind: "parsed",
    parse: seconds,
    optional: true,
    placeholder: "s",
    brief: "Seconds before the run is stopped, whatever it does",
  },
  speculation: { kind: "boolean", default: true, brief: "Start harmless calls while the model still writes" },
};

export const sessionFlag: FlagParametersForType<Pick<RunFlags, "session">> = {
  session: { kind: "parsed", parse: text, optional: true, placeholder: "id", brief: "Go on with this session instead of a new one" },
};

export const jsonFlag: FlagParametersForType<JsonFlag> = {
  json: { kind: "boolean", default: false, withNegated: false, brief: "Print one JSON object" },
};

export function text(input: string): string {
  return input;
}

export function positive(input: string): number {
  return wholeNumber(input, 1);
}

export function natural(input: string): number {
  return wholeNumber(input, 0);
}

function wholeNumber(input: string, least: number): number {
  const value = Number(input);
  if (!/^\d+$/.test(input) || !Number.isSafeInteger(value) || value < least) throw new RangeError(`must be a whole number from ${least}`);
  return value;
}

function seconds(input: string): number {
  const value = Number(input);
  if (!/^\d*\.?\d+$/.test(input) || !(value > 0) || value > MAX_SECONDS) {
    throw new RangeError(`must be a number of seconds above 0, at most ${MAX_SECONDS}`);
  }
  return value;
}

/** A timer holds no more than 2^31 - 1 milliseconds. */
const MAX_SECONDS = 2_147_483;
