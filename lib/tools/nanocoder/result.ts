/** What the model reads of a run: the exit code first, then what was printed. */
import { constants } from "node:os";
import type { Run } from "../../session/launch.ts";
import type { CallResult } from "../../session/outcome.ts";
import { capped, truncation } from "../ending.ts";
import type { ReadResult } from "../tool.ts";

/** A script that ends by itself has not failed, whatever its code; the model decides what that means. */
export function readRun(run: Run): ReadResult {
  return { result: toResult(run), ...truncation(run) };
}

function toResult(run: Run): CallResult {
  const { outcome, problem } = run;
  switch (outcome.kind) {
    case "exited":
      return ended(`EXIT_CODE: ${outcome.code}`, run);
    case "signalled":
      return ended(`EXIT_CODE: ${128 + signalNumber(outcome.signal)}\nSIGNAL: ${outcome.signal}`, run);
    case "timed_out":
      return failed(`Custom tool timed out after ${outcome.after_ms} ms`, run);
    case "cancelled":
      return failed("Custom tool was cancelled", run);
    case "not_started":
      return failed(`Custom tool failed to start: ${problem ?? outcome.reason}`, run);
    case "unknown":
      return failed(`Custom tool has an unknown outcome (${problem ?? outcome.cause}). It may or may not have taken effect.`, run);
    case "returned":
      return failed("Custom tool gave an answer that cannot be read", run);
  }
}

function ended(head: string, run: Run): CallResult {
  const silent = run.stdout.bytes === 0 && run.stderr.bytes === 0;
  return { is_error: false, text: `${head}\n${printed(run)}`, ...(silent ? { empty: true } : {}) };
}

function failed(sentence: string, run: Run): CallResult {
  const output = printed(run);
  return { is_error: true, text: output === "" ? sentence : `${sentence}\n${output}` };
}

/** Standard output alone, or both streams in sections if there is something on standard error. */
function printed({ stdout, stderr }: Run): string {
  const output = capped(stdout).trimEnd();
  const errors = capped(stderr).trimEnd();
  return errors.trim() === "" ? output : `STDERR:\n${errors}\nSTDOUT:\n${output}`;
}

function signalNumber(signal: string): number {
  return Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0;
}
