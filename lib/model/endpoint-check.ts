/** Whether a model's endpoint answers and takes the key, without asking the model anything: it is asked for its models. */
import { readNetworkFault } from "../platform/network-fault.ts";
import type { Answer } from "../platform/keeping-fetch.ts";
import { fetchByRule } from "../platform/proxy.ts";
import { createModel, type ModelSettings, parseModelName, type Provider } from "./providers.ts";

export type EndpointCheck =
  /** A script that can be played. */
  | { readonly kind: "script" }
  /** `listed`: whether it names the model; null: it does not tell. */
  | { readonly kind: "answered"; readonly url: string; readonly listed: boolean | null }
  | { readonly kind: "refused"; readonly url: string; readonly status: number; readonly key_variable: string }
  /** There is a server, which has no such list: nothing is known of the key. */
  | { readonly kind: "unclear"; readonly url: string; readonly status: number }
  | { readonly kind: "unreachable"; readonly url: string; readonly words: string };

const ANSWER_MS = 10_000;
/** More of a list is not read. */
const MAX_BYTES = 4 * 1024 * 1024;

/** @throws {ModelConfigError} as a session that asks for this model. */
export async function checkEndpoint(settings: ModelSettings): Promise<EndpointCheck> {
  await createModel(settings);
  const name = parseModelName(settings.name);
  if (name.kind === "script") return { kind: "script" };
  const { provider, model } = name;
  const url = listUrl(provider, settings.baseUrl);
  try {
    const response = await (settings.fetch ?? fetchByRule)(url, {
      headers: toHeaders(provider, settings),
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const { status } = response;
    if (status === 401 || status === 403) return { kind: "refused", url, status, key_variable: provider.keyVariable };
    if (!response.ok) return { kind: "unclear", url, status };
    return { kind: "answered", url, listed: findModel(await readText(response), model, provider) };
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    return { kind: "unreachable", url, words: isLate ? `no answer within ${ANSWER_MS / 1000} s` : readNetworkFault(error).words };
  }
}

/** OpenRouter shows its models to everybody, so there the key itself is asked about. */
function listUrl({ baseUrl, name }: Provider, given: string | undefined): string {
  const base = (given ?? baseUrl ?? "").replace(/\/+$/, "");
  return name === "openrouter" && given === undefined ? `${base}/key` : `${base}/models`;
}

function toHeaders({ wire, keyVariable }: Provider, { env, headers = {} }: ModelSettings): Readonly<Record<string, string>> {
  const key = env[keyVariable]?.trim() ?? "";
  const version: Record<string, string> = wire === "anthropic" ? { "anthropic-version": "2023-06-01" } : {};
  const credentials: Record<string, string> = key === ""
    ? {}
    : wire === "anthropic"
    ? { "x-api-key": key }
    : { authorization: `Bearer ${key}` };
  return { accept: "application/json", ...version, ...credentials, ...headers };
}

async function readText(response: Answer): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_BYTES) break;
  }
  return text;
}

/** Anthropic lists dated names, not the short ones that it takes too, and in pages. */
function findModel(text: string, model: string, { wire }: Provider): boolean | null {
  if (wire === "anthropic") return null;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    // Not every server that answers here speaks JSON.
    return null;
  }
  const models = typeof list === "object" && list !== null && "data" in list ? list.data : null;
  if (!Array.isArray(models) || models.length === 0) return null;
  return models.some((each: unknown) => typeof each === "object" && each !== null && "id" in each && each.id === model);
}
