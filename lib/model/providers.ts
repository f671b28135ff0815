/**
 * Which model a name means: `provider/model`, `local/model` with a base URL, or `script:FILE`. Keys come from the
 * provider's own environment variable and from nowhere else.
 */
import { readFile, stat } from "node:fs/promises";
import { secretIn } from "../session/address.ts";
import type { Fetch } from "./exchange.ts";
import type { Model } from "./model.ts";
import type { EndpointSettings } from "./wire.ts";

/** The wire formats we speak. A session needs one of them. */
const wires = {
  chat: async () => (await import("./chat.ts")).createChatModel,
  responses: async () => (await import("./responses.ts")).createResponsesModel,
  anthropic: async () => (await import("./anthropic.ts")).createAnthropicModel,
} satisfies Readonly<Record<string, () => Promise<(settings: EndpointSettings) => Model>>>;

export interface Provider {
  readonly name: string;
  readonly keyVariable: string;
  readonly keyNeeded: boolean;
  readonly wire: keyof typeof wires;
  /** Null: must be given. */
  readonly baseUrl: string | null;
  /** Used if no model is named and this provider's key is the only one that is set. */
  readonly defaultModel: string | null;
}

export const providers: readonly Provider[] = [
  {
    name: "openai",
    keyVariable: "OPENAI_API_KEY",
    keyNeeded: true,
    wire: "responses",
    baseUrl: "https://api.openai.com/v1",
    defaultModel: "gpt-5.2",
  },
  {
    name: "anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    keyNeeded: true,
    wire: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    defaultModel: "claude-sonnet-4-5",
  },
  {
    name: "openrouter",
    keyVariable: "OPENROUTER_API_KEY",
    keyNeeded: true,
    wire: "chat",
    baseUrl: "https://openrouter.ai/api/v1",
    defaultModel: "openrouter/auto",
  },
  { name: "local", keyVariable: "ORRERY_LOCAL_API_KEY", keyNeeded: false, wire: "chat", baseUrl: null, defaultModel: null },
];

/** Thrown when no model can be made of what was set; the message says what would be right. */
export class ModelConfigError extends Error {
  override readonly name = "ModelConfigError";
  /** Where what is wrong was set. */
  readonly about: "name" | "key" | "base_url" | "script";

  constructor(message: string, { about = "name", ...options }: ErrorOptions & { readonly about?: ModelConfigError["about"] } = {}) {
    super(message, options);
    this.about = about;
  }
}

export type ModelName =
  | { readonly kind: "script"; readonly file: string }
  | { readonly kind: "endpoint"; readonly provider: Provider; readonly model: string };

type Environment = Readonly<Record<string, string | undefined>>;

export interface ModelSettings {
  /** As sessions record it; see `defaultModelName` for when it is not set. */
  readonly name: string;
  readonly baseUrl?: string;
  readonly env: Environment;
  readonly idleMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: Fetch;
}

