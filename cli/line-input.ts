/**
 * Answers from a terminal, a line each. Read from the descriptor: a stream that has ended stays so, but a terminal goes
 * on after Ctrl-D, also after one that ended a prompt or an input.
 */
import { Buffer } from "node:buffer";
import { read } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** A terminal keeps no more of a line. */
const LINE_BYTES = 4096;
/** How long to wait where whoever shares the terminal has it answer at once that nothing is there. */
const POLL_MS = 50;

/** A read cannot be taken back: where its question was withdrawn, it is the next one's, if nothing has come till then. */
let coming: Promise<string | null> | null = null;

/** The line that is entered; null: the input ended or the terminal is gone, or the signal came first. */
export async function readLine(signal: AbortSignal): Promise<string | null> {
  if (signal.aborted) return null;
  coming ??= nextLine().finally(() => coming = null);
  const withdrawn = Promise.withResolvers<null>();
  const withdraw = () => withdrawn.resolve(null);
  signal.addEventListener("abort", withdraw, { once: true });
  try {
    return await Promise.race([coming, withdrawn.promise]);
  } finally {
    signal.removeEventListener("abort", withdraw);
  }
}

/** What was typed without Enter before the input ended was not entered. */
async function nextLine(): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const bytes = await readSome();
    if (bytes.length === 0) return null;
    text += decoder.decode(bytes, { stream: true });
    const end = text.search(/[\r\n]/);
    if (end >= 0) return text.slice(0, end);
  }
}

/** Empty: there is no more. */
async function readSome(): Promise<Uint8Array> {
  const bytes = Buffer.alloc(LINE_BYTES);
  for (;;) {
    const size = await new Promise<number | "later">((resolve) => {
      read(0, bytes, 0, bytes.length, null, (error, count) => {
        if (error === null) resolve(count);
        // Any other says that the terminal is gone, and so is whoever could answer.
        else resolve(error.code === "EAGAIN" || error.code === "EINTR" ? "later" : 0);
      });
    });
    if (size !== "later") return bytes.subarray(0, size);
    await delay(POLL_MS);
  }
}
