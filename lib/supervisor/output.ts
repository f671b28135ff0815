/**
 * What a process writes: one capture per stream. The live view of both is in live-output.ts.
 *
 * O1  Memory is bounded by the cap, whatever comes: the first bytes and the last are kept, the rest is counted. What is
 *     of use only as a whole may have more room, and gives it back as soon as there is no whole any more.
 * O2  Bytes are kept as bytes and decoded once, at the end, so no character is broken by where a chunk ended. NUL stays.
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

/** The last bytes. Its memory grows as they come. */
export class Ring {
  readonly #size: number;
  #buffer = new Uint8Array(0);
  #written = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** How many it has. */
  get length(): number {
    return Math.min(this.#written, this.#size);
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#size === 0) return;
    this.#reserve(this.#written + chunk.length);
    const kept = chunk.length > this.#size ? chunk.subarray(chunk.length - this.#size) : chunk;
    this.#written += chunk.length - kept.length;
    const at = this.#written % this.#size;
    const upToEnd = Math.min(kept.length, this.#size - at);
    this.#buffer.set(kept.subarray(0, upToEnd), at);
    this.#buffer.set(kept.subarray(upToEnd), 0);
    this.#written += kept.length;
  }

  bytes(): Uint8Array {
    if (this.#written <= this.#size) return this.#buffer.subarray(0, this.#written);
    const at = this.#written % this.#size;
    const ordered = new Uint8Array(this.#size);
    ordered.set(this.#buffer.subarray(at));
    ordered.set(this.#buffer.subarray(0, at), this.#size - at);
    return ordered;
  }

  /** The bytes and how many came before them; it is empty afterwards. */
  take(): { readonly bytes: Uint8Array; readonly lost: number } {
    const taken = { bytes: this.bytes(), lost: this.#written - this.length };
    this.#buffer = new Uint8Array(0);
    this.#written = 0;
    return taken;
  }

  /** As long as it is not as large as it may be, nothing in it has gone round. */
  #reserve(length: number): void {
    if (this.#buffer.length === this.#size || length <= this.#buffer.length) return;
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(Math.min(this.#size, Math.max(length, this.#buffer.length * 2))));
  }
}

export type StreamName = "stdout" | "stderr";
export type OutputSink = (stream: StreamName, text: string) => void;
