/**
 * One request on `node:http` and its answer: the request as the app takes it, the answer as its connection takes it.
 */
import { Buffer } from "node:buffer";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { PeerWatch } from "./peers.ts";
import { bareProblem } from "./problem.ts";

/** What the text of the request said, before anything made sense of it. */
export interface IncomingHead {
  readonly method: string;
  /** A path, unless somebody asks in another form. */
  readonly target: string;
  readonly hosts: readonly string[];
}

export type Answer = (request: Request, connection: { request(): IncomingHead }) => Response | Promise<Response>;

/** How much is still taken of a body that nobody wants, so that its client gets to read why. */
export interface Linger {
  readonly linger_bytes: number;
  readonly linger_ms: number;
}

/** What is no request gets an answer too, if nothing else is on its way on this connection. */
export function refuseUnread(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable || answering.has(socket)) return void socket.destroy();
  const problem = error.code === "HPE_HEADER_OVERFLOW"
    ? bareProblem("headers_too_large", "Cannot read this request as its head is too large")
    : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? bareProblem("request_too_slow", "Cannot wait longer for this request")
    : bareProblem("bad_request", "Cannot read this as a request of HTTP/1.1");
  socket.on("error", () => undefined);
  writeRaw(problem, socket).catch(() => socket.destroy());
}

/** For what wants a connection of its own, CONNECT, and gets none. Never rejects. */
export async function answerRaw(answer: Answer, incoming: IncomingMessage, socket: Duplex): Promise<void> {
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  try {
    await writeRaw(await answer(toRequest(incoming, chunksOf(incoming)), { request: () => toHead(incoming) }), socket);
    await closed;
  } catch {
    // What it gets is an error of the app, or a stream that it does not get.
    socket.destroy();
  }
}

async function writeRaw(response: Response, socket: Duplex): Promise<void> {
  const body = await response.text();
  const headers = [...response.headers, ["content-length", String(Buffer.byteLength(body))], ["connection", "close"]];
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n${head}\r\n${body}`, () => socket.destroy());
}

/** Connections on which an answer is being sent. */
const answering = new WeakSet<Duplex>();

export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly limits: Linger;
  readonly peers: PeerWatch;
}

/** Resolves when the answer is out. Never rejects: a connection that breaks is its client's matter, a fault of the app is answered by the app. */
export async function respond(answer: Answer, exchange: Exchange): Promise<void> {
  const { incoming, outgoing } = exchange;
  // A connection that breaks shows as `close` too.
  outgoing.on("error", () => undefined);
  const out = new Promise<void>((resolve) => void outgoing.once("finish", resolve).once("close", resolve));
  answering.add(incoming.socket);
  try {
    const chunks = chunksOf(incoming);
    await write(await answer(toRequest(incoming, chunks), { request: () => toHead(incoming) }), exchange, chunks);
  } catch {
    // Only a broken stream gets here: what was sent cannot be taken back, so the client must see that it is not all.
    outgoing.destroy();
  }
  await out;
  answering.delete(incoming.socket);
}

type Chunks = () => Promise<IteratorResult<Buffer, unknown>>;

/** One way to what comes in: whoever reads on goes on where the last one left off. */
function chunksOf(incoming: IncomingMessage): Chunks {
  let chunks: AsyncIterator<Buffer> | null = null;
  return () => (chunks ??= incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>).next();
}

function toHead({ method = "", url = "", rawHeaders }: IncomingMessage): IncomingHead {
  const hosts = rawHeaders.filter((_each, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host");
  return { method, target: url, hosts };
}

/** A `Request` cannot have these on every host. Nothing answers them, nor OPTIONS, which they become: the app says so. */
const FORBIDDEN: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

function toRequest(incoming: IncomingMessage, chunks: Chunks): Request {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  const bodyless = method === "GET" || method === "HEAD" || FORBIDDEN.has(method);
  // The authority means nothing here: Host is a header, and is checked as one.
  const target = URL.canParse(url.startsWith("/") ? `http://localhost${url}` : "") ? `http://localhost${url}` : "http://localhost/";
  return new Request(
    target,
    {
      method: FORBIDDEN.has(method) ? "OPTIONS" : method,
      headers,
      ...(bodyless ? {} : { body: toStream(chunks), duplex: "half" }),
    } as RequestInit,
  );
}

function toStream(chunks: Chunks): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await chunks();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  }, { highWaterMark: 0 });
}

async function write(response: Response, { incoming, outgoing, limits, peers }: Exchange, chunks: Chunks): Promise<void> {
  const headers = [...response.headers].flat();
  if (response.body !== null && isStream(response)) {
    outgoing.writeHead(response.status, [...headers, "connection", "close"]).flushHeaders();
    const forget = peers.watch(incoming.socket);
    return await pipe(response.body.getReader(), outgoing).finally(forget);
  }
  const bytes = response.body === null ? null : Buffer.from(await response.arrayBuffer());
  if (bytes !== null) headers.push("content-length", String(bytes.length));
  if (!hasUnread(incoming)) return void outgoing.writeHead(response.status, headers).end(bytes ?? undefined);
  outgoing.writeHead(response.status, [...headers, "connection", "close"]).flushHeaders();
  if (bytes !== null) outgoing.write(bytes);
  await linger(chunks, limits);
  outgoing.end(() => incoming.socket.destroy());
}

function hasUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined);
}

/** Takes and drops what still comes in, within bounds: who is cut off while it writes may not get to read its answer. */
async function linger(chunks: Chunks, { linger_bytes, linger_ms }: Linger): Promise<void> {
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

/** Takes the next piece only when the connection has taken the last one; ends with the connection, and it with the stream. */
async function pipe(reader: ReadableStreamDefaultReader<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  let gone = outgoing.destroyed || outgoing.closed;
  let wake = () => {};
  const leave = () => {
    gone = true;
    wake();
    // A stream that failed has nothing to cancel.
    reader.cancel().catch(() => undefined);
  };
  outgoing.once("close", leave).on("drain", () => wake());
  // It fails while nothing is asked of it when it cuts off a client that does not read.
  reader.closed.catch(leave);
  if (gone) leave();
  for (;;) {
    const { done, value } = await reader.read();
    if (gone) throw new Error("The client has left");
    if (done) return void outgoing.end();
    if (!outgoing.write(value)) await new Promise<void>((resolve) => void (wake = resolve));
  }
}
