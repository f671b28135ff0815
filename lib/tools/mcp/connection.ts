/**
 * One connection to one server, from the handshake to its end. It is never mended: who wants another makes another.
 *
 * C1  Every wait has a deadline or a signal. A server that answers nothing, answers something else or talks without end
 *     costs its own connection.
 * C2  A call is sent once. How it went is told in one of the words of `CallEnd`, which keep apart what was not sent, what
 *     was answered, and what may or may not have been done.
 * C3  We offer a server nothing: no sampling, no elicitation, no roots. What it asks for is refused.
 */
import type { Client, ClientOptions } from "@modelcontextprotocol/client";
import * as v from "valibot";
import { VERSION } from "../../platform/version.ts";
import { readNetworkFault } from "../../platform/network-fault.ts";
import { parseKeepingNumbers } from "../../session/json.ts";
import { FloodGauge } from "./flood-gauge.ts";
import { createHttpTransport, type HttpTransport, STREAM_ENDED } from "./http.ts";
import type { Destination } from "./destination.ts";
import { describeStatus } from "./status-words.ts";
import { createStdioTransport, SendFailure, type StdioTransport } from "./stdio.ts";
import type { OpenConversation } from "./transport.ts";

export type CallEnd =
  | { readonly kind: "answered"; readonly result: Readonly<Record<string, unknown>> }
  /** The server answered with an error of the protocol. */
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "timed_out"; readonly after_ms: number }
  | { readonly kind: "cancelled" }
  /** It did not reach the server, or the server turned it away unread. */
  | { readonly kind: "unsent"; readonly problem: string }
  /** The answer was lost with the connection: it may have been carried out. */
  | { readonly kind: "lost"; readonly problem: string };

export interface RawListing {
  readonly tools: readonly unknown[];
  /** What was left out of it, if something was. */
  readonly cut: string | null;
}

export interface Connection {
  readonly protocol: string;
  /** Why it is over. Never rejects. */
  readonly closed: Promise<string>;
  /** @throws if the server does not give its list. */
  listTools(signal: AbortSignal): Promise<RawListing>;
  /** `arguments_text`: canonical JSON; numbers reach the server as they are written there. */
  callTool(name: string, arguments_text: string, timeout_ms: number, signal: AbortSignal): Promise<CallEnd>;
  /** Resolves when nothing of it is left: for a process, when it is gone. */
  close(): Promise<void>;
}

/** The connection could not be made. `final`: trying again would not help. `barred`: the server wants to know who we are. */
export class ConnectFailure extends Error {
  override readonly name = "ConnectFailure";
  readonly kind: "passing" | "final" | "barred";

