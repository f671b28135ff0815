/**
 * A model behind streaming HTTP, whatever its wire format.
 *
 * Order of an attempt: request → headers → chunks as they come → `finished`. A stream counts as complete if its
 * format said so; one that just ends is a transport error, and nothing of it is committed.
 */
import { setTimeout as startTimer } from "node:timers";
import { fetchKeepingAll } from "../platform/keeping-fetch.ts";
import { fetchByRule } from "../platform/proxy.ts";
import { AnswerReader, type Document, isDone, parseDocument } from "./documents.ts";
import { type AnswerText, type Endpoint, type Fetch, post } from "./exchange.ts";
import { endlessError } from "./fault.ts";
import type { Fields } from "./fields.ts";
import { type Model, ModelError, type ModelEvent, type ModelRequest } from "./model.ts";
import type { Patience, ServerEvent } from "./sse.ts";
import { namesIn, type ToolNames } from "./tool-names.ts";

export interface EndpointSettings {
  /** `provider/model`, as sessions record it. */
  readonly id: string;
  /** The model's name at the endpoint. */
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** Where the key was found, for messages. */
  readonly keyVariable?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the endpoint may be silent, at any time. */
  readonly idleMs?: number;
  /** How long one reply may take in all. */
  readonly replyMs?: number;
  readonly fetch?: Fetch;
}

/** A wire format. `Habits`: what requests hold that some endpoints refuse. */
export interface Wire<Habits> {
  /** Behind the base URL. */
  readonly path: string;
  readonly habits: Habits;
  /** What to try if there is nothing at that path. */
  readonly alternative?: string;
  toHeaders(apiKey: string | undefined): Readonly<Record<string, string>>;
  toBody(request: ModelRequest, names: ToolNames, habits: Habits): Fields;
  /** What to ask for after these words of refusal, from then on; null if there is nothing to do without. */
  concede(habits: Habits, said: string): Habits | null;
  createReader(endpoint: Endpoint, names: ToolNames): WireReader;
}

/** Reads one reply. */
export interface WireReader {
  /** The endpoint said that the reply is over; only usage may still come. */
  readonly finished: boolean;
  /** Nothing more comes. */
  readonly ended: boolean;
  read(document: Document): void;
  /** The stream's last line came, in formats that have one. */
  end(): void;
  /** The events since the last time. */
  take(): readonly ModelEvent[];
  /**
   * The last events, `finished` included.
   * @throws {ModelError} if the stream broke off: half a reply is no reply.
   */
  close(): readonly ModelEvent[];
}

/** Until the headers: a server may have to load the model first. */
export const HEADERS_MS = 120_000;
/** Between two chunks: a model may think for long without a word. */
export const IDLE_MS = 300_000;
/** With nothing but keep-alive comments. */
const QUIET_MS = 600_000;
const REPLY_MS = 3_600_000;
/** After the finish reason only usage can come; it is not waited for longer than this. */
const AFTER_FINISH_MS = 3000;
const MAX_CONCESSIONS = 4;

export function createWireModel<Habits>(settings: EndpointSettings, wire: Wire<Habits>): Model {
  const attempts = new Attempts(settings, wire);
  return { id: settings.id, stream: (request, signal) => attempts.stream(request, signal) };
}

class Attempts<Habits> {
  readonly #wire: Wire<Habits>;
  #endpoint: Endpoint;
  readonly #idleMs: number | undefined;
  readonly #replyMs: number;
  /** What the endpoint is known not to refuse. */
  #habits: Habits;

