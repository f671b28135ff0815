/**
 * One tool host as the worker thread sees it: started, ready, serving one call at a time, gone.
 * Its pipes are our own, so whatever the host platform makes of them is good enough. Frames have a descriptor of their
 * own (FRAMES): what a tool prints, by whatever means, is print and nothing else.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import * as v from "valibot";
import { identifyChild } from "../platform/proc.ts";
import type { Json } from "../session/json.ts";
import type { HostReply, ProcessIdentity } from "../session/launch.ts";
import { LineReader, toFrame } from "./frames.ts";
import { baseEnvironment, tagEnvironment } from "./lineage.ts";
import { Capture, type StreamName } from "./output.ts";
import { FRAMES, FromHost, MAX_FRAME_BYTES, type ToHost } from "./wire.ts";

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
  readonly tags: { readonly lineage: string; readonly session?: string; readonly call?: string };
  /** The entry of the lineage that is its own. */
  readonly entry: string;
  readonly start_ms: number;
  /** Without it, the end of what is printed during a call is told with the reason of a failure. */
  onPrinted?(stream: StreamName, chunk: Uint8Array): void;
  onMessage?(message: Json, bytes: number): void;
}

/** @throws {Error} if the program cannot be started at all. */
export function startToolHost(start: HostStart): ToolHost {
  const [program = "", ...args] = start.command;
  const env = tagEnvironment(baseEnvironment(), start.tags);
  // The root directory: nothing there can change how we start, and no workspace is held by a waiting host.
  const child = spawn(program, args, { cwd: "/", env, detached: true, stdio: ["pipe", "pipe", "pipe", "pipe"] });
  const pid = child.pid;
  if (pid === undefined) {
    child.on("error", () => {}); // The same news as the missing pid, a moment later.
    throw new Error(`Cannot start a tool host as ${JSON.stringify(program)} cannot be run`);
  }
  return watch(child, identifyChild(pid), start);
}

/** Shown of what a host printed before it died. */
const SHOWN_BYTES = 2048;
/** After the exit, for an answer that is still in the pipe. */
const LAST_WORDS_MS = 100;

function watch(child: ChildProcess, identity: ProcessIdentity, start: HostStart): ToolHost {
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
  const receive = (frame: FromHost, bytes: number) => {
    switch (frame.type) {
      case "ready":
        return ready.resolve();
      case "message":
        return start.onMessage?.(frame.message, bytes);
      case "reply":
        waiting.get(frame.id)?.(frame.reply);
        return void waiting.delete(frame.id);
    }
  };
  const print = start.onPrinted ?? ((_stream, chunk) => printed.push(chunk));
  const input = child.stdin as Writable;
  (child.stdio[FRAMES] as Readable).on("data", readFrames(receive, (error) => fail(`it spoke out of turn: ${error.message}`)));
  for (const stream of ["stdout", "stderr"] as const) child[stream]?.on("data", (chunk: Uint8Array) => print(stream, chunk));
  watchEnd(child, input, fail);
  return {
    identity,
    entry: start.entry,
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
      input.write(frame);
      return promise;
    },
  };
}

function watchEnd(child: ChildProcess, input: Writable, fail: (why: string) => void): void {
  input.on("error", () => {}); // EPIPE: it has ended, which `exit` reports.
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

function readFrames(receive: (frame: FromHost, bytes: number) => void, fail: (error: Error) => void): (chunk: Uint8Array) => void {
  const reader = new LineReader(MAX_FRAME_BYTES);
  return (chunk) => {
    try {
      for (const line of reader.push(chunk)) receive(v.parse(FromHost, JSON.parse(line)), line.length);
    } catch (error) {
      fail(error as Error);
    }
  };
}
