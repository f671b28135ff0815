/**
 * Peers that are gone without a word: a network that went down, a machine without power. A stream to one of them looks
 * as if it were taken, as what is written waits in the kernel, which tries for a quarter of an hour. Linux tells in a
 * table how often it has tried; elsewhere TCP's own time counts.
 */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import process from "node:process";

/** With pauses that double from 0.2 s: between 13 and 30 seconds after the first byte that nobody acknowledged. */
const TRIES = 6;
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

export interface PeerWatch {
  /** Ends the connection when its peer is gone. Call what is returned when nobody need look any more. */
  watch(socket: Socket): () => void;
  start(port: number): void;
  stop(): void;
}

export function watchPeers(every_ms: number, readTables: () => Promise<string> = readKernelTables): PeerWatch {
  const watched = new Set<Socket>();
  let timer: ReturnType<typeof setInterval> | undefined;
  const look = async (port: number) => {
    if (watched.size === 0) return;
    const gone = gonePeers(await readTables(), port);
    for (const socket of watched) if (gone.has(nameOf(socket.remoteAddress, socket.remotePort))) socket.destroy();
  };
  return {
    watch: (socket) => {
      watched.add(socket);
      return () => void watched.delete(socket);
    },
    start: (port) => {
      timer = setInterval(() => {
        look(port).catch(() => {
          // No such table here: nobody can tell.
        });
      }, every_ms);
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}

/** The peers of connections to our port that have acknowledged nothing in `TRIES` tries, as `address port`. */
export function gonePeers(tables: string, port: number): ReadonlySet<string> {
  const gone = new Set<string>();
  for (const line of tables.split("\n")) {
    const [, local = "", remote = "", , , , tries = ""] = line.trim().split(/\s+/);
    if (Number.parseInt(local.split(":")[1] ?? "", 16) !== port || !(Number.parseInt(tries, 16) >= TRIES)) continue;
    const [address = "", remotePort = ""] = remote.split(":");
    gone.add(nameOf(toAddress(address), Number.parseInt(remotePort, 16)));
  }
  return gone;
}

/** The kernel writes addresses as words in its own order of bytes. */
function toAddress(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).reverse());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join(".");
  return (bytes.join("").match(/.{4}/g) ?? []).join(":");
}

function nameOf(address: string | undefined, port: number | undefined): string {
  const plain = (address ?? "").replace(/%.*$/, "").toLowerCase();
  const long = plain.includes(":") ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain;
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(long);
  if (mapped === null) return `${long} ${port}`;
  const words = [mapped[1], mapped[2]].map((word) => Number.parseInt(word ?? "", 16));
  return `${words.flatMap((word) => [word >> 8, word & 255]).join(".")} ${port}`;
}

async function readKernelTables(): Promise<string> {
  if (process.platform !== "linux") return "";
  return (await Promise.all(TABLES.map((path) => readFile(path, "latin1").catch(() => "")))).join("\n");
}
