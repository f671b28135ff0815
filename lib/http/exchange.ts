/**
 * One request on `node:http` and its answer: the request as the app takes it, the answer as its connection takes it.
 */
import { Buffer } from "node:buffer";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { bareProblem } from "./problem.ts";
import { type Chunks, type Outlet, send } from "./sending.ts";
import { Stall } from "./stall.ts";

/** What the text of the request said, before anything made sense of it. */
export interface IncomingHead {
  readonly method: string;
  /** A path, unless somebody asks in another form. */
  readonly target: string;
  readonly hosts: readonly string[];
}

export type Answer = (request: Request, connection: { request(): IncomingHead }) => Response | Promise<Response>;

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

/** Of each connection the last answer that is not yet out. Answers go out in the order in which they were asked for. */
const answering = new WeakMap<Duplex, Promise<void>>();

/** Resolves when the answer is out. Never rejects: a connection that breaks is its client's matter, a fault of the app is answered by the app. */
export async function respond(answer: Answer, exchange: Omit<Outlet, "turn">): Promise<void> {
  const { incoming, outgoing, limits } = exchange;
  const { socket } = incoming;
  // A connection that breaks shows as `close` too.
  outgoing.on("error", () => undefined);
  const out = new Promise<void>((resolve) => void outgoing.once("finish", resolve).once("close", resolve));
  const turn = answering.get(socket) ?? Promise.resolve();
  answering.set(socket, out);
  try {
    const chunks = chunksOf(incoming);
    await send(await answer(toRequest(incoming, chunks), { request: () => toHead(incoming) }), { ...exchange, turn }, chunks);
  } catch {
    // Only a broken stream gets here: what was sent cannot be taken back, so the client must see that it is not all.
    outgoing.destroy();
  }
  await turn;
  const stall = new Stall(limits.stall_ms, () => socket.destroy());
  stall.begin();
  await out;
  stall.end();
  if (answering.get(socket) === out) answering.delete(socket);
}

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
