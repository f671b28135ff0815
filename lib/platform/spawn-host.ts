/**
 * A process of our own that is talked with on two descriptors of its own (`channel.ts`), which nothing that it prints or
 * reads can reach. Its outputs are pipes to us, its standard input /dev/null. Leader of its own session and group, in the
 * root directory.
 *
 * Not by way of `node:child_process` on Bun, whose first process costs 17 ms of the thread that starts it (1.4.5). On
 * Deno (2.9.6) there is no other way to a further descriptor.
 */
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { Readable, type Writable } from "node:stream";
import type { ByteReader } from "./byte-reader.ts";
import { REQUESTS } from "./channel.ts";
import { bun, type BunHost } from "./host.ts";
import { type InputPipe, type OutputPipe, readDescriptor, toOutputPipe, writeDescriptor } from "./pipe-ends.ts";
import { closePipe, openPipe, type Pipe } from "./pipes.ts";
import { type ExitStatus, statusOnBun } from "./spawn.ts";

export interface HostProcess {
  readonly pid: number;
  /** Resolves when the process itself has ended, whoever still holds its pipes. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  readonly input: InputPipe;
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  readonly frames: OutputPipe;
}

/** @throws {Error} if the program cannot be started at all. */
export function spawnHost(command: readonly string[], env: Readonly<Record<string, string>>): HostProcess {
  return bun === null ? spawnOnDeno(command, env) : spawnOnBun(bun, command, env);
}

/** Nothing there can change how a host starts, and no workspace is held by one that waits. */
const FOLDER = "/";

function spawnOnBun(host: BunHost, command: readonly string[], env: Readonly<Record<string, string>>): HostProcess {
  const pipes: Pipe[] = [];
  const pipe = () => {
    const made = openPipe();
    pipes.push(made);
    return made;
  };
  try {
    const [input, stdout, stderr, frames] = [pipe(), pipe(), pipe(), pipe()];
    const theirs = [stdout.write, stderr.write, frames.write, input.read] as const;
    const child = host.spawn(command, { cwd: FOLDER, env, detached: true, stdio: ["ignore", ...theirs] });
    for (const descriptor of theirs) closeSync(descriptor);
    return {
      pid: child.pid,
      exited: child.exited.then(() => statusOnBun(child)),
      input: writeDescriptor(host, input.write),
      stdout: readDescriptor(host, stdout.read),
      stderr: readDescriptor(host, stderr.read),
      frames: readDescriptor(host, frames.read),
    };
  } catch (error) {
    pipes.forEach(closePipe);
    throw error;
  }
}

function spawnOnDeno([program = "", ...args]: readonly string[], env: Readonly<Record<string, string>>): HostProcess {
  const child = spawn(program, args, { cwd: FOLDER, env, detached: true, stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"] });
  const { pid } = child;
  if (pid === undefined) {
    child.on("error", () => {}); // The same news as the missing pid, a moment later.
    throw new Error(`${JSON.stringify(program)} cannot be run`);
  }
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal === null ? { kind: "exited", code: code ?? 0 } : { kind: "signalled", signal }));
  });
  const read = (stream: unknown) => toOutputPipe(Readable.toWeb(stream as Readable).getReader() as ByteReader, () => {});
  const [, stdout, stderr, frames] = child.stdio;
  const input = child.stdio[REQUESTS] as Writable;
  input.on("error", () => {}); // EPIPE: it has ended, which `exited` says.
  return { pid, exited, input: writeStream(input), stdout: read(stdout), stderr: read(stderr), frames: read(frames) };
}

function writeStream(stream: Writable): InputPipe {
  return {
    write: (bytes) => new Promise((resolve, reject) => stream.write(bytes, (error) => error ? reject(error) : resolve())),
    end: () => void stream.end(),
  };
}
