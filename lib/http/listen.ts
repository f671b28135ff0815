/**
 * The listening socket, on `node:http`: of what both hosts have it alone shows the request's own target and every Host
 * header, times out slow heads (408), says how much of an answer is not yet taken, and can end one connection.
 */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the text of the request said, before anything made sense of it. */
export interface IncomingHead {
  /** A path, unless somebody asks in another form. */
  readonly target: string;
  readonly hosts: readonly string[];
}

export type Answer = (request: Request, connection: { request(): IncomingHead }) => Response | Promise<Response>;

export interface Listener {
  readonly port: number;
  readonly address: string;
  /** No new connections; those that are open have `grace_ms` for their answers. */
  close(grace_ms: number): Promise<void>;
}

const HEAD_MS = 15_000;
const REQUEST_MS = 60_000;
const IDLE_MS = 30_000;
const HEAD_BYTES = 16 * 1024;
const CONNECTIONS = 2048;

/** @throws {Error} with `code` EADDRINUSE, EACCES or the like. */
export async function listen(answer: Answer, where: { readonly host: string; readonly port: number }): Promise<Listener> {
  const options = {
    headersTimeout: HEAD_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: 5000,
    maxHeaderSize: HEAD_BYTES,
  };
  const answers = new Set<Promise<void>>();
  const server = createServer(options, (incoming, outgoing) => {
    const answered = respond(answer, incoming, outgoing).finally(() => answers.delete(answered));
    answers.add(answered);
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(where.port, where.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port, address } = server.address() as AddressInfo;
  return { port, address, close: (grace_ms) => closeServer(server, answers, grace_ms) };
}

/** Resolves when the answer is out. Never rejects: a connection that breaks is its client's matter, a fault of the app is answered by the app. */
async function respond(answer: Answer, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  // A connection that breaks shows as `close` too.
  outgoing.on("error", () => undefined);
  const out = new Promise<void>((resolve) => void outgoing.once("finish", resolve).once("close", resolve));
  try {
    await write(await answer(toRequest(incoming), { request: () => toHead(incoming) }), outgoing);
    // What nobody read is read and dropped: a client that still writes gets to read its answer, and the connection is free.
    if (!incoming.complete) incoming.resume();
  } catch {
    // Only a broken stream gets here: what was sent cannot be taken back, so the client must see that it is not all.
    outgoing.destroy();
  }
  await out;
}

function toHead({ url = "", rawHeaders }: IncomingMessage): IncomingHead {
  const hosts = rawHeaders.filter((_each, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host");
  return { target: url, hosts };
}

/** A `Request` cannot have these on every host. Nothing answers them, nor OPTIONS, which they become: the app says so. */
const FORBIDDEN: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

function toRequest(incoming: IncomingMessage): Request {
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
      ...(bodyless ? {} : { body: toStream(incoming), duplex: "half" }),
    } as RequestInit,
  );
}

function toStream(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Buffer> | null = null;
  return new ReadableStream({
    pull: async (controller) => {
      chunks ??= incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  }, { highWaterMark: 0 });
}

async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  const headers = [...response.headers].flat();
  if (response.body === null) return void outgoing.writeHead(response.status, headers).end();
  if (isStream(response)) {
    outgoing.writeHead(response.status, [...headers, "connection", "close"]).flushHeaders();
    return await pipe(response.body.getReader(), outgoing);
  }
  const bytes = Buffer.from(await response.arrayBuffer());
  outgoing.writeHead(response.status, [...headers, "content-length", String(bytes.length)]).end(bytes);
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

/** Connections without a request are not waited for: hosts differ in which of them they call idle. */
async function closeServer(server: Server, answers: ReadonlySet<Promise<void>>, grace_ms: number): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, grace_ms);
  while (answers.size > 0 && await Promise.race([Promise.all(answers).then(() => true), late.promise]) === true);
  clearTimeout(timer);
  server.closeAllConnections();
  await closed;
}
