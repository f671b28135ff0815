/** Standard output and standard error as a command sees them. */
import { fstatSync, statSync } from "node:fs";
import process from "node:process";
import { wasClosed } from "../lib/platform/standard-streams.ts";
import { type Colors, createColors, isDumb, wantsColor } from "./colors.ts";
import type { HeldSignals } from "./held-signals.ts";
import { clipToWidth, widthOf } from "./width.ts";

export interface Out {
  /** Raw text. */
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Whether a line may be written over: a terminal that understands more than text. */
  readonly canRewrite: boolean;
  readonly columns: number;
  readonly colors: Colors;
  /** Whether anything was written. */
  readonly isUsed: boolean;
  /** What is written from now on is dropped. */
  seal(): void;
  /** Resolves when everything written has left the process, or cannot any more. */
  flushed(): Promise<void>;
  /** Why writing failed; a reader that went away is not a failure. */
  readonly failure: Error | null;
  /** Nothing that is written arrives any more, whyever. */
  readonly isLost: boolean;
}

/** What every command gets: where data and talk go, and the environment. */
export interface Shell {
  readonly out: Out;
  readonly err: Out;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Signals that wait for a command that heeds them; null: they do what they do to every program. */
  readonly held: HeldSignals | null;
}

export function openShell(): Shell {
  return { out: openOut(1, process.env), err: openOut(2, process.env), env: { ...process.env }, held: null };
}

export async function flush(shell: Shell): Promise<void> {
  await shell.out.flushed();
  await shell.err.flushed();
}

/**
 * Text from elsewhere made harmless for a terminal: no control character but line break and tab gets through, nor
 * those that turn the direction of writing and could make a command read as another.
 */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** One line of at most `width` columns, for a name or a sentence: white space of any kind and length is a space. */
export function oneLine(text: string, width: number): string {
  return clipped(printable(text).replace(/\s+/g, " ").trim(), width);
}

/**
 * The first lines of a text as it is laid out, a table or code: each of at most `width` columns, with its spaces, and
 * with tabs as the spaces that they stand for. Lines that are left out are counted.
 */
export function excerpt(text: string, width: number, most: number): readonly string[] {
  const lines = printable(text).trimEnd().split("\n");
  const shown = lines.slice(0, most).map((line) => {
    return clipped(withoutTabs(line.replace(/[\u2028\u2029]/g, "\ufffd"), width), width).trimEnd();
  });
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, `… ${more} more ${more === 1 ? "line" : "lines"}`] : shown;
}

const TAB_STOP = 8;

/** Not what comes behind `width` columns: a line may be tabs without end. */
function withoutTabs(line: string, width: number): string {
  let shown = "";
  let column = 0;
  for (const [index, part] of line.split("\t").entries()) {
    const gap = index === 0 ? 0 : TAB_STOP - column % TAB_STOP;
    shown += " ".repeat(gap) + part;
    column += gap + widthOf(part);
    if (column > width) break;
  }
  return shown;
}

function clipped(line: string, width: number): string {
  return clipToWidth(line, width) === line ? line : `${clipToWidth(line, Math.max(0, width - 1))}…`;
}

/** Lines of at most `width` columns, broken between words; a word that is longer stays whole, so that it can be copied. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of printable(text).split(/\s+/).filter((each) => each !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Whether a descriptor is a terminal. Most are not, and for those Node's terminal module (2 ms on Bun) is not loaded. */
export function isTerminal(descriptor: number): boolean {
  try {
    const file = fstatSync(descriptor);
    if (!file.isCharacterDevice() || file.rdev === statSync("/dev/null").rdev) return false;
    return process.getBuiltinModule("node:tty").isatty(descriptor);
  } catch {
    // It is closed.
    return false;
  }
}

/**
 * Counts what is on its way through each write's own callback: on Bun 1.4.5 the callback of a later, empty write
 * comes before the earlier bytes have left, and `process.exit` then loses them. The stream is made at first use.
 */
function openOut(descriptor: 1 | 2, env: Shell["env"]): Out {
  const terminal = isTerminal(descriptor);
  const closed = wasClosed(descriptor);
  let stream: NodeJS.WriteStream | null = null;
  let pending = 0;
  let failure: Error | null = null;
  let isUsed = false;
  let isSealed = false;
  let wake = () => {};

  const open = (): NodeJS.WriteStream => {
    if (stream !== null) return stream;
    stream = descriptor === 1 ? process.stdout : process.stderr;
    return stream.on("error", (error) => void (failure ??= error));
  };
  const leave = (): (error?: Error | null) => void => {
    let left = false;
    return (error) => {
      if (error) failure ??= error;
      if (left) return;
      left = true;
      pending--;
      if (pending === 0) wake();
    };
  };

  return {
    isTerminal: terminal,
    canRewrite: terminal && !isDumb(env),
    // What is not a terminal has no width; lines there are only kept from being endless.
    get columns() {
      return terminal ? open().columns || 80 : 400;
    },
    colors: createColors(wantsColor(terminal, env)),
    write(text) {
      if (text === "" || isSealed) return;
      if (closed) failure ??= new Error("it is closed");
      if (failure !== null) return;
      isUsed = true;
      pending++;
      const settle = leave();
      try {
        open().write(text, settle);
      } catch (error) {
        // Deno 2.9 throws from write itself, for instance when the disk is full.
        settle(error instanceof Error ? error : new Error(String(error)));
      }
    },
    get isUsed() {
      return isUsed;
    },
    seal() {
      isSealed = true;
    },
    async flushed() {
      if (pending > 0) await new Promise<void>((resolve) => wake = resolve);
    },
    get isLost() {
      return failure !== null;
    },
    get failure() {
      return failure !== null && "code" in failure && failure.code === "EPIPE" ? null : failure;
    },
  };
}
