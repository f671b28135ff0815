/** Runs the command line as a process: the compiled binary or the source, whichever the environment names. */
import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import process from "node:process";
import { ownCommand } from "../../lib/platform/self.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Start {
  readonly cwd?: string;
  /** On top of a bare environment: PATH, and what `home` implies. */
  readonly env?: Readonly<Record<string, string>>;
  /** Holds settings and journal. */
  readonly home: string;
  /** Standard input; without it, it is empty. */
  readonly input?: string | Uint8Array;
  /** Standard input stays open and nothing is written to it. */
  readonly open?: boolean;
  /** A program that executes its arguments. */
  readonly through?: readonly string[];
  /** A descriptor that standard output goes to instead of to us. */
  readonly stdout?: number;
}

/** `ORRERY_COMMAND` (a JSON list), else `ORRERY_BINARY`, else the source on this host. */
export function orreryCommand(): readonly string[] {
  const { ORRERY_COMMAND: command, ORRERY_BINARY: binary } = process.env;
  if (command !== undefined) return JSON.parse(command) as readonly string[];
  return binary === undefined ? ownCommand() : [resolve(binary)];
}

/** It runs on Deno, from source. */
export const onDeno = orreryCommand()[0]?.endsWith("/deno") === true;

/** It is started as `bun main.ts`, and Bun does things of its own before. */
export const isSourceOnBun = orreryCommand()[0] === process.execPath && process.versions["bun"] !== undefined;

export function startOrrery(args: readonly string[], { cwd, env, home, input, open, through = [], stdout }: Start): ChildProcess {
  const [program = "", ...before] = [...through, ...orreryCommand()];
  const child = spawn(program, [...before, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ORRERY_HOME: home, DENO_NO_UPDATE_CHECK: "1", ...env },
    stdio: ["pipe", stdout ?? "pipe", "pipe"],
  });
  // A command that does not read its input may end before it was written.
  child.stdin?.on("error", () => undefined);
  if (open !== true) child.stdin?.end(input ?? "");
  return child;
}

export async function runOrrery(args: readonly string[], start: Start): Promise<Ended> {
  return await ended(startOrrery(args, start));
}

/** Not `child.kill`: on Deno 2.9 that takes the child for dead, whatever it does about the signal. */
export function signal(child: ChildProcess, name: "SIGINT" | "SIGTERM" | "SIGKILL"): void {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(child.pid, name);
}

/** Resolves when it has said this on standard error. */
export async function says(child: ChildProcess, text: string): Promise<void> {
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (chunk: string | Uint8Array) => {
      said += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      if (said.includes(text)) resolve();
    });
    child.once("close", () => reject(new Error(`It ended without saying "${text}": ${said}`)));
  });
}

/** Sends a signal that is answered by word; resolves when it has been. */
export async function signalHeard(child: ChildProcess, name: "SIGINT" | "SIGTERM", pid = child.pid): Promise<void> {
  const heard = says(child, "once more to stop at once");
  if (pid !== undefined) process.kill(pid, name);
  await heard;
}

/** All that it printed, and how it ended. */
export async function ended(child: ChildProcess): Promise<Ended> {
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const [code, signal] = await new Promise<[number | null, string | null]>((settle, fail) => {
    child.once("error", fail);
    child.once("close", (code, signal) => settle([code, signal]));
  });
  return { code, signal, stdout: stdout(), stderr: stderr() };
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (chunk: string) => void (text += chunk));
  return () => text;
}
