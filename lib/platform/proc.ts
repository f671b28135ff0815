/**
 * What /proc tells of processes. Every reading may find the process gone: that is an answer, not an error.
 * Without /proc (macOS) nothing can be listed, and a process is known by `ps` alone.
 */
import { Buffer } from "node:buffer";
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import process from "node:process";
import { processStartTime } from "./identity.ts";

export interface ProcessStat {
  readonly pid: number;
  readonly command: string;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  /** Its group stands before a terminal, which sends what its keys mean to all of the group. */
  readonly foreground: boolean;
  /** Clock ticks since boot. */
  readonly start_time: string;
  /** Not a zombie: some thread of it still runs. */
  readonly alive: boolean;
  readonly kernel: boolean;
  /** Its memory is its program's already, and not all is in it yet. */
  readonly starting: boolean;
}

let listable: boolean | undefined;

/** Whether processes can be listed here. */
export function hasProc(): boolean {
  return listable ??= readStat(process.pid) !== null;
}

/** Null if there is no such process, not even a zombie. */
export function readStat(pid: number): ProcessStat | null {
  const text = readText(`/proc/${pid}/stat`);
  return text === null || text === "" ? null : parseStat(text);
}

/** Pids of all processes that we can see, in ascending order. */
export function listPids(): readonly number[] {
  const pids: number[] = [];
  for (const name of readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first >= 0x30 && first <= 0x39) pids.push(Number(name));
  }
  return pids;
}

/** The environment a process was started with. `pending`: it is just being started. `empty`: without one, or a zombie's. */
export type EnvironReading =
  | { readonly kind: "read"; readonly value: string | null }
  | { readonly kind: "pending" }
  | { readonly kind: "empty" }
  | { readonly kind: "hidden" }
  | { readonly kind: "gone" };

/** One variable of another process. */
export function readEnviron(pid: number, variable: string): EnvironReading {
  const path = `/proc/${pid}/environ`;
  try {
    let bytes = readBytes(path);
    if (bytes.length === 0 && readStat(pid)?.starting === true) return { kind: "pending" };
    // It may have come between the two.
    if (bytes.length === 0) bytes = readBytes(path);
    return bytes.length === 0 ? { kind: "empty" } : { kind: "read", value: findVariable(bytes, variable) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { kind: code === "EACCES" || code === "EPERM" ? "hidden" : "gone" };
  }
}

/** Start time and group of a process that we have just started ourselves and that therefore cannot have been reaped. */
export function identifyChild(pid: number): { readonly pid: number; readonly pgid: number; readonly start_time: string } {
  const stat = hasProc() ? readStat(pid) : null;
  if (stat !== null) return { pid, pgid: stat.pgid, start_time: stat.start_time };
  return { pid, pgid: leadsGroup(pid) ? pid : 0, start_time: processStartTime(pid) ?? "" };
}

/** Whether there is a group of this number; only its leader's pid can have given it. */
export function leadsGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    // ESRCH: no such group. EPERM: not ours.
    return false;
  }
}

/** The name of the command is in parentheses and may itself hold parentheses and spaces. */
function parseStat(text: string): ProcessStat | null {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  const fields = text.slice(close + 2).split(" ");
  const [state, ppid, pgid, sid, terminal, before] = fields;
  const start_time = fields[19];
  if (open < 0 || close < 0 || state === undefined || start_time === undefined) return null;
  // A main thread that has ended is a zombie while other threads go on.
  const threads = Number(fields[17]);
  const leads = state !== "Z" && state !== "X";
  return {
    pid: Number(text.slice(0, open)),
    command: text.slice(open + 1, close),
    ppid: Number(ppid),
    pgid: Number(pgid),
    sid: Number(sid),
    foreground: terminal !== "0" && before === pgid,
    start_time,
    alive: leads || threads > 1,
    kernel: (Number(fields[6]) & PF_KTHREAD) !== 0,
    // Linux says where the code ends when it has laid out the rest.
    starting: leads && fields[24] === "0",
  };
}

const PF_KTHREAD = 0x00200000;

function findVariable(environ: Buffer, variable: string): string | null {
  const prefix = `${variable}=`;
  let from = 0;
  for (;;) {
    const at = environ.indexOf(prefix, from, "latin1");
    if (at < 0) return null;
    if (at === 0 || environ[at - 1] === 0) {
      const end = environ.indexOf(0, at);
      return environ.toString("latin1", at + prefix.length, end < 0 ? environ.length : end);
    }
    from = at + prefix.length;
  }
}

function readText(path: string): string | null {
  try {
    return readBytes(path).toString("latin1");
  } catch {
    // ENOENT or ESRCH: the process has gone.
    return null;
  }
}

let buffer = Buffer.allocUnsafe(64 * 1024);

/** Files of /proc have no size: read until there is no more. The result is only valid until the next call. */
function readBytes(path: string): Buffer {
  const descriptor = openSync(path, "r");
  try {
    let length = 0;
    for (;;) {
      const count = readSync(descriptor, buffer, length, buffer.length - length, null);
      length += count;
      if (count === 0 || length < SMALLEST_PAGE) return buffer.subarray(0, length);
      if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** A reading shorter than a page is complete. */
const SMALLEST_PAGE = 4096;
