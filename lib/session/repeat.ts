/**
 * The repeat guard: a model that asks for the same thing, gets the same answer and asks again is told so once, and then
 * stopped. What counts is (name, canonical input, result): polling whose answer changes is no repetition, and neither
 * are different calls with one answer. Refused, unknown and malformed calls count like any other.
 *
 * Two rows are looked at: the calls one by one, and the replies, each as its calls in whatever order. A pattern of up to
 * four that was played three times gets the hint; what goes on with it after that, the stop. Where each round took a
 * second or more, somebody may be waiting for an answer to change: then the stop comes after the twentieth round.
 */
import { parseArguments } from "./arguments.ts";
import { newestFirst } from "./append-list.ts";
import type { CallState, SessionState } from "./state.ts";

export const REPEATS = 3;
export const LONGEST_PATTERN = 4;
export const WAITING_REPEATS = 20;
export const WAITING_MS = 1000;
/** Source of the message that carries the hint. */
export const GUARD_SOURCE = "repeat_guard";

export type Repetition =
  | { readonly kind: "none" }
  | { readonly kind: "hint"; readonly text: string }
  | { readonly kind: "stop"; readonly detail: string };

/** What is to be done about the calls of the open turn so far. Between steps only. */
export function findRepetition(state: SessionState): Repetition {
  const recent = recentReplies(state);
  const found = [judge(toCalls(recent)), judge(recent)];
  return found.find(({ kind }) => kind === "stop") ?? found.find(({ kind }) => kind === "hint") ?? { kind: "none" };
}

function judge({ played, sinceHint }: Row): Repetition {
  const pattern = repeatedPattern(played);
  if (pattern === null) return { kind: "none" };
  const round = played.slice(0, pattern.period).flat();
  const names = [...new Set(round.map((call) => `"${call.name}"`))].join(", ");
  const most = roundMs(played, pattern) >= WAITING_MS ? WAITING_REPEATS : REPEATS;
  if (sinceHint === null) return { kind: "hint", text: hintFor(names, round.length, most) };
  if (sinceHint === 0 || pattern.length <= most * pattern.period) return { kind: "none" };
  return { kind: "stop", detail: `repeated calls of ${names} with the same input and the same result` };
}

function hintFor(names: string, count: number, most: number): string {
  const what = count === 1 ? `the same call of ${names}` : `the same ${count} calls (${names})`;
  return `You have made ${what} ${REPEATS} times and got the same result each time. Repeating it will not change that. ` +
    "Do something else, or say what keeps you from going on. " +
    (most === REPEATS
      ? "If it is repeated once more, this turn ends."
      : `If you wait for something, let more time pass between two calls: after ${most} times this turn ends.`);
}

const KEPT = WAITING_REPEATS * LONGEST_PATTERN + LONGEST_PATTERN;

/** What was played in the open turn, newest first; `sinceHint`: how much of it came after the hint, null without one. */
interface Row {
  readonly played: readonly Played[];
  readonly sinceHint: number | null;
}

/** Calls that count as one, however they are ordered. */
type Played = readonly CallState[];

function recentReplies(state: SessionState): Row {
  const played: Played[] = [];
  let sinceHint: number | null = null;
  const turn = state.turn.kind === "running" ? state.turn.turn : -1;
  for (const entry of newestFirst(state.history)) {
    if (entry.turn !== turn || (played.length >= KEPT && sinceHint !== null)) break;
    if (entry.kind === "prompt") {
      if (entry.source === GUARD_SOURCE) sinceHint ??= played.length;
      if (entry.source === GUARD_SOURCE || entry.source === "stop_hook") continue;
      break;
    }
    if (entry.calls.length > 0) played.push(entry.calls);
  }
  return { played, sinceHint };
}

/** The same, call by call. */
function toCalls({ played, sinceHint }: Row): Row {
  const count = (replies: readonly Played[]) => replies.reduce((sum, calls) => sum + calls.length, 0);
  const newest: Played[] = [];
  for (const calls of played) {
    for (let index = calls.length - 1; index >= 0 && newest.length < KEPT; index--) newest.push(calls.slice(index, index + 1));
  }
  return { played: newest, sinceHint: sinceHint === null ? null : count(played.slice(0, sinceHint)) };
}

/** How long the calls of one round took, on average. */
function roundMs(newestFirst: readonly Played[], { period, length }: Pattern): number {
  const took = newestFirst.slice(0, length).flat()
    .reduce((sum, { status }) => sum + (status.kind === "ended" ? status.duration_ms : 0), 0);
  return took * period / length;
}

function identityOf(call: CallState): string {
  const parsed = parseArguments(call.arguments);
  const input = parsed.kind === "input" ? parsed.input.text : call.arguments;
  const result = call.status.kind === "ended" ? `${call.status.result.is_error} ${call.status.result.text}` : call.call;
  return JSON.stringify([call.name, input, result]);
}

/** `length`: how much goes along with it. */
interface Pattern {
  readonly period: number;
  readonly length: number;
}

/** The shortest pattern that the newest repeat often enough. Mostly a few of them tell that there is none. */
function repeatedPattern(newestFirst: readonly Played[]): Pattern | null {
  const identities: string[] = [];
  const at = (index: number) => identities[index] ??= (newestFirst[index] ?? []).map(identityOf).toSorted().join();
  for (let period = 1; period <= LONGEST_PATTERN; period++) {
    let length = Math.min(period, newestFirst.length);
    while (length < newestFirst.length && at(length) === at(length - period)) length++;
    if (length >= REPEATS * period) return { period, length };
  }
  return null;
}
