/** Errors that say what is wrong and what would be right. Loaded late: help and usage errors need no more than themselves. */
import {
  CancelUnanswered,
  ConfigError,
  JournalHeld,
  JournalOccupied,
  JournalUnavailable,
  LeaseLost,
  ModelConfigError,
  SessionRefusal,
  TrustError,
  UnsoundLog,
  UsageError,
} from "../mod.ts";
import type { Ending } from "./ending.ts";

/** Null for any other error. */
export function foreseenEnding(error: unknown): Ending | null {
  if (error instanceof UsageError || error instanceof SessionRefusal || error instanceof JournalOccupied) {
    return "usage";
  }
  if (error instanceof ConfigError || error instanceof ModelConfigError) return "configuration";
  if (
    error instanceof JournalHeld || error instanceof JournalUnavailable || error instanceof LeaseLost ||
    error instanceof TrustError || error instanceof CancelUnanswered || error instanceof UnsoundLog
  ) {
    return "failed";
  }
  return null;
}
