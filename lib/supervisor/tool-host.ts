/**
 * One tool host as the worker thread sees it: started, ready, serving one call at a time, gone.
 * Frames have a descriptor of their own: what a tool prints, by whatever means, is print and nothing else.
 */
import * as v from "valibot";
import { identifyChild } from "../platform/proc.ts";
import type { ExitStatus } from "../platform/spawn.ts";
import { type HostProcess, spawnHost } from "../platform/spawn-host.ts";
import type { Json } from "../session/json.ts";
import type { HostReply, ProcessIdentity } from "../session/launch.ts";
import { LineReader, toFrame } from "./frames.ts";
import { baseEnvironment, tagEnvironment } from "./lineage.ts";
import { Capture, type StreamName } from "./output.ts";
import { readAll, within } from "./process.ts";
import { FromHost, type HostCall, MAX_FRAME_BYTES } from "./wire.ts";

/** Why a host can serve no more, and how its process ended, if that is why. */
export interface HostEnd {
  readonly why: string;
  readonly status: ExitStatus | null;
}

export interface ToolHost {
  readonly identity: ProcessIdentity;
  /** What its processes are known by. */
  readonly entry: string;
  /** Resolves when it can serve; rejects if it ends or its time is over before that. */
  readonly ready: Promise<void>;
  /** Resolves when it can serve no more. Its process may still live. */
  readonly gone: Promise<HostEnd>;
  readonly served: number;
  /** @throws {RangeError} if the call is too large to be handed over. Never resolves if the host goes. */
  call(message: HostCall): Promise<HostReply>;
  /** Has it do ahead what every call of a user's module needs. */
  prepare(): void;
}

export interface HostStart extends HostListener {
  readonly command: readonly string[];
  readonly tags: { readonly lineage: string; readonly session?: string; readonly call?: string };
  /** The entry of the lineage that is its own. */
  readonly entry: string;
  readonly start_ms: number;
  /** No frame from it is longer; absent: what our own tools may need. */
  readonly frame_bytes?: number;
}

/** Who is told of what a host prints and says. */
export interface HostListener {
  /** Without it, the end of what is printed during a call is told with the reason of a failure. */
  onPrinted?(stream: StreamName, chunk: Uint8Array): void;
  onMessage?(message: Json, bytes: number): void;
  /** It said something that was too long to be passed on. */
  onWithheld?(): void;
}

/** @throws {Error} if the program cannot be started at all. */
export function startToolHost(start: HostStart): ToolHost {
  const env = tagEnvironment(baseEnvironment(), start.tags);
  let child: HostProcess;
  try {
    child = spawnHost(start.command, env);
  } catch (error) {
    throw new Error(`Cannot start a tool host by ${JSON.stringify(start.command[0])}: ${(error as Error).message}`, { cause: error });
  }
  return watch(child, identifyChild(child.pid), start);
}

/** Shown of what a host printed before it died. */
const SHOWN_BYTES = 2048;
/** After the exit, for an answer that is still in the pipe. */
const LAST_WORDS_MS = 100;

function watch(child: HostProcess, identity: ProcessIdentity, start: HostStart): ToolHost {
  const ready = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<HostEnd>();
  const waiting = new Map<number, (reply: HostReply) => void>();
  let printed = new Capture(SHOWN_BYTES);
  let served = 0;
  const fail = (why: string, status: ExitStatus | null = null) => {
    clearTimeout(timer);
    const said = printed.finish().text.trim();
    gone.resolve({ why: said === "" ? why : `${why}. It printed: ${said}`, status });
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
      case "withheld":
        return start.onWithheld?.();
      case "reply":
        waiting.get(frame.id)?.(frame.reply);
        return void waiting.delete(frame.id);
    }
  };
  const print = start.onPrinted ?? ((_stream, chunk) => printed.push(chunk));
  const read = [
    readAll(
      child.frames,
      readFrames(new LineReader(start.frame_bytes ?? MAX_FRAME_BYTES), receive, (error) => fail(`it spoke out of turn: ${error.message}`)),
    ),
    readAll(child.stdout, (chunk) => print("stdout", chunk)),
    readAll(child.stderr, (chunk) => print("stderr", chunk)),
  ];
  void watchEnd(child, Promise.allSettled(read)).then((status) => fail(describeStatus(status), status));
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
      child.input.write(frame).catch(() => {}); // EPIPE: it has ended, which `gone` says.
      return promise;
    },
    prepare: () => {
      child.input.write(toFrame({ type: "prepare" }, MAX_FRAME_BYTES)).catch(() => {}); // As above.
    },
  };
}

/** How it ended, after the last of what it wrote. A read that fails is the end of that pipe. */
async function watchEnd(child: HostProcess, read: Promise<unknown>): Promise<ExitStatus> {
  const status = await child.exited;
  await within(read, LAST_WORDS_MS);
  child.input.end();
  await Promise.all([child.frames, child.stdout, child.stderr].map((pipe) => pipe.close()));
  return status;
}

function describeStatus(status: ExitStatus): string {
  return status.kind === "exited" ? `it exited with code ${status.code}` : `it was ended by ${status.signal}`;
}

function readFrames(
  reader: LineReader,
  receive: (frame: FromHost, bytes: number) => void,
  fail: (error: Error) => void,
): (chunk: Uint8Array) => void {
  return (chunk) => {
    try {
      for (const line of reader.push(chunk)) receive(v.parse(FromHost, JSON.parse(line)), line.length);
    } catch (error) {
      fail(error as Error);
    }
  };
}