  constructor(kind: ConnectFailure["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export interface ConnectOptions {
  readonly open: OpenConversation;
  /** The id of the conversation. */
  readonly call: string;
  /** How long a server that refused one handshake is given for the other. */
  readonly guess_ms: number;
  /** How long a failed attempt is waited for to end and say its last words. */
  readonly tail_ms: number;
  onListChanged(): void;
  /** Told of what is ending without anybody who waits for it. */
  onBurial(gone: Promise<void>): void;
}

export type Sdk = typeof import("@modelcontextprotocol/client");
export type Era = "2025" | "2026";

const NEW_REVISION = "2026-07-28";
const HANDSHAKE_MS = 60_000;
const LIST_CHANGED_PAUSE_MS = 250;
const MAX_PAGES = 100;
export const MAX_TOOLS = 256;

const Page = v.looseObject({ tools: v.array(v.unknown()), nextCursor: v.optional(v.unknown()) });
const Answer = v.record(v.string(), v.unknown());

export class OpenConnection implements Connection {
  readonly #sdk: Sdk;
  readonly #options: ConnectOptions;
  readonly #client: Client;
  readonly #stdio: StdioTransport | null;
  readonly #http: HttpTransport | null;
  readonly #closed = Promise.withResolvers<string>();
  readonly #unasked = new FloodGauge();
  #reason: string | null = null;

  constructor(sdk: Sdk, destination: Destination, options: ConnectOptions, era: Era) {
    this.#sdk = sdk;
    this.#options = options;
    this.#client = new sdk.Client({ name: "orrery", version: VERSION }, clientOptions(era, options.onListChanged));
    // Counted as a message; nobody waits for it, and without a listener of its own it would be an error besides.
    this.#client.setNotificationHandler("notifications/progress", () => {});
    this.#stdio = destination.kind === "stdio" ? createStdioTransport(options.open, options.call, destination) : null;
    this.#http = destination.kind === "http" ? createHttpTransport(sdk.StreamableHTTPClientTransport, destination) : null;
    this.#watch();
  }

  get protocol(): string {
    return this.#client.getNegotiatedProtocolVersion() ?? "unknown";
  }

  get closed(): Promise<string> {
    return this.#closed.promise;
  }

  async shakeHands(signal: AbortSignal): Promise<void> {
    const connected = this.#client.connect(this.#transport(), { signal, timeout: HANDSHAKE_MS });
    // The probe of the new handshake does not know the signal.
    await Promise.race([connected, rejectOn(signal)]);
  }

  async listTools(signal: AbortSignal): Promise<RawListing> {
    const tools: unknown[] = [];
    if (this.#client.getServerCapabilities()?.tools === undefined) return { tools, cut: null };
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await this.#page(cursor, signal);
      tools.push(...page.tools.slice(0, MAX_TOOLS + 1 - tools.length));
      if (tools.length > MAX_TOOLS) return { tools: tools.slice(0, MAX_TOOLS), cut: `it has more than ${MAX_TOOLS} tools` };
      if (typeof page.nextCursor !== "string" || page.nextCursor === "") return { tools, cut: null };
      if (seen.has(page.nextCursor)) return { tools, cut: "its list leads back to a page that was read already" };
      seen.add(cursor = page.nextCursor);
    }
    return { tools, cut: `its list has more than ${MAX_PAGES} pages` };
  }

  async callTool(name: string, arguments_text: string, timeout_ms: number, signal: AbortSignal): Promise<CallEnd> {
    if (this.#reason !== null) return { kind: "unsent", problem: this.#reason };
    const request = { method: "tools/call", params: { name, arguments: parseKeepingNumbers(arguments_text) } };
    try {
      return { kind: "answered", result: await this.#client.request(request, Answer, { signal, timeout: timeout_ms }) };
    } catch (error) {
      if (signal.aborted) return { kind: "cancelled" };
      return await this.#toCallEnd(error, timeout_ms);
    }
  }

  async close(): Promise<void> {
    this.#end("it was closed");
    await this.#http?.bow();
    await this.#client.close();
    // The client has already let go of a transport whose handshake failed.
    await this.#transport().close();
    await this.#stdio?.ended;
  }

  /** Ends what is left of a failed handshake, and words the failure. `signal`: if it is aborted, time was the reason. */
  async bury(error: unknown, signal?: AbortSignal): Promise<ConnectFailure> {
    const reason = signal?.aborted === true ? "it did not finish the handshake in time" : this.#wordsOf(error);
    const gone = this.close();
    this.#options.onBurial(gone);
    const told = gone.then(async () => new ConnectFailure(await this.#failureKind(error), `${reason}${await this.#story()}`, error));
    const late = Promise.withResolvers<ConnectFailure>();
    const timer = setTimeout(() => late.resolve(new ConnectFailure("passing", reason, error)), this.#options.tail_ms);
    const failure = await Promise.race([told, late.promise]);
    clearTimeout(timer);
    return failure;
  }

  #transport(): StdioTransport | HttpTransport {
    const transport = this.#stdio ?? this.#http;
    if (transport === null) throw new TypeError("Cannot connect without a transport");
    return transport;
  }

  #page(cursor: string | undefined, signal: AbortSignal): Promise<v.InferOutput<typeof Page>> {
    return this.#client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }, Page, { signal });
  }

  #watch(): void {
    const count = () => {
      if (this.#unasked.isFull()) {
        this.#drop(`it sent more than ${FloodGauge.MOST} messages in ${FloodGauge.WINDOW_MS / 1000} s that nobody had asked for`);
      }
    };
    this.#transport().onmessage = (message) => {
      if ("method" in message) count();
    };
    if (this.#stdio !== null) this.#stdio.onnoise = count;
    // What is wrong with a message or an attempt is told by the request it belongs to; an answer to nothing is noise.
    this.#client.onerror = count;
    this.#client.onclose = () => this.#end("it ended the connection");
  }

  /** C1. */
  #drop(reason: string): void {
    if (this.#reason !== null) return;
    this.#end(reason);
    this.#options.onBurial(this.close());
  }

  #end(reason: string): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    void this.#story().then((story) => this.#closed.resolve(`${reason}${story}`));
  }

  /** How a process ended and what it said last. Waits for its end. */
  async #story(): Promise<string> {
    const run = await this.#stdio?.ended;
    if (run === undefined || run === null) return "";
    const noise = this.#stdio?.noise ?? null;
    const tail = run.stderr.text.trim().slice(-SHOWN_STDERR).toWellFormed();
    return [
      run.outcome.kind === "exited"
        ? ` (exit code ${run.outcome.code})`
        : run.outcome.kind === "signalled"
        ? ` (${run.outcome.signal})`
        : "",
      run.problem === undefined ? "" : `: ${run.problem}`,
      noise === null ? "" : `. On standard output it printed what is no message, first: ${JSON.stringify(noise)}`,
      tail === "" ? "" : `. The end of its stderr:\n${tail}`,
    ].join("");
  }

  async #failureKind(error: unknown): Promise<ConnectFailure["kind"]> {
    const { SdkHttpError, UnauthorizedError } = this.#sdk;
    if (error instanceof UnauthorizedError) return "barred";
    if (SdkHttpError.isInstance(error) && (error.status === 401 || error.status === 403)) return "barred";
    const run = await this.#stdio?.ended;
    return run?.outcome.kind === "not_started" ? "final" : "passing";
  }

  async #toCallEnd(error: unknown, timeout_ms: number): Promise<CallEnd> {
    const { SdkError, SdkErrorCode, SdkHttpError, ProtocolError } = this.#sdk;
    const problem = this.#wordsOf(error);
    if (error instanceof SendFailure) return { kind: "unsent", problem };
    if (error instanceof ProtocolError) return { kind: error.code === STREAM_ENDED ? "lost" : "refused", problem };
    if (SdkHttpError.isInstance(error)) {
      const { status = 500 } = error;
      // With a session, 404 says that the server has forgotten it: there must be a new one.
      if (status === 404) this.#drop("the server has ended the session");
      // Below 500 it has not taken the request; above, it may have carried it out.
      return { kind: status < 500 ? "unsent" : "lost", problem };
    }
    if (SdkError.isInstance(error)) {
      if (error.code === SdkErrorCode.RequestTimeout) return { kind: "timed_out", after_ms: timeout_ms };
      if (error.code === SdkErrorCode.InvalidResult) return { kind: "answered", result: { content: null } };
      if (error.code === SdkErrorCode.NotConnected) return { kind: "unsent", problem };
      if (error.code === SdkErrorCode.ConnectionClosed) return { kind: "lost", problem: await this.closed };
    }
    return { kind: readNetworkFault(error).connected ? "lost" : "unsent", problem };
  }

