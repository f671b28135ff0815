/**
 * A server over streamable HTTP: the SDK's transport with bounds it does not have.
 *
 * H1  No body and no event is larger than a line of a process may be.
 * H2  A request that was cancelled or ran out of time holds no connection.
 * H3  An answer stream that ends without the answer is an error of that request at once, not a wait for its deadline.
 */
import type { JSONRPCMessage, StreamableHTTPClientTransport, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { fetchByRule } from "../../platform/proxy.ts";
import { capFetch, type Fetch } from "./capped-fetch.ts";
import { LINE_BYTES } from "./transport.ts";

export interface HttpTransport extends Transport {
  /** Tells the server that the session is over, as far as it listens. */
  bow(): Promise<void>;
}

export interface HttpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type HttpTransportClass = typeof StreamableHTTPClientTransport;

/** JSON-RPC's range for what implementations define. */
export const STREAM_ENDED = -32098;
const BOW_MS = 1000;

export function createHttpTransport(Inner: HttpTransportClass, { url, headers }: HttpTarget, base: Fetch = fetchByRule): HttpTransport {
  const inner = new Inner(new URL(url), { requestInit: { headers: { ...headers } }, fetch: capFetch(base, LINE_BYTES) });
  return new BoundedTransport(inner);
}

class BoundedTransport implements HttpTransport {
  readonly hasPerRequestStream = true;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #open = new Map<string | number, AbortController>();

  constructor(inner: StreamableHTTPClientTransport) {
    this.#inner = inner;
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message) => this.#receive(message);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const passed = options.headers === undefined ? {} : { headers: options.headers };
    if (!("method" in message) || !("id" in message)) {
      await this.#inner.send(message, passed);
      this.#releaseCancelled(message);
      return;
    }
    const { id } = message;
    const stop = new AbortController();
    this.#open.set(id, stop);
    const requestSignal = options.requestSignal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.requestSignal]);
    try {
      await this.#inner.send(message, { ...passed, requestSignal, onRequestStreamEnd: () => this.#loseAnswer(id) });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#open.values()) stop.abort();
    this.#open.clear();
    await this.#inner.close();
  }

  async bow(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, BOW_MS);
    // A server that does not care for farewells is none the worse.
    await Promise.race([this.#inner.terminateSession().catch(() => undefined), late.promise]);
    clearTimeout(timer);
  }

  #receive(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id);
    this.onmessage?.(message);
  }

  /** H2: the server was told; whatever it still says about that request is not waited for. */
  #releaseCancelled(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const id = message.params?.["requestId"];
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  /** H3. */
  #loseAnswer(id: string | number): void {
    if (!this.#open.delete(id)) return;
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: STREAM_ENDED, message: "The stream ended without the answer" } });
  }
}
