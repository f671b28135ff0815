/** One place that settings come from: a file, the environment, the flags of a command. Every leaf knows its source. */
import type { Mode } from "../session/outcome.ts";
import type { HookEvent } from "./settings-schema.ts";
import type { Scope, Source, Sourced } from "./source.ts";

/** Settings of which one value counts. */
export interface PlainSettings {
  readonly model: string;
  readonly base_url: string;
  readonly mode: Mode;
  readonly speculation: "on" | "off";
  readonly "limits.max_steps": number;
  /** Wall clock of a turn, in seconds. */
  readonly "limits.timeout_s": number;
  readonly "limits.spend_usd": number;
  /** Absolute path of a price table. */
  readonly "limits.prices": string;
  /** The model's window, in tokens: what a request and its reply may take together. */
  readonly "limits.context_tokens": number;
  readonly "serve.host": string;
  readonly "serve.port": number;
  readonly "serve.token_file": string;
}
export type PlainKey = keyof PlainSettings;
export type PlainLeaves = { readonly [K in PlainKey]?: Sourced<PlainSettings[K]> };

/** `"tools": {key: state}`; `key` is the name of a tool, of a group, or `*`. */
export interface Switch {
  readonly key: string;
  readonly state: "on" | "off";
  readonly source: Source;
}

export interface ConfiguredHook {
  readonly event: HookEvent;
  /** Null: every tool. */
  readonly matcher: string | null;
  readonly command: string;
  readonly timeout_ms: number;
  readonly source: Source;
}

/** `"all"`, or patterns for folders. */
export type TrustSetting = "all" | readonly string[];

export interface Layer {
  readonly scope: Scope;
  readonly path?: string;
  readonly plain: PlainLeaves;
  readonly switches: readonly Switch[];
  readonly hooks: readonly ConfiguredHook[];
  readonly always_allow: readonly Sourced<string>[];
  readonly disabled_tools: readonly Sourced<string>[];
  readonly env_withhold: readonly Sourced<string>[];
  readonly env_allow: readonly Sourced<string>[];
  readonly trust?: Sourced<TrustSetting>;
}

export function emptyLayer(scope: Scope, path?: string): Layer {
  return {
    scope,
    ...(path === undefined ? {} : { path }),
    plain: {},
    switches: [],
    hooks: [],
    always_allow: [],
    disabled_tools: [],
    env_withhold: [],
    env_allow: [],
  };
}
