/**
 * What a process writes: one capture per stream, and the live view of both.
 *
 * O1  Memory is bounded by the cap, whatever comes: the first bytes and the last are kept, the rest is counted. What is
 *     of use only as a whole may have more room, and gives it back as soon as there is no whole any more.
 * O2  Bytes are kept as bytes and decoded once, at the end, so no character is broken by where a chunk ended. NUL stays.
 * O3  The live view is coalesced and capped for the whole call; it says where it ends.
 */
import type { Captured } from "../session/launch.ts";
import { cutBytes, divideCap } from "../session/excerpt.ts";

export class Capture {
  readonly #cap: number;
  readonly #whole: number;
  readonly #first: Grower;
  readonly #last: Ring;
  #bytes = 0;

  /** @param whole_bytes up to this it is kept whole, if that is more than the cap */
  constructor(cap_bytes: number, whole_bytes = 0) {
    this.#cap = limited(cap_bytes);
    this.#whole = Math.max(this.#cap, limited(whole_bytes));
    this.#first = new Grower(this.#whole);
    this.#last = new Ring(divideCap(this.#cap).tail);
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    const taken = this.#first.push(chunk);
    if (taken === chunk.length) return;
    if (this.#first.limit > this.#cap) this.#first.shorten(this.#cap, (rest) => this.#last.push(rest));
    this.#last.push(taken === 0 ? chunk : chunk.subarray(taken));
  }

  finish(): Captured {
    const first = this.#first.bytes();
    const last = this.#bytes > first.length ? this.#lastBytes(first) : first;
    return cutBytes(first, last, this.#bytes, this.#bytes > this.#whole ? this.#cap : this.#whole);
  }

  /** The ring holds only what did not fit in the beginning: the end may reach back into it. */
  #lastBytes(first: Uint8Array): Uint8Array {
    const ring = this.#last.bytes();
    const missing = divideCap(this.#cap).tail - ring.length;
    if (missing <= 0) return ring;
    const joined = new Uint8Array(missing + ring.length);
    joined.set(first.subarray(first.length - missing));
    joined.set(ring, missing);
    return joined;
  }
}

/** No caller needs more, and a cap that is not one would break O1. */
const MAX_CAP = 64 * 1024 * 1024;

function limited(cap_bytes: number): number {
  return Math.max(0, Math.min(Math.floor(cap_bytes), MAX_CAP));
}

/** The first bytes, up to a limit; grows as they come. What it no longer needs is freed at once, not when it is collected. */
class Grower {
  #limit: number;
  #buffer = new Uint8Array(0);
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  /** How many bytes of the chunk were taken. */
  push(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, this.#limit - this.#length);
    if (taken === 0) return 0;
    this.#reserve(this.#length + taken);
    this.#buffer.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), this.#length);
    this.#length += taken;
    return taken;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Lowers the limit, after whoever wants it has seen what was beyond. */
  shorten(limit: number, show: (rest: Uint8Array) => void): void {
    show(this.#buffer.subarray(limit, this.#length));
    this.#limit = limit;
    this.#length = Math.min(this.#length, limit);
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(this.#length));
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const size = Math.min(this.#limit, Math.max(length, this.#buffer.length * 2));
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(size));
  }
}

/** The last bytes. Its memory is taken when the first byte comes. */
class Ring {
  readonly #size: number;
  #buffer: Uint8Array | null = null;
  #written = 0;

  constructor(size: number) {
    this.#size = size;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#size === 0) return;
    this.#buffer ??= new Uint8Array(this.#size);
    const kept = chunk.length > this.#size ? chunk.subarray(chunk.length - this.#size) : chunk;
    this.#written += chunk.length - kept.length;
    const at = this.#written % this.#size;
    const upToEnd = Math.min(kept.length, this.#size - at);
    this.#buffer.set(kept.subarray(0, upToEnd), at);
    this.#buffer.set(kept.subarray(upToEnd), 0);
    this.#written += kept.length;
  }

  bytes(): Uint8Array {
    if (this.#buffer === null) return new Uint8Array(0);
    if (this.#written <= this.#size) return this.#buffer.subarray(0, this.#written);
    const at = this.#written % this.#size;
    const ordered = new Uint8Array(this.#size);
    ordered.set(this.#buffer.subarray(at));
    ordered.set(this.#buffer.subarray(0, at), this.#size - at);
    return ordered;
  }
}

export type StreamName = "stdout" | "stderr";
export type OutputSink = (stream: StreamName, text: string) => void;

const LIVE_INTERVAL_MS = 50;
const LIVE_CAP_BYTES = 64 * 1024;
const LIVE_END = "\n[… live output ends here; the result will have the rest …]\n";

/** O3: passes on what a call writes while it writes. */
export class LiveOutput {
  readonly #sink: OutputSink;
  readonly #decoders = { stdout: new TextDecoder("utf-8", { ignoreBOM: true }), stderr: new TextDecoder("utf-8", { ignoreBOM: true }) };
  readonly #waiting = { stdout: "", stderr: "" };
  #timer: ReturnType<typeof setTimeout> | null = null;
  #left = LIVE_CAP_BYTES;

  constructor(sink: OutputSink) {
    this.#sink = sink;
  }

  push(stream: StreamName, chunk: Uint8Array): void {
    if (this.#left <= 0) return;
    const taken = chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk;
    this.#left -= taken.length;
    this.#waiting[stream] += this.#decoders[stream].decode(taken, { stream: true });
    if (this.#left <= 0) this.#waiting[stream] += LIVE_END;
    this.#timer ??= setTimeout(() => this.#flush(), LIVE_INTERVAL_MS);
  }

  /** Passes on what is waiting. Nothing comes after it. */
  close(): void {
    this.#left = 0;
    this.#flush();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const stream of ["stdout", "stderr"] as const) {
      const text = this.#waiting[stream];
      this.#waiting[stream] = "";
      if (text !== "") this.#sink(stream, text);
    }
  }
}
