/**
 * Starting one process, the same on both hosts: leader of its own session and group, standard output and error real
 * pipes, standard input a file, a pipe that stays open, or /dev/null, nothing else inherited, and every way to fail one `SpawnFailure`.
 */
import { Buffer } from "node:buffer";
import { closeSync } from "node:fs";
import { bun, type BunChild, type BunHost, deno, type DenoChild, type DenoHost } from "./host.ts";
import { openInput } from "./input-file.ts";
import { type InputPipe, type OutputPipe, readDescriptor, toOutputPipe, writeDescriptor } from "./pipe-ends.ts";
import { closePipe, openPipe, type Pipe } from "./pipes.ts";

export interface SpawnRequest {
  /** An absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Null: /dev/null. */
  readonly stdin: string | null | typeof OPEN_INPUT;
}

/** Standard input is a pipe that is written to while the process lives. */
export const OPEN_INPUT: unique symbol = Symbol("open input");

export interface SpawnedProcess {
  readonly pid: number;
  /** Resolves when the process itself has ended, whoever still holds its pipes. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  /** Only for `OPEN_INPUT`. */
  readonly input: InputPipe | null;
  /** Lets go of standard input, if some of it was never read. */
  releaseInput(): void;
}

export type ExitStatus =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signalled"; readonly signal: string };

/** The process was not started. `code`: as the system names it (ENOENT, EACCES, E2BIG, ETXTBSY, …). */
export class SpawnFailure extends Error {
  override readonly name = "SpawnFailure";
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** @throws {SpawnFailure} */
export function spawnProcess(request: SpawnRequest): SpawnedProcess {
  try {
    if (bun !== null) return spawnOnBun(bun, request);
    if (deno !== null) return spawnOnDeno(deno, request);
  } catch (error) {
    throw toFailure(error);
  }
  throw new SpawnFailure("ENOSYS", "Cannot start processes: this is neither Bun nor Deno", null);
}

function spawnOnBun(host: BunHost, request: SpawnRequest): SpawnedProcess {
  const pipes: Pipe[] = [];
  let file: number | null = null;
  try {
    if (typeof request.stdin === "string") file = openInput(request.stdin);
    const conversation = request.stdin === OPEN_INPUT ? openPipe() : null;
    if (conversation !== null) pipes.push(conversation);
    const stdout = openPipe();
    pipes.push(stdout);
    const stderr = openPipe();
    pipes.push(stderr);
    const child = startOnBun(host, request, [conversation?.read ?? file ?? "ignore", stdout.write, stderr.write]);
    closeSync(stdout.write);
    closeSync(stderr.write);
    if (conversation !== null) closeSync(conversation.read);
    return {
      pid: child.pid,
      exited: child.exited.then(() => statusOnBun(child)),
      stdout: readDescriptor(host, stdout.read),
      stderr: readDescriptor(host, stderr.read),
      input: conversation === null ? null : writeDescriptor(host, conversation.write),
      releaseInput: () => {},
    };
  } catch (error) {
    pipes.forEach(closePipe);
    throw error;
  } finally {
    if (file !== null) closeSync(file);
  }
}

type BunStdio = readonly [number | "ignore", number, number];

/** Bun gives up at a script without `#!`; a shell and Deno run it with /bin/sh, as POSIX says of execvp. */
function startOnBun(host: BunHost, request: SpawnRequest, stdio: BunStdio): BunChild {
  const options = { cwd: request.cwd, env: request.env, detached: true, stdio };
  try {
    return host.spawn([request.program, ...request.args], options);
  } catch (error) {
    if (toFailure(error).code !== "ENOEXEC") throw error;
    return host.spawn(["/bin/sh", request.program, ...request.args], options);
  }
}

export function statusOnBun(child: BunChild): ExitStatus {
  if (child.signalCode !== null) return { kind: "signalled", signal: signalName(child.signalCode) };
  return { kind: "exited", code: child.exitCode ?? 0 };
}

function spawnOnDeno(host: DenoHost, request: SpawnRequest): SpawnedProcess {
  const child = new host.Command(request.program, {
    args: request.args,
    cwd: request.cwd,
    env: request.env,
    clearEnv: true,
    detached: true,
    stdin: request.stdin === null ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const { stdin } = request;
  return {
    pid: child.pid,
    exited: statusOnDeno(child),
    stdout: toOutputPipe(child.stdout.getReader(), () => {}),
    stderr: toOutputPipe(child.stderr.getReader(), () => {}),
    input: stdin === OPEN_INPUT ? writeStream(child.stdin) : null,
    releaseInput: typeof stdin === "string" ? writeInput(child.stdin, stdin) : () => {},
  };
}

function writeStream(stream: WritableStream<Uint8Array>): InputPipe {
  const writer = stream.getWriter();
  return {
    write: (bytes) => writer.write(bytes),
    end: () => void writer.close().catch(() => {}), // EPIPE: there is nobody to be told.
  };
}

/** Deno 2.9.6 rejects for a real-time signal with "Invalid signal: 35" instead of naming it. */
async function statusOnDeno(child: DenoChild): Promise<ExitStatus> {
  try {
    const { code, signal } = await child.status;
    return signal === null ? { kind: "exited", code } : { kind: "signalled", signal };
  } catch (error) {
    const number = /\d+/.exec((error as Error).message)?.[0];
    return { kind: "signalled", signal: signalName(number === undefined ? "unknown" : Number(number)) };
  }
}

/** Writes beside everything else: a process that does not read must not hold us. */
function writeInput(stream: WritableStream<Uint8Array>, text: string): () => void {
  const writer = stream.getWriter();
  // A process may end or close its input before it has read it all (EPIPE). That is its right and no part of the outcome.
  const ignore = () => {};
  writer.write(Buffer.from(text)).then(() => writer.close()).catch(ignore);
  return () => void writer.abort().catch(ignore);
}

/** glibc's numbering; a number below it without a name does not occur. */
const SIGRTMIN = 34;

function signalName(signal: string | number): string {
  return typeof signal === "string" ? signal : `SIGRTMIN+${signal - SIGRTMIN}`;
}

function toFailure(error: unknown): SpawnFailure {
  if (error instanceof SpawnFailure) return error;
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown };
  const text = String(message ?? error);
  if (name === "NotCapable") return new SpawnFailure("EPERM", `Deno may not run it: ${text}. Start Deno with -A`, error);
  if (typeof code === "string") return new SpawnFailure(code, text, error);
  return new SpawnFailure(/os error 26/.test(text) ? "ETXTBSY" : "UNKNOWN", text, error);
}
