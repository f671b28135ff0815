/**
 * [child process] What a process of our own is talked with on: a pipe to us and one from us, on descriptors that no
 * program looks at by itself. Standard input is /dev/null, as that of any process that nobody types to.
 */
import { createReadStream } from "node:fs";
import process from "node:process";
import { bun } from "./host.ts";
import { bindLibrary } from "./libc.ts";

/** The descriptor that we answer on. */
export const ANSWERS = 3;
/** The descriptor that we are told things on. */
export const REQUESTS = 4;

/** What we are told, until the other end is closed. */
export function readRequests(): AsyncIterable<Uint8Array> {
  // Bun's own reader starts within 3 ms, where that of `node:fs` takes 30 (1.4.5).
  if (bun !== null) return bun.file(REQUESTS).stream();
  return createReadStream("", { fd: REQUESTS, autoClose: false }) as AsyncIterable<Uint8Array>;
}

/**
 * No process that is started from now on gets either of them: it could write in our name, or keep the conversation open.
 * Bun gives a child its standard streams only; Deno (2.9.6) gives it whatever is not marked.
 * @throws {Error} if they cannot be marked.
 */
export function keepToOurselves(): void {
  if (bun !== null) return;
  const library = bindLibrary({ ioctl: ["i32", "u64"] });
  if (library.kind === "unbound") throw new Error(`Cannot keep descriptors from the processes of a tool as ${library.problem}`);
  const request = process.platform === "darwin" ? FIOCLEX_ON_MAC : FIOCLEX;
  for (const descriptor of [ANSWERS, REQUESTS]) library.calls.ioctl(descriptor, request);
}

/** Marks a descriptor close-on-exec, and takes no third argument, which FFI could not pass to a variadic function everywhere. */
const FIOCLEX = 0x5451;
const FIOCLEX_ON_MAC = 0x20006601;