/** @throws {ModelConfigError} */
export async function createModel(settings: ModelSettings): Promise<Model> {
  const name = parseModelName(settings.name);
  return name.kind === "script" ? await openScript(settings.name, name.file) : await openEndpoint(settings, name.provider, name.model);
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** It is shown to people, also by terminals. @throws {ModelConfigError} */
export function checkPlainName(name: string): void {
  if (CONTROL.test(name)) {
    throw new ModelConfigError(`Cannot use model ${JSON.stringify(name)} as it has a control character in it: leave it out`);
  }
}

/** @throws {ModelConfigError} */
export function parseModelName(name: string): ModelName {
  checkPlainName(name);
  if (name.startsWith("script:")) {
    const file = name.slice("script:".length);
    if (file === "") throw new ModelConfigError(`Cannot use model "${name}" as it names no file: write script:FILE`);
    return { kind: "script", file };
  }
  const slash = name.indexOf("/");
  const provider = providers.find((each) => each.name === name.slice(0, Math.max(slash, 0)));
  const model = name.slice(slash + 1).trim();
  if (slash > 0 && provider === undefined) {
    throw new ModelConfigError(`Cannot use model "${name}" as "${name.slice(0, slash)}" is no provider that is known here: ${choices()}`);
  }
  if (provider === undefined || model === "") {
    throw new ModelConfigError(`Cannot use model "${name}" as it is not of the form PROVIDER/MODEL: ${choices()}`);
  }
  return { kind: "endpoint", provider, model };
}

/**
 * The model to use when none is named: the default of the one provider whose key is set.
 * @throws {ModelConfigError} if that is none or several.
 */
export function defaultModelName(env: Environment): string {
  const ready = providers.filter((each) => each.defaultModel !== null && isSet(env[each.keyVariable]));
  const [only, ...others] = ready;
  if (only === undefined) throw new ModelConfigError(`Cannot choose a model as no key is set. Name one with --model: ${choices()}`);
  if (others.length === 0) return `${only.name}/${only.defaultModel}`;
  const names = ready.map((each) => `--model ${each.name}/${each.defaultModel} (${each.keyVariable})`).join(", ");
  throw new ModelConfigError(`Cannot choose a model as several keys are set. Name one: ${names}`);
}

/** The variables that hold keys: no tool may see them. */
export function secretVariables(): readonly string[] {
  return providers.map((each) => each.keyVariable);
}

async function openEndpoint(settings: ModelSettings, provider: Provider, model: string): Promise<Model> {
  const apiKey = readKey(settings, provider);
  const baseUrl = checkBaseUrl(settings, provider);
  const create = await wires[provider.wire]();
  return create({
    id: settings.name,
    model,
    baseUrl,
    keyVariable: provider.keyVariable,
    ...(apiKey === null ? {} : { apiKey }),
    ...(settings.headers === undefined ? {} : { headers: settings.headers }),
    ...(settings.idleMs === undefined ? {} : { idleMs: settings.idleMs }),
    ...(settings.fetch === undefined ? {} : { fetch: settings.fetch }),
  });
}

function readKey({ name, env }: ModelSettings, { keyVariable, keyNeeded }: Provider): string | null {
  const key = env[keyVariable]?.trim() ?? "";
  if (key === "" && keyNeeded) {
    throw new ModelConfigError(`Cannot use model "${name}" as ${keyVariable} is not set: put the provider's key there`, { about: "key" });
  }
  if (!/^[\x21-\x7e]*$/.test(key)) {
    throw new ModelConfigError(`Cannot use the key in ${keyVariable} as it holds characters that no header may have`, { about: "key" });
  }
  return key === "" ? null : key;
}

function checkBaseUrl({ name, baseUrl }: ModelSettings, provider: Provider): string {
  const given = baseUrl ?? provider.baseUrl;
  if (given === null) {
    throw new ModelConfigError(
      `Cannot use model "${name}" as it needs --base-url: the address of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1`,
      { about: "base_url" },
    );
  }
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new ModelConfigError(`Cannot use base URL "${given}" as it is not an http or https URL, such as http://127.0.0.1:8080/v1`, {
      about: "base_url",
    });
  }
  const secret = secretIn(given);
  if (secret !== null) {
    throw new ModelConfigError(`Cannot use a base URL with ${secret} in it: put the key into ${provider.keyVariable}`, {
      about: "base_url",
    });
  }
  return url.href;
}

/** A script that is larger was not written to be played. */
const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;

async function openScript(id: string, file: string): Promise<Model> {
  const found = await stat(file).catch(() => null);
  if (found !== null && !found.isFile()) {
    throw new ModelConfigError(`Cannot use model "${id}" as its script is not a regular file`, { about: "script" });
  }
  if (found !== null && found.size > MAX_SCRIPT_BYTES) {
    throw new ModelConfigError(`Cannot use model "${id}" as its script has ${found.size} bytes: at most ${MAX_SCRIPT_BYTES} are read`, {
      about: "script",
    });
  }
  const [{ parseScript, ScriptError }, { createScriptedModel }] = await Promise.all([import("./script.ts"), import("./scripted.ts")]);
  try {
    return createScriptedModel({ id, script: parseScript(await readFile(file, "utf8")) });
  } catch (error) {
    if (error instanceof ScriptError) throw new ModelConfigError(`${error.message} (${file})`, { about: "script", cause: error });
    throw new ModelConfigError(`Cannot use model "${id}" as its script cannot be read: ${(error as Error).message}`, {
      about: "script",
      cause: error,
    });
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}

function choices(): string {
  const named = providers.map((each) =>
    each.baseUrl === null
      ? `${each.name}/NAME with --base-url URL (any OpenAI-compatible server)`
      : `${each.name}/NAME with ${each.keyVariable}, for example ${each.name}/${each.defaultModel}`
  );
  return `${named.join("; ")}; script:FILE`;
}
