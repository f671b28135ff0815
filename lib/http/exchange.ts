/**
 * One request on `node:http` and its answer: the request as the app takes it, the answer as its connection takes it.
 */
import { Buffer } from "node:buffer";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { MOST_FIELDS, TOO_MANY_FIELDS } from "./guard.ts";
import { bareProblem, Problem, type ProblemCode } from "./problem.ts";
import { type Chunks, type Outlet, send } from "./sending.ts";
import { Stall } from "./stall.ts";
import { readTarget } from "./target.ts";

/** What the text of the request said, before anything made sense of it. */
export interface IncomingHead {
  readonly method: string;
  /** A path, unless somebody asks in another form. */
  readonly target: string;
  readonly hosts: readonly string[];
  /** How many headers there were. */
  readonly fields: number;
}

export type Answer = (request: Request, connection: { request(): IncomingHead }) => Response | Promise<Response>;

/** The answer that was asked for last on a connection, until it is out. They go out in the order in which they were asked for. */
interface Pending {
  readonly incoming: IncomingMessage;
  readonly inlet: Inlet;
  readonly out: Promise<void>;
}

/** What the host says of what it could not read. */
type ReadFault = NodeJS.ErrnoException & { readonly rawPacket?: Uint8Array };

const pending = new WeakMap<Duplex, Pending>();
const refused = new WeakSet<Duplex>();

/** What is no request gets an answer too, behind those that are on their way on this connection. */
export function refuseUnread(error: ReadFault, socket: Duplex, head_bytes: number): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const last = pending.get(socket);
  // It was a request until its body broke: its own answer says so, unless that is on its way without it.
  if (last !== undefined && !last.incoming.complete) return last.inlet.fail(new Problem(...faultOf(error, head_bytes, BROKEN_BODY)));
  if (refused.has(socket)) return;
  refused.add(socket);
  socket.on("error", () => undefined);
  const problem = bareProblem(...faultOf(error, head_bytes, "Cannot read this as a request of HTTP/1.1"));
  (last?.out ?? Promise.resolve()).then(() => writeRaw(problem, socket)).catch(() => socket.destroy());
}

const BROKEN_BODY =
  "Cannot read this body as its framing is broken: each chunk is its size in hexadecimal, a line break, its bytes and a line break";

function faultOf({ code, rawPacket }: ReadFault, head_bytes: number, else_detail: string): readonly [ProblemCode, string] {
  if (code === "HPE_HEADER_OVERFLOW") return ["headers_too_large", overflowOf(rawPacket, head_bytes)];
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return ["request_too_slow", "Cannot wait longer for this request"];
  return ["bad_request", else_detail];
}

/** For what wants a connection of its own, CONNECT, and gets none. Never rejects. */
export async function answerRaw(answer: Answer, incoming: IncomingMessage, socket: Duplex): Promise<void> {
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  try {
    await writeRaw(await answer(toRequest(incoming, openInlet(incoming).next), { request: () => toHead(incoming) }), socket);
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

/** Resolves when the answer is out. Never rejects: a connection that breaks is its client's matter, a fault of the app is answered by the app. */
export async function respond(answer: Answer, exchange: Omit<Outlet, "turn">): Promise<void> {
  const { incoming, outgoing, limits } = exchange;
  const { socket } = incoming;
  // A connection that breaks shows as `close` too.
  outgoing.on("error", () => undefined);
  const out = new Promise<void>((resolve) => void outgoing.once("finish", resolve).once("close", resolve));
  const turn = pending.get(socket)?.out ?? Promise.resolve();
  const inlet = openInlet(incoming);
  pending.set(socket, { incoming, inlet, out });
  try {
    await send(await answer(toRequest(incoming, inlet.next), { request: () => toHead(incoming) }), { ...exchange, turn }, inlet.next);
  } catch {
    // Only a broken stream gets here: what was sent cannot be taken back, so the client must see that it is not all.
    outgoing.destroy();
  }
  await turn;
  const stall = new Stall(limits.stall_ms, () => socket.destroy());
  stall.begin();
  await out;
  stall.end();
  if (pending.get(socket)?.out === out) pending.delete(socket);
}

/** Bun has a limit of its own on fields, above ours. What came before the last piece cannot be looked at any more. */
function overflowOf(piece: Uint8Array | undefined, head_bytes: number): string {
  const fields = piece?.reduce((lines, byte) => byte === 0x0a ? lines + 1 : lines, 0) ?? 0;
  if (fields > MOST_FIELDS) return TOO_MANY_FIELDS;
  if (piece !== undefined && piece.length > head_bytes) {
    return `Cannot read this request as its head has more than ${head_bytes / 1024} KiB`;
  }
  return `Cannot read this request as its head has more than ${head_bytes / 1024} KiB, or more than ${MOST_FIELDS} fields`;
}

/** What comes in behind a head. */
interface Inlet {
  readonly next: Chunks;
  /** Nothing more of it can be read. */
  fail(why: Problem): void;
}

function openInlet(incoming: IncomingMessage): Inlet {
  let chunks: AsyncIterator<Buffer> | null = null;
  const broken = Promise.withResolvers<never>();
  // Nobody may want to read it.
  broken.promise.catch(() => undefined);
  return {
    next: () => {
      chunks ??= incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
      return Promise.race([chunks.next(), broken.promise]);
    },
    fail: broken.reject,
  };
}

function toHead({ method = "", url = "", rawHeaders }: IncomingMessage): IncomingHead {
  const hosts = rawHeaders.filter((_each, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host");
  return { method, target: url, hosts, fields: rawHeaders.length / 2 };
}

/** A `Request` cannot have these on every host. Nothing answers them, nor OPTIONS, which they become: the app says so. */
const FORBIDDEN: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

function toRequest(incoming: IncomingMessage, chunks: Chunks): Request {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  const bodyless = method === "GET" || method === "HEAD" || FORBIDDEN.has(method);
  // The authority means nothing here: it is checked as the text of the request has it, and so is Host.
  const asked = `http://localhost${readTarget(url)?.path ?? "/"}`;
  const target = URL.canParse(asked) ? asked : "http://localhost/";
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
