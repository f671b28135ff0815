/**
 * What a finished hook means. The exit status alone says whether it objects; only a hook that exits with 0 is listened to.
 *
 * H1  Anything but exit status 0 is no consent, whatever was printed.
 * H2  A decision is the whole output or the last of it, in one line or many, indented or not. What begins like a JSON
 *     object at the start of a line and is none is malformed, since it may be a decision that was cut or garbled; behind
 *     an indent, only if it speaks of an action. So is a decision, other than `allow`, that is not the last.
 * H3  Text that goes to a model is bounded and well-formed.
 */
import { parseArguments } from "../session/arguments.ts";
import { cutMiddle } from "../session/excerpt.ts";
import { type JsonInput, numberToken, parseKeepingNumbers } from "../session/json.ts";
import type { Captured, Run } from "../session/launch.ts";

export type HookDecision =
  /** Exit status 0 and no decision, or `allow`. */
  | { readonly kind: "passed"; readonly text: string }
  /** `reason`: the hook's own words, null if it had none. */
  | { readonly kind: "denied"; readonly reason: string | null }
  | { readonly kind: "wants_approval"; readonly reason: string | null }
  | { readonly kind: "modified"; readonly input: JsonInput }
  /** `modify` that does not say into what. */
  | { readonly kind: "modified_nothing" }
  | { readonly kind: "failed"; readonly cause: HookFailure; readonly message: string };

/** Why there is no verdict. */
export type HookFailure = "could_not_start" | "timed_out" | "killed" | "malformed" | "cancelled" | "lost";

/** Bytes of a message that a model reads. */
const MESSAGE_BYTES = 4000;

/** Shells say with these that a command cannot be executed, or is not there. */
const NOT_EXECUTABLE: readonly number[] = [126, 127];

export function readDecision(run: Run): HookDecision {
  const { outcome } = run;
  switch (outcome.kind) {
    case "exited":
      return outcome.code === 0 ? readOutput(run.stdout) : objection(outcome.code, run);
    case "timed_out":
      return failed("timed_out", `it timed out after ${outcome.after_ms} ms`);
    case "signalled":
      return failed("killed", `it was killed by ${outcome.signal}`, run);
    case "not_started":
      if (outcome.reason === "cancelled") return failed("cancelled", "it was cancelled before it could start");
      return failed("could_not_start", `it could not start${run.problem === undefined ? "" : `: ${run.problem}`}`);
    case "cancelled":
      return failed("cancelled", "it was cancelled before it decided");
    case "unknown":
      return failed("lost", `what it decided is not known (${outcome.cause})`);
    case "returned":
      return failed("lost", "it did not run as a process");
  }
}

/** The hook's own words: standard error if it is not blank, else standard output. */
export function messageOf(run: Run): string {
  const text = run.stderr.text.trim() !== "" ? run.stderr.text : run.stdout.text;
  return cutMiddle(text.trim().toWellFormed(), MESSAGE_BYTES).text;
}

function objection(code: number, run: Run): HookDecision {
  const message = messageOf(run);
  if (NOT_EXECUTABLE.includes(code)) return failed("could_not_start", `it could not start (exit status ${code})`, run);
  return { kind: "denied", reason: message === "" ? null : message };
}

function readOutput(stdout: Captured): HookDecision {
  const { objects, garbled } = findObjects(stdout.text);
  const decisions = objects.filter(({ value }) => Object.hasOwn(value, "action"));
  const final = decisions.at(-1);
  const decision = final === undefined || !final.last ? null : toDecision(final.value);
  // Whatever stands before it: an objection that is the last word is one.
  if (decision?.kind === "denied") return decision;
  if (garbled) return malformed("what it printed looks like a decision and is not valid JSON");
  if (decisions.some((each) => each.value["action"] !== "allow" && each !== (decision === null ? undefined : final))) {
    return malformed("it printed a decision that is not the last of its output");
  }
  if (stdout.cut) return malformed("it printed more than can be read, so its decision is not known");
  return decision ?? { kind: "passed", text: stdout.text };
}

