/** One file's lines that match. */
import { Buffer } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { isSecretFile, type SecretFiles } from "../secret-files.ts";
import { liesAt } from "../workspace-path.ts";
import type { Terms } from "./terms.ts";

export interface Match {
  /** From 1. */
  readonly line: number;
  /** The line, or the part of it around the match. */
  readonly text: string;
}

export interface Scanned {
  readonly matches: readonly Match[];
  /** Of all matching lines, those that are not listed included. */
  readonly count: number;
  /** Whether one of them has the text as a word of its own. */
  readonly word: boolean;
  /** Lines whose end was not looked at. */
  readonly long_lines: number;
  /** Whether the time was over before its end. */
  readonly cut: boolean;
}

export interface ScanLimits {
  /** A larger file is not read. */
  readonly bytes: number;
  /** Matches that are listed; more are counted. */
  readonly listed: number;
  /** Of `performance.now()`. */
  readonly deadline: number;
  /** They are not read. */
  readonly secrets?: SecretFiles;
}

const LINES_PER_LOOK_AT_THE_CLOCK = 512;
const NOTHING: Scanned = { matches: [], count: 0, word: false, long_lines: 0, cut: false };

/** Null: it cannot be read. A binary file has no lines. */
export function scanFile(root: string, path: string, terms: Terms, limits: ScanLimits): Scanned | null {
  const bytes = readInside(root, path, limits);
  if (bytes === null) return null;
  const { needle } = terms;
  if (needle !== null && !needle.ignore_case && !bytes.includes(needle.text)) return NOTHING;
  if (bytes.includes(0)) return NOTHING;
  return scanText(new TextDecoder().decode(bytes), terms, limits);
}

export function scanText(text: string, terms: Terms, { listed, deadline }: ScanLimits): Scanned {
  const matches: Match[] = [];
  let [count, long_lines, number, word] = [0, 0, 0, false];
  for (const whole of linesOf(text)) {
    number++;
    if (number % LINES_PER_LOOK_AT_THE_CLOCK === 0 && performance.now() > deadline) return { matches, count, word, long_lines, cut: true };
    const line = whole.length > terms.longest_line ? whole.slice(0, terms.longest_line) : whole;
    if (line !== whole) long_lines++;
    if (!terms.test(line)) continue;
    count++;
    word ||= terms.isWord(line);
    if (matches.length < listed) matches.push({ line: number, text: excerpt(line, terms.locate(line)) });
  }
  return { matches, count, word, long_lines, cut: false };
}

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end < 0 ? text.length : end);
    yield line.endsWith("\r") ? line.slice(0, -1) : line;
    from = end < 0 ? text.length : end + 1;
  }
}

const SHOWN = 240;
const SHOWN_BEFORE = 60;

function excerpt(line: string, at: number): string {
  if (line.length <= SHOWN) return line.trimEnd();
  const from = at <= SHOWN_BEFORE ? 0 : Math.min(at - SHOWN_BEFORE, line.length - SHOWN);
  const part = line.slice(from, from + SHOWN);
  return `${from > 0 ? "…" : ""}${part.toWellFormed().trimEnd()}${from + SHOWN < line.length ? "…" : ""}`;
}

function readInside(root: string, path: string, { bytes: max_bytes, secrets }: ScanLimits): Buffer | null {
  try {
    const real = join(root, path);
    const descriptor = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = fstatSync(descriptor);
      if (!found.isFile() || found.size > max_bytes || !liesAt(real, descriptor)) return null;
      if (secrets !== undefined && isSecretFile(found, secrets)) return null;
      return readUpTo(descriptor, found.size);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    // Gone, swapped or not ours to read: the caller counts it. What has no code is a bug.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}

function readUpTo(descriptor: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const read = readSync(descriptor, bytes, length, size - length, null);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}