  constructor(settings: EndpointSettings, wire: Wire<Habits>) {
    this.#wire = wire;
    this.#habits = wire.habits;
    this.#endpoint = toEndpoint(settings, wire);
    this.#idleMs = settings.idleMs;
    this.#replyMs = settings.replyMs ?? REPLY_MS;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const names = namesIn(request);
    const reader = this.#wire.createReader(this.#endpoint, names);
    const limit = new ReplyLimit(this.#replyMs);
    let answer: AnswerReader | null = null;
    let text: AnswerText | null = null;
    try {
      text = await this.#ask(request, names, reader, signal);
      answer = new AnswerReader(this.#endpoint, this.#idleMs === undefined ? QUIET_MS : this.#idleMs * 5);
      for (let chunk: string | null = ""; chunk !== null && !reader.ended;) {
        chunk = await text.next();
        for (const event of answer.read(chunk)) {
          this.#read(reader, event);
          for (const each of reader.take()) yield each;
        }
        if (limit.passed && chunk !== null && !reader.ended) throw endlessError(this.#endpoint, this.#replyMs);
      }
    } catch (error) {
      if (answer === null || !isConnectionLoss(error)) throw error;
      for (const event of answer.salvage()) this.#read(reader, event);
      if (!reader.finished) {
        this.#keepAllFromNowOn();
        throw error;
      }
      for (const each of reader.take()) yield each;
    } finally {
      limit.stop();
      text?.close();
    }
    for (const each of reader.close()) yield each;
  }

  /** An answer that broke off may have been there whole: the next attempt, and those after it, get all that arrives. */
  #keepAllFromNowOn(): void {
    if (this.#endpoint.fetch === fetchByRule) this.#endpoint = { ...this.#endpoint, fetch: fetchKeepingAll };
  }

  #read(reader: WireReader, event: ServerEvent): void {
    if (isDone(event)) return reader.end();
    const document = parseDocument(this.#endpoint, event);
    if (document !== undefined) reader.read(document);
  }

  /** Asks; if something was refused that can be done without, asks again without it. */
  async #ask(
    request: ModelRequest,
    names: ToolNames,
    reader: WireReader,
    signal: AbortSignal,
  ): Promise<AnswerText> {
    for (let concessions = 0;; concessions++) {
      const patience = this.#patienceFor(reader);
      try {
        const text = await post(this.#endpoint, this.#wire.toBody(request, names, this.#habits), patience, signal);
        patience.answered = true;
        return text;
      } catch (error) {
        const refused = error instanceof ModelError && error.kind === "rejected" && concessions < MAX_CONCESSIONS;
        const habits = refused ? this.#wire.concede(this.#habits, error.said) : null;
        if (habits === null) throw error;
        this.#habits = habits;
      }
    }
  }

  #patienceFor(reader: WireReader): Patience & { answered: boolean } {
    const idleMs = this.#idleMs;
    return {
      answered: false,
      idleMs() {
        const limit = idleMs ?? (this.answered ? IDLE_MS : HEADERS_MS);
        return reader.finished ? Math.min(limit, AFTER_FINISH_MS) : limit;
      },
      satisfied: () => reader.finished || reader.ended,
    };
  }
}

/** How long a reply may take in all; a look at a clock for every chunk would cost more. */
class ReplyLimit {
  passed = false;
  readonly #timer: ReturnType<typeof startTimer>;

  constructor(ms: number) {
    this.#timer = startTimer(() => this.passed = true, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

function toEndpoint<Habits>(settings: EndpointSettings, wire: Wire<Habits>): Endpoint {
  const { apiKey, keyVariable, headers = {} } = settings;
  const { path, alternative } = wire;
  const url = join(settings.baseUrl, path);
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name)).map(([, value]) => value);
  return {
    model: settings.id,
    url,
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...secretHeaders, new URL(url).search],
    headers: { ...wire.toHeaders(apiKey), ...headers },
    fetch: settings.fetch ?? fetchByRule,
    ...(keyVariable === undefined ? {} : { keyVariable }),
    ...(alternative === undefined ? {} : { alternative }),
  };
}

/** Puts `path` behind the base URL's own, and leaves its query in place. */
function join(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url.href;
}

function isConnectionLoss(error: unknown): boolean {
  return error instanceof ModelError && (error.kind === "transport" || error.kind === "idle_timeout" || error.kind === "unreachable");
}
