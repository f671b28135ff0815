/**
 * The listening socket, on `node:http`: of what both hosts have it alone shows the request's own target and every Host
 * header, times out slow heads, says how much of an answer is not yet taken, and can end one connection.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type Answer, answerRaw, refuseUnread, respond } from "./exchange.ts";
import { watchPeers } from "./peers.ts";
import type { SendLimits } from "./sending.ts";
import { Unsent } from "./unsent.ts";

export interface Listener {
  readonly port: number;
  readonly address: string;
  /** No new connections; those that are open have `grace_ms` for their answers. */
  close(grace_ms: number): Promise<void>;
}

export interface ListenLimits extends SendLimits {
  readonly head_ms: number;
  readonly request_ms: number;
  /** Of a connection between two requests. */
  readonly idle_ms: number;
  /** How often the times above are looked at. */
  readonly check_ms: number;
  readonly head_bytes: number;
  readonly connections: number;
  /** Of answers that are not taken, on all connections. */
  readonly unsent_bytes: number;
  /** Nobody who took something within this time is given up for them. */
  readonly unsent_ms: number;
  /** How often streams are looked at for peers that are gone. */
  readonly peers_ms: number;
}

export const LIMITS: ListenLimits = {
  // Looked at as often as `check_ms` says, so before Bun closes the connection by itself, after 8 to 12 s and without an answer.
  head_ms: 5000,
  request_ms: 60_000,
  idle_ms: 30_000,
  check_ms: 1000,
  head_bytes: 16 * 1024,
  connections: 2048,
  linger_bytes: 16 * 1024 * 1024,
  linger_ms: 2000,
  stall_ms: 20_000,
  unsent_bytes: 256 * 1024 * 1024,
  unsent_ms: 1000,
  peers_ms: 5000,
};

export interface Place {
  readonly host: string;
  readonly port: number;
  readonly limits?: Partial<ListenLimits>;
}

/** @throws {Error} with `code` EADDRINUSE, EACCES or the like. */
export async function listen(answer: Answer, where: Place): Promise<Listener> {
  const limits = { ...LIMITS, ...where.limits };
  const options = {
    headersTimeout: limits.head_ms,
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.idle_ms,
    connectionsCheckingInterval: limits.check_ms,
    maxHeaderSize: limits.head_bytes,
    // The app says itself what is wrong with a request without one.
    requireHostHeader: false,
  };
  const answers = new Set<Promise<void>>();
  const peers = watchPeers(limits.peers_ms);
  const unsent = new Unsent(limits.unsent_bytes, limits.unsent_ms);
  const take = (ask: Answer) => (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const answered = respond(ask, { incoming, outgoing, limits, peers, unsent }).finally(() => answers.delete(answered));
    answers.add(answered);
  };
  const server = createServer(options, take(answer));
  // Without these the host has an answer of its own, or none.
  server.on("checkExpectation", take(answer));
  server.on("connect", (incoming: IncomingMessage, socket: Duplex) => {
    const answered = answerRaw(answer, incoming, socket).finally(() => answers.delete(answered));
    answers.add(answered);
  });
  server.on("clientError", (error: Error, socket: Duplex) => refuseUnread(error, socket, limits.head_bytes));
  boundConnections(server, limits.connections);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(where.port, where.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port, address } = server.address() as AddressInfo;
  peers.start(port);
  return {
    port,
    address,
    close: async (grace_ms) => {
      await closeServer(server, answers, grace_ms);
      peers.stop();
    },
  };
}

/** Not left to `maxConnections`: Bun 1.4.5 takes any number. It tells of a connection when something has come on it. */
function boundConnections(server: Server, most: number): void {
  const open = new Set<Duplex>();
  server.on("connection", (socket) => {
    if (open.size >= most) return void socket.destroy();
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
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
