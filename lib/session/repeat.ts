/**
 * The repeat guard: a model that asks for the same thing, gets the same answer and asks again is told so once, and then
 * stopped. What counts is (name, canonical input, result): polling whose answer changes is no repetition, and neither
 * are different calls with one answer. Refused, unknown and malformed calls count like any other.
 *
 * G1  Two rows are looked at: the calls one by one, and the replies, each as its calls in whatever order. A pattern of up
 *     to four that was played three times gets the hint; what goes on with it after that, the stop.
 * G2  A round whose calls took a second or more waits and does not loop: it ends a pattern. What bounds it are the limits
 *     of steps and time.
 * G3  Replies of which every call was refused count by who refused which tools, whatever the input: the hint comes after
 *     the fifth in a row.
 * G4  A reply with a call that was cut off, by the end of its runtime or by a fork, has no answer of its own: what came
 *     before it and what comes after it are one row.
 */
import { parseArguments } from "./arguments.ts";
import { newestFirst } from "./append-list.ts";
import type { CallState, SessionState } from "./state.ts";

export const REPEATS = 3;
export const REFUSALS = 5;
export const LONGEST_PATTERN = 4;
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
  const found = [judge(toCalls(recent), SAME), judge(recent, SAME), judge(recent, REFUSED)];
  return found.find(({ kind }) => kind === "stop") ?? found.find(({ kind }) => kind === "hint") ?? { kind: "none" };
}

/** What counts as one, how often it may be played, and what is said of it. */
interface Rule {
  readonly most: number;
  identify(played: Played): string;
  readonly detail: (names: string) => string;
  readonly hint: (names: string, count: number) => string;
}

const SAME: Rule = {
  most: REPEATS,
  identify: (played) => played.map(identityOf).toSorted().join(),
  detail: (names) => `repeated calls of ${names} with the same input and the same result`,
  hint: (names, count) =>
    `You have made ${count === 1 ? `the same call of ${names}` : `the same ${count} calls (${names})`} ${REPEATS} times and got the same ` +
    `result each time. Repeating it will not change that. ${WAY_OUT} If it is repeated once more, this turn ends.`,
};

const REFUSED: Rule = {
  most: REFUSALS,
  identify: refusalOf,
  detail: (names) => `calls of ${names} that were refused again and again for the same kind of reason`,
  hint: (names) =>
    `Your calls of ${names} were refused ${REFUSALS} times in a row for the same kind of reason. Their results say which. ` +
    `${WAY_OUT} If the next are refused like that too, this turn ends.`,
};

const WAY_OUT = "Do something else, or say what keeps you from going on.";

function judge({ played, sinceHint }: Row, rule: Rule): Repetition {
  const pattern = repeatedPattern(played, rule);
  if (pattern === null) return { kind: "none" };
  const round = played.slice(0, pattern.period).flat();
  const names = [...new Set(round.map((call) => `"${call.name}"`))].join(", ");
  if (sinceHint === null) return { kind: "hint", text: rule.hint(names, round.length) };
  if (sinceHint === 0 || pattern.length <= rule.most * pattern.period) return { kind: "none" };
  return { kind: "stop", detail: rule.detail(names) };
}

const KEPT = REFUSALS * LONGEST_PATTERN + LONGEST_PATTERN;

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
    if (entry.calls.length > 0 && !entry.calls.some(wasCutOff)) played.push(entry.calls);
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

/** G2. */
function isWaiting(round: readonly Played[]): boolean {
  const took = round.flat().reduce((sum, { status }) => sum + (status.kind === "ended" ? status.duration_ms : 0), 0);
  return took >= WAITING_MS;
}

/** G4. */
function wasCutOff({ status }: CallState): boolean {
  if (status.kind !== "ended") return false;
  const { outcome } = status;
  return (outcome.kind === "unknown" && (outcome.cause === "runtime_died" || outcome.cause === "not_recorded")) ||
    (outcome.kind === "not_started" && (outcome.reason === "forked" || outcome.reason === "imported"));
}

/** G3. A reply that was not refused is like no other. */
function refusalOf(played: Played): string {
  const refusals = played.map(({ name, status }) =>
    status.kind === "ended" && status.denied_by !== undefined ? JSON.stringify([name, status.denied_by]) : null
  );
  return refusals.includes(null) ? `${played[0]?.call}` : [...new Set(refusals)].toSorted().join();
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
function repeatedPattern(newestFirst: readonly Played[], { identify, most }: Rule): Pattern | null {
  const identities: string[] = [];
  const at = (index: number) => identities[index] ??= identify(newestFirst[index] ?? []);
  for (let period = 1; period <= LONGEST_PATTERN; period++) {
    const goesOn = (index: number) =>
      (index < period || at(index) === at(index - period)) &&
      (index < period - 1 || !isWaiting(newestFirst.slice(index - period + 1, index + 1)));
    let length = 0;
    while (length < newestFirst.length && goesOn(length)) length++;
    if (length >= most * period) return { period, length };
  }
  return null;
}
