/**
 * A session's events, recorded then live, across cuts: after one it goes on behind the last recorded event, so every
 * one comes once, in order. What is live then is told as a whole, and those who listen are told of the cut.
 */
import { type Api, Refusal } from "./api.ts";
import { type Frame, isRecorded } from "./wire.ts";

export type Link = "connecting" | "open" | "cut" | "gone";

export interface Follower {
  /** What came in one piece. */
  take(frames: readonly Frame[]): void;
  link(state: Link): void;
}

/** The server sends something every 8 s: a connection that is silent for so long is dead. */
const SILENT_MS = 25_000;
const WAITS_MS = [300, 1000, 2000, 4000];
/** A browser opens six connections to one server, for all its tabs: one that nobody looks at gives its own back. */
const HIDDEN_MS = 60_000;

export async function follow(api: Api, session: string, follower: Follower, signal: AbortSignal): Promise<void> {
  let last = 0;
  for (let failures = 0; !signal.aborted;) {
    await inSight(signal);
    follower.link(failures === 0 ? "connecting" : "cut");
    try {
      for await (const frames of readFrames(api, `v1/sessions/${session}/events?after=${last}`, signal)) {
        if (signal.aborted) return;
        failures = 0;
        follower.link("open");
        for (const frame of frames) last = isRecorded(frame) ? frame.seq : frame.type === "reset" ? 0 : last;
        follower.take(frames);
        if (frames.some((frame) => frame.type === "reset" && frame.reason === "removed")) return follower.link("gone");
      }
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) return;
      if (error instanceof Refusal && error.status === 404) return follower.link("gone");
      // Anything else is a cut: the network, the server's end, or a refusal that may pass (429, 503).
    }
    if (signal.aborted) return;
    follower.link("cut");
    await pause(WAITS_MS[Math.min(failures++, WAITS_MS.length - 1)] ?? 0, signal);
  }
}

async function* readFrames(api: Api, path: string, outer: AbortSignal): AsyncGenerator<readonly Frame[], void> {
  const cut = new AbortController();
  const signal = AbortSignal.any([outer, cut.signal]);
  let timer = setTimeout(() => cut.abort(), SILENT_MS);
  const rested = restWhenHidden(cut);
  try {
    const response = await api.ask(path, { headers: { accept: "application/x-ndjson" }, signal, cache: "no-store" });
    yield [];
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const lines = new Lines();
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true, value: undefined };
      if (done || value === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => cut.abort(), SILENT_MS);
      const frames = lines.take(value);
      if (frames.length > 0) yield frames;
    }
  } finally {
    clearTimeout(timer);
    rested();
    cut.abort();
  }
}

/** Aborts when the page was out of sight for long; the returned function ends that. */
function restWhenHidden(cut: AbortController): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(() => cut.abort(), HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Resolves as soon as somebody looks at the page. */
function inSight(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === "visible") return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.visibilityState === "hidden" && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/** A line may come in many pieces: they are joined once, when its end is there. */
export class Lines {
  #pieces: string[] = [];

  take(text: string): readonly Frame[] {
    const parts = text.split("\n");
    const rest = parts.pop() ?? "";
    if (parts.length > 0) {
      parts[0] = [...this.#pieces, parts[0]].join("");
      this.#pieces = [];
    }
    if (rest !== "") this.#pieces.push(rest);
    return parts.filter((line) => line !== "").map((line) => JSON.parse(line) as Frame);
  }
}

/** Cut short when the browser says that the network is back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
