/**
 * An answer as its connection takes it.
 *
 * A1  No more of it is handed to the connection than that takes: what waits is here, where it is counted.
 * A2  A client that takes nothing of what waits for it for `stall_ms` loses its connection. A stream sees to that itself.
 * A3  Who takes some of it all the time is served, however slowly.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ByteReader } from "../platform/byte-reader.ts";
import type { PeerWatch } from "./peers.ts";
import { Stall } from "./stall.ts";
import type { Unsent } from "./unsent.ts";

export interface SendLimits {
  /** How much is still taken of a body that nobody wants, so that its client gets to read why. */
  readonly linger_bytes: number;
  readonly linger_ms: number;
  readonly stall_ms: number;
}

export interface Outlet {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly limits: SendLimits;
  readonly peers: PeerWatch;
  readonly unsent: Unsent;
  /** Resolves when the answers before it on its connection are out. */
  readonly turn: Promise<void>;
}

/** One way to what comes in: whoever reads on goes on where the last one left off. */
export type Chunks = () => Promise<IteratorResult<Buffer, unknown>>;

const PIECE_BYTES = 64 * 1024;
/** Pieces cost time, and most of so little the kernel takes at once. */
const AT_ONCE_BYTES = 128 * 1024;

/** Resolves when all of it is handed over. @throws its stream has failed, or its client has left. */
export async function send(response: Response, outlet: Outlet, chunks: Chunks): Promise<void> {
  const { incoming, outgoing, limits, peers } = outlet;
  const headers = [...response.headers].flat();
  if (response.body !== null && isStream(response)) {
    outgoing.writeHead(response.status, [...headers, "connection", "close"]).flushHeaders();
    const forget = peers.watch(incoming.socket);
    return await pipe(response.body.getReader(), outlet).finally(forget);
  }
  const unread = hasUnread(incoming);
  if (unread) headers.push("connection", "close");
  const shared = response.headers.has("content-length");
  const bytes = response.body === null || shared ? null : Buffer.from(await response.arrayBuffer());
  if (bytes !== null) headers.push("content-length", String(bytes.length));
  outgoing.writeHead(response.status, headers);
  if (!unread && bytes !== null && bytes.length <= AT_ONCE_BYTES) return void outgoing.end(bytes);
  const sent = bytes !== null ? sendWhole(bytes, outlet) : response.body !== null ? sendShared(response.body, outlet) : null;
  if (!unread) {
    await sent;
    return void outgoing.end();
  }
  outgoing.flushHeaders();
  await Promise.all([sent, linger(chunks, limits)]);
  outgoing.end(() => incoming.socket.destroy());
}

/** A body for `send` that its maker may give to many at a time, and holds. It must be sent with its length. */
export function sharedBody(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at += PIECE_BYTES));
    },
  }, { highWaterMark: 0 });
}

async function sendWhole(bytes: Uint8Array, outlet: Outlet): Promise<void> {
  const { incoming, unsent } = outlet;
  const held = unsent.hold(bytes.length, () => incoming.socket.destroy());
  const flow = new Outflow(outlet, true);
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      await flow.write(bytes.subarray(at, at + PIECE_BYTES));
      held.taken();
    }
  } finally {
    held.release();
  }
}

async function sendShared(body: ReadableStream<Uint8Array>, outlet: Outlet): Promise<void> {
  const flow = new Outflow(outlet, true);
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) await flow.write(next.value);
  } finally {
    await reader.cancel();
  }
}

/** Takes the next piece only when the connection has taken the last one; ends with the connection, and it with the stream. */
async function pipe(reader: ByteReader, outlet: Outlet): Promise<void> {
  const flow = new Outflow(outlet, false);
  // A stream that failed has nothing to cancel.
  flow.onGone(() => void reader.cancel().catch(() => undefined));
  // It fails while nothing is asked of it when it cuts off a client that does not read.
  reader.closed.catch(() => flow.leave());
  for (;;) {
    const { done, value } = await reader.read();
    flow.check();
    if (done) return void outlet.outgoing.end();
    await flow.write(value);
  }
}

/** A1, A2. */
class Outflow {
  readonly #outgoing: ServerResponse;
  readonly #turn: Promise<void>;
  readonly #stall: Stall | null;
  #gone: boolean;
  #wake = () => {};
  #onGone = () => {};

  constructor({ incoming, outgoing, limits, turn }: Outlet, watched: boolean) {
    this.#outgoing = outgoing;
    this.#turn = turn;
    this.#stall = watched ? new Stall(limits.stall_ms, () => incoming.socket.destroy()) : null;
    this.#gone = outgoing.destroyed || outgoing.closed;
    outgoing.once("close", () => this.leave()).on("drain", () => this.#wake());
  }

  onGone(told: () => void): void {
    this.#onGone = told;
    if (this.#gone) told();
  }

  leave(): void {
    this.#gone = true;
    this.#wake();
    this.#onGone();
  }

  /** @throws {Error} */
  check(): void {
    if (this.#gone) throw new Error("The client has left");
  }

  /** Resolves when the connection has taken it, or is gone. */
  async write(piece: Uint8Array): Promise<void> {
    this.check();
    if (this.#outgoing.write(piece)) return;
    const taken = new Promise<void>((resolve) => void (this.#wake = resolve));
    if (this.#stall === null) return await taken;
    // While another answer goes first, its client does not let this one wait.
    await Promise.race([this.#turn, taken]);
    this.#stall.begin();
    await taken;
    this.#stall.end();
  }
}

function hasUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined);
}

/** Takes and drops what still comes in, within bounds: who is cut off while it writes may not get to read its answer. */
async function linger(chunks: Chunks, { linger_bytes, linger_ms }: SendLimits): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), linger_ms);
  try {
    for (let left = linger_bytes; left > 0;) {
      const chunk = await Promise.race([chunks(), late]);
      if (chunk === null || chunk.done === true) return;
      left -= chunk.value.length;
    }
  } catch {
    // The connection broke: it is closed next.
  } finally {
    clearTimeout(timer);
  }
}

function isStream({ headers }: Response): boolean {
  return /^(text\/event-stream|application\/x-ndjson)/.test(headers.get("content-type") ?? "");
}
