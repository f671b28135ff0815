import { Buffer, isUtf8 } from "node:buffer";
import process from "node:process";
import { calledName } from "../lib/platform/called.ts";
import { UsageError } from "../mod.ts";
import { isTerminal } from "./terminal.ts";

const MAX_BYTES = 10 * 1024 * 1024;

/**
 * The prompt from the argument, or from standard input for `-` or without one. A terminal is read only for `-`.
 * @throws {UsageError} if there is none, or nothing in it.
 */
export async function readPrompt(argument: string | undefined): Promise<string> {
  if (argument === undefined && isTerminal(0)) {
    throw new UsageError(`Cannot run without a prompt: give it as an argument, as in ${calledName()} run "…", or on standard input`);
  }
  const fromInput = argument === undefined || argument === "-";
  const text = (fromInput ? await readInput("prompt") : argument).toWellFormed();
  if (text.trim() !== "") return text;
  const where = fromInput ? "standard input has no text: write the prompt there" : "the argument has no text: write it there, or use -";
  throw new UsageError(`Cannot run an empty prompt as ${where}`);
}

/** The arguments of one call, from the option, or from standard input for `-`; without it the empty object. @throws {UsageError} */
export async function readToolInput(option: string | undefined): Promise<string> {
  return option === "-" ? await readInput("input") : option ?? "{}";
}

async function readInput(what: "prompt" | "input"): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of standardInput(what)) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new UsageError(`Cannot take more than ${MAX_BYTES} bytes as ${what}: name a file in it instead`);
    chunks.push(chunk);
  }
  return decode(Buffer.concat(chunks), what);
}

/** Bytes that are no text are not replaced in silence: what is run is what was written, without a byte order mark. */
function decode(bytes: Uint8Array, what: string): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const offset = firstBadByte(bytes);
  const byte = (bytes[offset] ?? 0).toString(16).padStart(2, "0");
  throw new UsageError(
    `Cannot take the ${what} from standard input as it is not UTF-8: at byte offset ${offset} (0x${byte}) no character begins; iconv makes UTF-8 of other texts`,
  );
}

/** The offset of the first byte that no character of UTF-8 begins with, found by halving. */
function firstBadByte(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1;
    if (wholeCharacters(bytes.subarray(0, middle)) === null) bad = middle;
    else good = middle;
  }
  return wholeCharacters(bytes.subarray(0, good)) ?? 0;
}

/** How many bytes the whole characters of a beginning have, the last of which may be cut; null if it is not UTF-8. */
function wholeCharacters(bytes: Uint8Array): number | null {
  try {
    return Buffer.byteLength(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true }));
  } catch {
    // That is how a strict decoder says no.
    return null;
  }
}

async function* standardInput(what: string): AsyncGenerator<Uint8Array> {
  try {
    yield* process.stdin as AsyncIterable<Uint8Array>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot read the ${what} from standard input: ${why}: give it as an argument, or by a pipe`, { cause: error });
  }
}