  #wordsOf(error: unknown): string {
    const { SdkError, SdkErrorCode, SdkHttpError } = this.#sdk;
    if (SdkHttpError.isInstance(error) && error.status !== undefined) return describeStatus(error.status, bodyOf(error));
    if (SdkError.isInstance(error) && error.code === SdkErrorCode.ClientHttpUnexpectedContent) {
      return `the server answered with neither JSON nor a stream of events (${error.message}): check url`;
    }
    if (SdkError.isInstance(error) && error.code === SdkErrorCode.ConnectionClosed) return this.#reason ?? "the connection ended";
    const { words } = readNetworkFault(error);
    return words.length > SHOWN_ERROR ? `${words.slice(0, SHOWN_ERROR).toWellFormed()}…` : words.toWellFormed();
  }
}

/** What the server wrote beside the status. A redirect has an address instead, which the SDK puts into its own words. */
function bodyOf(
  { message, data, status = 0 }: { readonly message: string; readonly data?: unknown; readonly status?: number | undefined },
): string {
  if (status >= 300 && status < 400) return /^.*?Redirect .*?to (\S+) not followed/.exec(message)?.[1] ?? "";
  const text = typeof data === "object" && data !== null && "text" in data ? data.text : null;
  return typeof text === "string" ? text : "";
}

const SHOWN_STDERR = 2000;
const SHOWN_ERROR = 500;

function clientOptions(era: Era, onListChanged: () => void): ClientOptions {
  return {
    capabilities: {},
    ...(era === "2025" ? {} : { versionNegotiation: { mode: { pin: NEW_REVISION } } }),
    listChanged: { tools: { autoRefresh: false, debounceMs: LIST_CHANGED_PAUSE_MS, onChanged: onListChanged } },
    // Ours checks what is worth checking; the SDK's own takes 300 ms to get ready.
    jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
  };
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
