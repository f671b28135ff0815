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
  readonly speculation?: boolean;
}

/** Those of `run`. */
export interface RunFlags extends TurnFlags {
  readonly session?: string;
}

/** Those of `chat`. */
export interface ChatFlags extends CommonFlags {
  readonly session?: string;
}

/** Those of `serve`. */
export interface ServeFlags extends Omit<CommonFlags, "workspace">, Pick<TurnFlags, "maxSteps" | "speculation">, JsonFlag {
  readonly workspace?: readonly string[];
  readonly host?: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly allowedHost?: readonly string[];
  readonly drain?: number;
  readonly logFormat?: "text" | "json";
}

export interface JsonFlag {
  readonly json: boolean;
}
export type ToolsFlags = CommonFlags & JsonFlag & { readonly validate: boolean };
export type ToolCallFlags = CommonFlags & JsonFlag & { readonly input?: string };
export type CreateToolFlags = JsonFlag & { readonly workspace?: string; readonly format: "stella" | "nanocoder" | "ts" | "py" };
export type TrustFlags = JsonFlag & { readonly forget: boolean };
export type ConfigFlags = CommonFlags & JsonFlag & { readonly origin: boolean };
export type DoctorFlags = CommonFlags & JsonFlag & { readonly server?: string };
export type VersionFlags = JsonFlag & { readonly licenses: boolean };
export type CompletionsShell = (typeof COMPLETIONS_SHELLS)[number];
export type CompletionsFlags = { readonly name?: string };
export type ManFlags = { readonly output?: string };
export type ForkFlags = JsonFlag & { readonly at?: number };
export type CancelFlags = JsonFlag & { readonly grace: number };
export type ListFlags = JsonFlag & { readonly limit: number };
export type NoFlags = Readonly<Record<never, never>>;
export interface EventsFlags {
  readonly after: number;
  readonly follow: boolean;
}

export const COMPLETIONS_SHELLS = ["bash", "zsh", "fish"] as const;

export const MODES = ["normal", "auto-accept", "architect", "yolo", "plan", "headless"] as const satisfies readonly Mode[];

export const workspaceFlag: FlagParametersForType<Pick<CommonFlags, "workspace">> = {
  workspace: {
    kind: "parsed",
    parse: filled,
    optional: true,
    placeholder: "dir",
    brief: "Folder to work in (default: the project around this folder)",
  },
};

export const commonFlags: FlagParametersForType<CommonFlags> = {
  ...workspaceFlag,
  trustWorkspace: { kind: "boolean", default: false, withNegated: false, brief: "Let the workspace's own tools run, this time" },
  mode: { kind: "enum", values: MODES, optional: true, brief: "What may run unasked (default auto-accept; chat and serve: normal)" },
  model: {
    kind: "parsed",
    parse: filled,
    optional: true,
    placeholder: "provider/model",
    brief: "Model to ask; script:FILE plays a script",
  },
  baseUrl: {
    kind: "parsed",
    parse: filled,
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
  speculation: { kind: "boolean", optional: true, brief: "Start harmless calls while the model still writes" },
};

const { workspace: _oneWorkspace, ...modelFlags } = commonFlags;

export const serveFlags: FlagParametersForType<ServeFlags> = {
  workspace: {
    kind: "parsed",
    parse: filled,
    optional: true,
    variadic: true,
    placeholder: "dir",
    brief: "Folder that sessions may work in or below; may be repeated (default: the project around this folder)",
  },
  ...modelFlags,
  maxSteps: turnFlags.maxSteps,
  speculation: turnFlags.speculation,
  host: { kind: "parsed", parse: filled, optional: true, placeholder: "addr", brief: "Address to listen on (default 127.0.0.1)" },
  port: { kind: "parsed", parse: portNumber, default: "4760", placeholder: "n", brief: "Port to listen on; 0 takes a free one" },
  tokenFile: {
    kind: "parsed",
    parse: filled,
    optional: true,
    placeholder: "file",
    brief: "File with the token; made if it is not there (default: server.token beside the journal)",
  },
  allowedHost: {
    kind: "parsed",
    parse: filled,
    optional: true,
    variadic: true,
    placeholder: "name",
    brief: "Another name to answer under, as host:port, host or https://host; may be repeated",
  },
  drain: {
    kind: "parsed",
    parse: seconds,
    optional: true,
    placeholder: "s",
    brief: "Seconds that running turns have to finish when the server is told to stop (default 20)",
  },
  logFormat: {
    kind: "enum",
    values: ["text", "json"],
    optional: true,
    brief: "Form of the log on standard error (default: text on a terminal, else json)",
  },
  json: { kind: "boolean", default: false, withNegated: false, brief: "Print one JSON object when it listens" },
};

export const sessionFlag: FlagParametersForType<Pick<RunFlags, "session">> = {
  session: { kind: "parsed", parse: filled, optional: true, placeholder: "id", brief: "Go on with this session instead of a new one" },
};

/** Here and not beside its help: a plain `run` is read without that. */
export const runParameters = {
  flags: { ...turnFlags, ...sessionFlag } satisfies FlagParametersForType<RunFlags>,
  aliases: { w: "workspace", m: "model", o: "outputFormat" },
  positional: {
    kind: "tuple",
    parameters: [{ parse: text, optional: true, placeholder: "prompt", brief: "What to do; - or nothing: read it from standard input" }],
  },
} as const;

export const jsonFlag: FlagParametersForType<JsonFlag> = {
  json: { kind: "boolean", default: false, withNegated: false, brief: "Print one JSON object" },
};

export function text(input: string): string {
  return input;
}

/** For what names something. Nothing at all is what a variable gives that is not set, and must not count as the default. */
export function filled(input: string): string {
  if (input === "") throw new RangeError("must not be empty: say which, or leave it out if it may be");
  return input;
}

export function positive(input: string): number {
  return wholeNumber(input, 1);
}

export function natural(input: string): number {
  return wholeNumber(input, 0);
}

export function portNumber(input: string): number {
  const port = wholeNumber(input, 0);
  if (port > 65_535) throw new RangeError("must be a port, at most 65535");
  return port;
}

function wholeNumber(input: string, least: number): number {
  const value = Number(input);
  if (!/^\d+$/.test(input) || !Number.isSafeInteger(value) || value < least) throw new RangeError(`must be a whole number from ${least}`);
  return value;
}

/** As `seconds`, or none at all. */
export function secondsOrNone(input: string): number {
  return Number(input) === 0 && input !== "" ? 0 : seconds(input);
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
