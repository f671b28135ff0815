/**
 * One tool host as the worker thread sees it: started, ready, serving one call at a time, gone.
 * Its pipes are our own, so whatever the host platform makes of them is good enough.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import * as v from "valibot";
import { identifyChild } from "../platform/proc.ts";
import type { HostReply, ProcessIdentity } from "../session/launch.ts";
import { FrameReader, toFrame } from "./frames.ts";
import { tagEnvironment } from "./lineage.ts";
import { Capture } from "./output.ts";
import { FromHost, MAX_FRAME_BYTES, type ToHost } from "./wire.ts";

export interface ToolHost {
  readonly identity: ProcessIdentity;
  /** What its processes are known by. */
  readonly entry: string;
  /** Resolves when it can serve; rejects if it ends or its time is over before that. */
  readonly ready: Promise<void>;
  /** Resolves with the reason when it can serve no more. Its process may still live. */
  readonly gone: Promise<string>;
  readonly served: number;
  /** @throws {RangeError} if the call is too large to be handed over. Never resolves if the host goes. */
  call(message: ToHost): Promise<HostReply>;
}

export interface HostStart {
  readonly command: readonly string[];
  readonly lineage: { readonly value: string; readonly entry: string };
  readonly start_ms: number;
}

/** @throws {Error} if the program cannot be started at all. */
export function startToolHost(start: HostStart): ToolHost {
  const [program = "", ...args] = start.command;
  const env = tagEnvironment(baseEnvironment(), { lineage: start.lineage.value });
  // The root directory: nothing there can change how we start, and no workspace is held by a waiting host.
  const child = spawn(program, args, { cwd: "/", env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const pid = child.pid;
  if (pid === undefined) {
    child.on("error", () => {}); // The same news as the missing pid, a moment later.
    throw new Error(`Cannot start a tool host as ${JSON.stringify(program)} cannot be run`);
  }
  return watch(child, identifyChild(pid), start);
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** The variables without which programs and runtimes do not find themselves. Nothing of the user's, no keys. */
const BASE_VARIABLES = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "DENO_DIR"];

function baseEnvironment(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of BASE_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** Shown of what a host printed before it died. */
const SHOWN_BYTES = 2048;
/** After the exit, for an answer that is still in the pipe. */
const LAST_WORDS_MS = 100;

function watch(child: Child, identity: ProcessIdentity, start: HostStart): ToolHost {
  const ready = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<string>();
  const waiting = new Map<number, (reply: HostReply) => void>();
  let printed = new Capture(SHOWN_BYTES);
  let served = 0;
  const fail = (why: string) => {
    clearTimeout(timer);
    const said = printed.finish().text.trim();
    gone.resolve(said === "" ? why : `${why}. It printed: ${said}`);
    ready.reject(new Error(why));
  };
  const timer = setTimeout(() => fail(`it was not ready after ${start.start_ms} ms`), start.start_ms);
  ready.promise.then(() => clearTimeout(timer), () => {}); // Who waits for it is told of a failure; `gone` says it to the others.
  const receive = (frame: FromHost) => {
    if (frame.type === "ready") return ready.resolve();
    waiting.get(frame.id)?.(frame.reply);
    waiting.delete(frame.id);
  };
  child.stdout.on("data", readFrames(receive, (error) => fail(`it spoke out of turn: ${error.message}`)));
  child.stderr.on("data", (chunk: Uint8Array) => printed.push(chunk));
  watchEnd(child, fail);
  return {
    identity,
    entry: start.lineage.entry,
    ready: ready.promise,
    gone: gone.promise,
    get served() {
      return served;
    },
    call: (message) => {
      const frame = toFrame(message, MAX_FRAME_BYTES);
      const { promise, resolve } = Promise.withResolvers<HostReply>();
      served++;
      printed = new Capture(SHOWN_BYTES);
      waiting.set(message.id, resolve);
      child.stdin.write(frame);
      return promise;
    },
  };
}

function watchEnd(child: Child, fail: (why: string) => void): void {
  child.stdin.on("error", () => {}); // EPIPE: it has ended, which `exit` reports.
  child.on("error", (error) => fail(error.message));
  child.on("exit", (code, signal) => {
    const why = signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
    const late = setTimeout(() => fail(why), LAST_WORDS_MS);
    child.once("close", () => {
      clearTimeout(late);
      fail(why);
    });
  });
}

function readFrames(receive: (frame: FromHost) => void, fail: (error: Error) => void): (chunk: Uint8Array) => void {
  const reader = new FrameReader(MAX_FRAME_BYTES);
  return (chunk) => {
    try {
      for (const line of reader.push(chunk)) receive(v.parse(FromHost, JSON.parse(line)));
    } catch (error) {
      fail(error as Error);
    }
  };
}
