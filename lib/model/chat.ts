/**
 * Chat completions over streaming HTTP: OpenAI's format and everything that speaks it.
 *
 * Order of an attempt: request → headers → chunks as they come → `finished`. A stream counts as complete if it gave
 * a finish reason or `[DONE]`; one that just ends is a transport error, and nothing of it is committed.
 */
import { ChatReader } from "./chat-reader.ts";
import { namesIn, toBody } from "./chat-request.ts";
import { type Endpoint, type Fetch, post } from "./exchange.ts";
import { connectionError, endlessError, unreadableError } from "./fault.ts";
import { type Model, ModelError, type ModelEvent, type ModelRequest } from "./model.ts";
import { type Patience, readEvents, requireProgress, type ServerEvent, StreamFault } from "./sse.ts";

export interface ChatSettings {
  /** `provider/model`, as sessions record it. */
  readonly id: string;
  /** The model's name at the endpoint. */
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** Where the key was found, for messages. */
  readonly keyVariable?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the endpoint may be silent. */
  readonly idleMs?: number;
  /** How long one reply may take in all. */
  readonly replyMs?: number;
  readonly fetch?: Fetch;
}

export const DEFAULT_IDLE_MS = 120_000;
export const DEFAULT_REPLY_MS = 3_600_000;
/** After the finish reason only usage can come; it is not waited for longer than this. */
const AFTER_FINISH_MS = 3000;
const MAX_DOCUMENT = 32 * 1024 * 1024;

export function createChatModel(settings: ChatSettings): Model {
  const endpoint = toEndpoint(settings);
  const habits = { includeUsage: true };
  return { id: settings.id, stream: (request, signal) => streamReply(settings, endpoint, habits, request, signal) };
}

function toEndpoint(settings: ChatSettings): Endpoint {
  const { apiKey, keyVariable, headers = {} } = settings;
  const url = join(settings.baseUrl, "chat/completions");
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name)).map(([, value]) => value);
  return {
    model: settings.id,
    url,
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...secretHeaders, new URL(url).search],
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    fetch: settings.fetch ?? fetch,
    ...(keyVariable === undefined ? {} : { keyVariable }),
  };
}

/** Puts `path` behind the base URL's own, and leaves its query in place. */
function join(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url.href;
}

interface Habits {
  /** Some endpoints refuse `stream_options`; those are not asked for usage again. */
  includeUsage: boolean;
}

async function* streamReply(
  settings: ChatSettings,
  endpoint: Endpoint,
  habits: Habits,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const names = namesIn(request);
  const reader = new ChatReader(endpoint, names, settings.model);
  const idleMs = settings.idleMs ?? DEFAULT_IDLE_MS;
  const patience: Patience = {
    idleMs: () => reader.finished ? Math.min(idleMs, AFTER_FINISH_MS) : idleMs,
    satisfied: () => reader.finished || reader.ended,
  };
  const replyMs = settings.replyMs ?? DEFAULT_REPLY_MS;
  const begun = performance.now();
  const body = toBody(settings.id, settings.model, request, names);
  try {
    for await (const batch of readDocuments(endpoint, await ask(endpoint, habits, body, patience, signal), idleMs)) {
      for (const document of batch) {
        reader.read(document);
        yield* reader.take();
      }
      if (reader.ended) break;
      if (performance.now() - begun > replyMs) throw endlessError(endpoint, replyMs);
    }
  } catch (error) {
    if (!(reader.finished && isConnectionLoss(error))) throw error;
  }
  yield* reader.close();
}

async function ask(
  endpoint: Endpoint,
  habits: Habits,
  body: object,
  patience: Patience,
  signal: AbortSignal,
): Promise<AsyncGenerator<string>> {
  if (!habits.includeUsage) return await post(endpoint, body, patience, signal);
  try {
    return await post(endpoint, { ...body, stream_options: { include_usage: true } }, patience, signal);
  } catch (error) {
    if (!(error instanceof ModelError) || error.kind !== "rejected" || !/stream_options|include_usage/.test(error.message)) throw error;
    habits.includeUsage = false;
    return await post(endpoint, body, patience, signal);
  }
}

/** An event stream's events, or the one document of an answer that is plain JSON. The content type is not believed. */
async function* readDocuments(endpoint: Endpoint, chunks: AsyncGenerator<string>, idleMs: number): AsyncGenerator<readonly ServerEvent[]> {
  try {
    const start = await collect(chunks, idleMs, (text) => text.trim() !== "");
    if (/^\s*</.test(start)) throw unreadableError(endpoint, "the endpoint sent HTML instead of an event stream", start);
    if (/^\s*[[{]/.test(start)) yield [{ data: start + await collect(chunks, idleMs, () => false) }];
    else yield* readStream(endpoint, start, chunks, idleMs);
  } catch (error) {
    throw error instanceof StreamFault ? connectionError(endpoint, error) : error;
  } finally {
    await chunks.return(undefined);
  }
}

async function* readStream(
  endpoint: Endpoint,
  start: string,
  chunks: AsyncGenerator<string>,
  idleMs: number,
): AsyncGenerator<readonly ServerEvent[]> {
  let empty = true;
  for await (const events of readEvents(withStart(start, chunks), idleMs)) {
    empty = false;
    yield events;
  }
  if (empty && !beginsField(start)) throw unreadableError(endpoint, "the endpoint sent neither an event stream nor JSON", start);
}

/** The text up to the chunk with which it is `enough`, or to the end. */
async function collect(chunks: AsyncGenerator<string>, idleMs: number, enough: (text: string) => boolean): Promise<string> {
  const since = performance.now();
  let text = "";
  while (!enough(text)) {
    const next = await chunks.next();
    if (next.done) break;
    text += next.value;
    if (text.length > MAX_DOCUMENT) throw new StreamFault("malformed", `the answer is longer than ${MAX_DOCUMENT} characters`);
    requireProgress(since, idleMs, "the endpoint did not finish its answer");
  }
  return text;
}

async function* withStart(start: string, chunks: AsyncGenerator<string>): AsyncGenerator<string> {
  yield start;
  yield* chunks;
}

/** True for text, however short, that can be the beginning of an event stream. */
function beginsField(text: string): boolean {
  const [field = ""] = text.trimStart().split(/[:\r\n]/, 1);
  return ["data", "event", "id", "retry"].some((each) => each.startsWith(field));
}

function isConnectionLoss(error: unknown): boolean {
  return error instanceof ModelError && (error.kind === "transport" || error.kind === "idle_timeout" || error.kind === "unreachable");
}
