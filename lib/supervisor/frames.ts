/** Conversations by lines, each capped in size: with a tool host one JSON document per line, with a server whatever it says. */
import { Buffer } from "node:buffer";
import { toText } from "../session/json.ts";

/** Cuts a byte stream into lines. Its memory is at most twice the longest line, however small the chunks are. */
export class LineReader {
  readonly #most: number;
  readonly #tooLong: "refuse" | "skip";
  #buffer = Buffer.alloc(0);
  #length = 0;
  #skipping = false;

  /** @param tooLong what becomes of a line that is longer than `most_bytes`: an error, or nothing */
  constructor(most_bytes: number, tooLong: "refuse" | "skip" = "refuse") {
    this.#most = most_bytes;
    this.#tooLong = tooLong;
  }

  /** The lines that this chunk completes, as well-formed text. @throws {RangeError} if a line is longer than allowed. */
  push(chunk: Uint8Array): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      if (!this.#skipping) lines.push(this.#buffer.toString("utf8", 0, this.#length));
      this.#length = 0;
      this.#skipping = false;
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(part: Uint8Array): void {
    if (this.#skipping) return;
    const length = this.#length + part.length;
    if (length > this.#most) return this.#refuse();
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#most, Math.max(length, this.#buffer.length * 2, SMALLEST)));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    this.#buffer.set(part, this.#length);
    this.#length = length;
  }

  #refuse(): void {
    if (this.#tooLong === "refuse") throw new RangeError(`Cannot read a line as it is longer than ${this.#most} bytes`);
    this.#skipping = true;
    this.#length = 0;
  }
}

/** The bytes of one frame. @throws {RangeError} if it is longer than allowed. */
export function toFrame(message: unknown, most_bytes: number): Buffer {
  const bytes = Buffer.from(`${toText(message)}\n`);
  if (bytes.length > most_bytes) throw new RangeError(`Cannot send a frame of ${bytes.length} bytes as ${most_bytes} are allowed`);
  return bytes;
}

const NEWLINE = 0x0a;
const SMALLEST = 4096;