type Members = Readonly<Record<string, unknown>>;

interface PrintedObject {
  readonly value: Members;
  /** Nothing but space comes behind it. */
  readonly last: boolean;
}

/** The objects that begin lines, indented or not, with nothing behind them on their last line; `garbled`: H2. */
function findObjects(text: string): { readonly objects: readonly PrintedObject[]; readonly garbled: boolean } {
  const objects: PrintedObject[] = [];
  let garbled = false;
  const beginning = /^[^\S\n]*\{/gm;
  for (let found = beginning.exec(text); found !== null; found = beginning.exec(text)) {
    const indented = found[0].length > 1;
    const end = endOfObject(text, beginning.lastIndex - 1);
    const body = text.slice(beginning.lastIndex - 1, end ?? undefined);
    const value = end === null || !/^[^\S\n]*(?:\n|$)/.test(text.slice(end, end + 1000)) ? null : parseObject(body);
    if (value !== null && end !== null) objects.push({ value, last: text.slice(end).trim() === "" });
    else garbled ||= !indented || body.includes("action");
    if (end === null) break;
    beginning.lastIndex = end;
  }
  return { objects, garbled };
}

/** Behind the brace that closes the one at `start`; null if none does. */
function endOfObject(text: string, start: number): number | null {
  const mark = /["\\\n{}]/g;
  mark.lastIndex = start;
  let depth = 0;
  let quoted = false;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const [character] = found;
    if (character === "\\") mark.lastIndex++;
    else if (character === '"') quoted = !quoted;
    // No text of JSON goes on in another line.
    else if (character === "\n") quoted = false;
    else if (!quoted && (depth += character === "{" ? 1 : -1) === 0) return mark.lastIndex;
  }
  return null;
}

function parseObject(text: string): Members | null {
  if (!text.startsWith("{")) return null;
  try {
    return parseKeepingNumbers(text) as Members;
  } catch {
    // Not JSON: the caller looks elsewhere.
    return null;
  }
}

function toDecision(decision: Members): HookDecision {
  switch (decision["action"]) {
    case "allow":
      return { kind: "passed", text: "" };
    case "deny":
      return reasoned(decision, (reason) => ({ kind: "denied", reason }));
    case "require_approval":
      return reasoned(decision, (reason) => ({ kind: "wants_approval", reason }));
    case "modify":
      return toModification(decision["payload"]);
    default:
      return malformed(`"action" must be "allow", "deny", "require_approval" or "modify", not ${shown(decision["action"])}`);
  }
}

function reasoned(decision: Members, use: (reason: string | null) => HookDecision): HookDecision {
  const { reason } = decision;
  if (typeof reason !== "string") return malformed(`"${String(decision["action"])}" needs a "reason" that is a text`);
  const text = cutMiddle(reason.trim().toWellFormed(), MESSAGE_BYTES).text;
  return use(text === "" ? null : text);
}

function toModification(payload: unknown): HookDecision {
  if (payload === undefined) return { kind: "modified_nothing" };
  if (!isObject(payload)) return malformed('"payload" of "modify" must be an object');
  if (!Object.hasOwn(payload, "input")) return { kind: "modified_nothing" };
  if (!isObject(payload["input"])) return malformed('"payload.input" of "modify" must be an object');
  const parsed = parseArguments(JSON.stringify(payload["input"]));
  return parsed.kind === "input"
    ? { kind: "modified", input: parsed.input }
    : malformed(`"payload.input" of "modify" cannot be used: ${parsed.message}`);
}

/** A number that was kept as written is an object for JavaScript, but not for us. */
function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) && numberToken(value) === null;
}

function malformed(message: string): HookDecision {
  return failed("malformed", `its decision is malformed: ${message}`);
}

function failed(cause: HookFailure, problem: string, run?: Run): HookDecision {
  const said = run === undefined ? "" : messageOf(run);
  return { kind: "failed", cause, message: said === "" ? problem : `${problem}: ${said}` };
}

function shown(value: unknown): string {
  return cutMiddle(JSON.stringify(value) ?? String(value), 100).text;
}
