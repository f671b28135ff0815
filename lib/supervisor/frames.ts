/** Frames of the conversation with a tool host: one JSON document per line, capped in size. */
import { Buffer } from "node:buffer";

/** Cuts a byte stream into lines. Bytes of a line that has not ended are joined once, when it ends. */
export class FrameReader {
  readonly #most: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(most_bytes: number) {
    this.#most = most_bytes;
  }

  /** The lines that this chunk completes. @throws {RangeError} if a line is longer than allowed. */
  push(chunk: Uint8Array): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(Buffer.concat(this.#parts, this.#length).toString("utf8"));
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.#most) throw new RangeError(`Cannot read a frame as it is longer than ${this.#most} bytes`);
    this.#parts.push(part);
  }
}

/** The bytes of one frame. @throws {RangeError} if it is longer than allowed. */
export function toFrame(message: unknown, most_bytes: number): Buffer {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  if (bytes.length > most_bytes) throw new RangeError(`Cannot send a frame of ${bytes.length} bytes as ${most_bytes} are allowed`);
  return bytes;
}

const NEWLINE = 0x0a;
