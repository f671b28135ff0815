/**
 * [worker thread] What a call writes, passed on while it writes.
 *
 * L1  It goes on for as long as the call does. Bounded is not how much, but how much at once and per time, and what is held.
 * L2  Of what is too much the newest is shown, and a line in its place says how many bytes are not.
 * L3  Every piece is whole characters: one that is still to be completed waits.
 */
import { headBorder, liveOmissionMarker, tailBorder } from "../session/excerpt.ts";
import { type OutputSink, Ring, type StreamName } from "./output.ts";

/** Pieces are put together for so long. */
const INTERVAL_MS = 50;
/** At once, of both streams together. */
const BURST_BYTES = 64 * 1024;
/** And then 16 KiB a second, more than anybody reads. */
const BYTES_PER_MS = 16 * 1024 / 1000;
/** While there is too much it comes in pieces of this, so that it is more output than lines about what is missing. */
const PIECE_BYTES = 4096;

export class LiveOutput {
  readonly #sink: OutputSink;
  readonly #waiting: Readonly<Record<StreamName, Ring>> = { stdout: new Ring(BURST_BYTES), stderr: new Ring(BURST_BYTES) };
  #timer: ReturnType<typeof setTimeout> | null = null;
  #budget = BURST_BYTES;
  #refilled = performance.now();
  #closed = false;

  constructor(sink: OutputSink) {
    this.#sink = sink;
  }

  push(stream: StreamName, chunk: Uint8Array): void {
    if (this.#closed) return;
    this.#waiting[stream].push(chunk);
    this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS);
  }

  /** Passes on the end of what is waiting. Nothing comes after it. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#closed = true;
    this.#refill();
    this.#show(Math.max(this.#budget, PIECE_BYTES));
  }

  #flush(): void {
    this.#timer = null;
    this.#refill();
    const { stdout, stderr } = this.#waiting;
    const missing = Math.min(stdout.length + stderr.length, PIECE_BYTES) - this.#budget;
    if (missing <= 0) return this.#show(this.#budget);
    this.#timer = setTimeout(() => this.#flush(), Math.max(INTERVAL_MS, missing / BYTES_PER_MS));
  }

  #refill(): void {
    const now = performance.now();
    this.#budget = Math.min(BURST_BYTES, this.#budget + (now - this.#refilled) * BYTES_PER_MS);
    this.#refilled = now;
  }

  /** Neither stream takes more than half of it from the other. */
  #show(budget: number): void {
    const { stdout, stderr } = this.#waiting;
    const most = Math.floor(budget);
    const share = Math.min(stdout.length, Math.max(most - stderr.length, Math.floor(most / 2)));
    this.#showStream("stdout", share);
    this.#showStream("stderr", most - share);
  }

  /** L2, L3. */
  #showStream(stream: StreamName, most: number): void {
    const { bytes, lost } = this.#waiting[stream].take();
    const over = Math.max(0, bytes.length - most);
    const from = over + lost > 0 ? tailBorder(bytes, over) : 0;
    const to = this.#closed ? bytes.length : Math.max(from, headBorder(bytes, bytes.length));
    this.#waiting[stream].push(bytes.subarray(to));
    this.#budget -= to - from;
    const note = from + lost > 0 ? `\n${liveOmissionMarker(from + lost)}\n` : "";
    const text = note + new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(from, to));
    if (text !== "") this.#sink(stream, text);
  }
}
