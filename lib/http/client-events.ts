/**
 * A session's events over as many connections as it takes. Promise P8, from the client's side.
 *
 * E1  Every durable event behind the cursor comes once and in order: the next connection is asked for what follows the
 *     last one seen, what was seen is dropped, and a gap is a connection that broke.
 * E2  A connection in which nothing comes, not even a heartbeat, is given up.
 * E3  What waiting does not mend is thrown: an answer that says that the request is at fault.
 */
import type { SessionEvent } from "../session/event.ts";
import type { LiveEvent } from "../session/live.ts";

/**
 * What a session's followers get, as the server sends it. A newer server may send types that are not among these.
 *
 * Live events are passed on as they come: behind each `connected` those with `whole` say what is live by then, and take the
 * place of what was told before. The client keeps no text of its own that it could be laid over.
 */
export type ClientEvent =
  /** Of the client itself: a connection stands, and what is behind `after` follows. After a restart look at the session's status. */
  | { readonly type: "connected"; readonly after: number }
  | SessionEvent
  | LiveEvent
  /** A row of the log that cannot be read, in its place. */
  | { readonly type: "damaged"; readonly session: string; readonly seq: number; readonly reason: string; readonly text: string }
  /**
   * `ahead`: the log is shorter than the cursor, forget what you had: it follows from its beginning. `removed`: there is no
   * more. `after`: the cursor; null if that was no number of an event.
   */
  | { readonly type: "reset"; readonly reason: "ahead" | "removed"; readonly after: number | null; readonly head: number };

/** The JSON lines behind this event. */
export type Connect = (after: number, signal: AbortSignal) => Promise<ReadableStream<Uint8Array> | null>;

/** The server's heartbeat comes every 8 seconds. */
const QUIET_MS = 25_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

export async function* followEvents(connect: Connect, after: number, signal: AbortSignal): AsyncGenerator<ClientEvent, void> {
  let last = after;
  for (let pause_ms = FIRST_PAUSE_MS; !signal.aborted; pause_ms = Math.min(pause_ms * 2, LONGEST_PAUSE_MS)) {
    let asked_ms = 0;
    try {
      for await (const event of readConnection(connect, last, signal)) {
        if (event.type !== "connected") pause_ms = FIRST_PAUSE_MS / 2;
        if (event.type === "heartbeat") continue;
        if (event.type === "reset") {
          yield event;
          if (event.reason === "removed") return;
          last = 0;
        } else if ("seq" in event) {
          if (event.seq <= last) continue;
          if (event.seq !== last + 1) break;
          last = event.seq;
          yield event;
        } else yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      asked_ms = waitAfter(error);
    }
    await sleep(Math.max(asked_ms, pause_ms * (0.5 + Math.random())), signal);
  }
}

/** How long at least to wait before the next try. @throws the error, if no try would be better. */
function waitAfter(error: unknown): number {
  // Any other error is of the connection. The client's own class is not imported: this file knows no operation.
  if (typeof error !== "object" || error === null || !("status" in error) || typeof error.status !== "number") return 0;
  if (error.status < 500 && error.status !== 408 && error.status !== 429) throw error;
  return "retry_after_ms" in error && typeof error.retry_after_ms === "number" ? Math.min(error.retry_after_ms, LONGEST_PAUSE_MS) : 0;
}

type Received = ClientEvent | { readonly type: "heartbeat" };

async function* readConnection(connect: Connect, after: number, signal: AbortSignal): AsyncGenerator<Received, void> {
  const giveUp = new AbortController();
  const watch = new Watch(() => giveUp.abort(new Error("Nothing came, not even a heartbeat")));
  try {
    const body = await connect(after, AbortSignal.any([signal, giveUp.signal]));
    if (body === null) return;
    yield { type: "connected", after };
    for await (const line of readLines(body, () => watch.restart())) yield JSON.parse(line) as Received;
  } finally {
    watch.stop();
    // Whoever leaves the loop leaves the connection.
    giveUp.abort();
  }
}

/** Complete lines only: what a broken connection began does not count. */
async function* readLines(body: ReadableStream<Uint8Array>, seen: () => void): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let begun = "";;) {
      const { done, value } = await reader.read();
      if (done) return;
      seen();
      const lines = decoder.decode(value, { stream: true }).split("\n");
      lines[0] = begun + (lines[0] ?? "");
      begun = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    // A connection that broke cannot be cancelled any more.
    reader.cancel().catch(() => undefined);
  }
}

class Watch {
  readonly #late: () => void;
  #timer: ReturnType<typeof setTimeout>;

  constructor(late: () => void) {
    this.#late = late;
    this.#timer = setTimeout(late, QUIET_MS);
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#late, QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Shorter when the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
  });
}
