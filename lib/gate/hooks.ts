/**
 * The hooks of one session, one after the other in the order of the settings.
 *
 * H4  Before a call: the first objection, and the first hook without a verdict, ends it. A hook that wants a person's
 *     approval does not end it, so that one behind it can still object; the person sees the input as all of them left it.
 * H5  Nobody agrees to an input that he has not seen: what a hook changed goes to every later hook, and again to those
 *     before it that were written by somebody more powerful.
 * H6  After a call, at the start of a session and at the end of a turn a hook can fail without stopping anything: that
 *     is a notice.
 */
import { divideCap, omissionMarker } from "../session/excerpt.ts";
import type { JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import { coversTool, type Hook, type HookContext, type HookNotice, type HookRunner, type InertHook, isForTools, launchOf } from "./hook.ts";
import { type HookDecision, readDecision } from "./hook-decision.ts";
import { type HookedCall, hookPayload } from "./hook-payload.ts";

export interface HookSet {
  readonly active: readonly Hook[];
  readonly inert: readonly InertHook[];
}

export interface Hooks {
  /** Whether any hook would be asked or told about a call of this tool. */
  covers(tool: string): boolean;
  /** A guard of this tool that may not run, if there is one. */
  silencedGuard(tool: string): InertHook | undefined;
  beforeCall(call: HookedCall, signal: AbortSignal): Promise<BeforeCall>;
  /** Only for calls that were started. They are told even if `signal` has aborted, within a few seconds. */
  afterCall(
    call: HookedCall,
    result: { readonly text: string; readonly is_error: boolean },
    signal: AbortSignal,
  ): Promise<readonly HookNotice[]>;
  /** `text` belongs at the end of the system text; empty if there is none. */
  atSessionStart(signal: AbortSignal): Promise<{ readonly text: string; readonly notices: readonly HookNotice[] }>;
  /** `consultation` counts from 1 per turn. `text` is for the model as a user's message; null lets the turn end. */
  atStop(
    finalText: string,
    consultation: number,
    signal: AbortSignal,
  ): Promise<{ readonly text: string | null; readonly notices: readonly HookNotice[] }>;
}

export type BeforeCall =
  | {
    readonly kind: "passed";
    readonly input: JsonInput;
    readonly changed: boolean;
    readonly wanted_approval: string | null;
    readonly notices: readonly HookNotice[];
  }
  | { readonly kind: "refused"; readonly reason: string };

/** How often a turn can be held open. */
export const STOP_CONSULTATIONS = 3;
/** What a session's hooks may add to its system text, in characters, with the line that says what was cut. */
const START_TEXT_CHARACTERS = 4000;
/** What a hook that is told of a call still gets when the turn is to stop now. */
const LAST_WORD_MS = 5000;

export function createHooks({ active, inert }: HookSet, run: HookRunner, context: HookContext): Hooks {
  const of = (event: Hook["event"]) => active.filter((hook) => hook.event === event);
  const guards = of("PreToolUse");
  const silenced = inert.filter(({ hook }) => hook.event === "PreToolUse");
  const consult: Consult = async (hook, fields, signal) =>
    await runHook(hook, hookPayload(hook.event, context.workspace, fields), { run, context, signal });
  return {
    covers: (tool) =>
      active.some((hook) => isForTools(hook) && coversTool(hook, tool)) || silenced.some(({ hook }) => coversTool(hook, tool)),
    silencedGuard: (tool) => silenced.find(({ hook }) => coversTool(hook, tool)),
    beforeCall: async (call, signal) => await new Chain(guards.filter((hook) => coversTool(hook, call.name)), consult, signal).pass(call),
    afterCall: async (call, result, signal) =>
      await tell(of("PostToolUse").filter((hook) => coversTool(hook, call.name)), consult, { call, result }, signal),
    atSessionStart: async (signal) => await collectStartText(of("SessionStart"), consult, signal),
    atStop: async (final_text, consultation, signal) => await holdOpen(of("Stop"), consult, { final_text, consultation }, signal),
  };
}

type Fields = Parameters<typeof hookPayload>[2];
type Consult = (hook: Hook, fields: Fields, signal: AbortSignal) => Promise<{ readonly decision: HookDecision; readonly run: Run | null }>;

/** Never rejects: a runner that throws is a hook without a verdict. */
async function runHook(
  hook: Hook,
  payload: string,
  { run, context, signal }: { run: HookRunner; context: HookContext; signal: AbortSignal },
) {
  try {
    const ended = await run(launchOf(hook, payload, context), signal);
    return { decision: readDecision(ended), run: ended };
  } catch (error) {
    const message = `it could not be run: ${error instanceof Error ? error.message : String(error)}`;
    return { decision: { kind: "failed", cause: "could_not_start", message } as const, run: null };
  }
}

const POWER: Readonly<Record<Hook["scope"], number>> = { organisation: 3, user: 2, project: 1 };

/** One call on its way through the hooks in front of it. */
class Chain {
  readonly #hooks: readonly Hook[];
  readonly #consult: Consult;
  readonly #signal: AbortSignal;
  readonly #notices: HookNotice[] = [];
  #wanted: string | null = null;

  constructor(hooks: readonly Hook[], consult: Consult, signal: AbortSignal) {
    this.#hooks = hooks;
    this.#consult = consult;
    this.#signal = signal;
  }

  async pass(call: HookedCall): Promise<BeforeCall> {
    let current = call;
    let leastPower = Infinity;
    for (const hook of this.#hooks) {
      const answer = await this.#ask(hook, current);
      if (typeof answer === "string") return { kind: "refused", reason: answer };
      if (answer.text === current.input.text) continue;
      current = { ...current, input: answer };
      leastPower = Math.min(leastPower, POWER[hook.scope]);
      this.#notices.push({ code: "hook_changed_input", text: `${nameOf(hook)} changed the input of "${call.name}"` });
    }
    const objection = await this.#askAgain(current, leastPower);
    if (objection !== null) return { kind: "refused", reason: objection };
    const changed = current.input.text !== call.input.text;
    return { kind: "passed", input: current.input, changed, wanted_approval: this.#wanted, notices: this.#notices };
  }

  /** H5, for those more powerful than whoever changed the input. They come first, so they saw an older one. */
  async #askAgain(call: HookedCall, leastPower: number): Promise<string | null> {
    for (const hook of this.#hooks.filter(({ scope }) => POWER[scope] > leastPower)) {
      const answer = await this.#ask(hook, call);
      if (typeof answer === "string") return answer;
      if (answer.text !== call.input.text) {
        return `Hooks do not agree on the input of "${call.name}": ${
          nameOf(hook)
        } would change again what another changed after it. It was not run.`;
      }
    }
    return null;
  }

  /** The input as the hook leaves it, or why the call is refused. */
  async #ask(hook: Hook, call: HookedCall): Promise<JsonInput | string> {
    const { decision } = await this.#consult(hook, { call }, this.#signal);
    switch (decision.kind) {
      case "passed":
        return call.input;
      case "denied":
        return decision.reason ?? `${nameOf(hook)} refused this call and gave no reason. "${call.name}" was not run.`;
      case "wants_approval":
        this.#wanted ??= decision.reason ?? `${nameOf(hook)} wants approval for "${call.name}"`;
        return call.input;
      case "modified":
        return decision.input;
      case "modified_nothing":
        this.#notices.push({ code: "hook_ignored", text: `${nameOf(hook)} said "modify" without an input: the input stays as it was` });
        return call.input;
      case "failed":
        return `${nameOf(hook)} gave no verdict, so "${call.name}" was not run: ${decision.message}`;
    }
  }
}

async function tell(hooks: readonly Hook[], consult: Consult, fields: Fields, signal: AbortSignal): Promise<readonly HookNotice[]> {
  const notices: HookNotice[] = [];
  if (hooks.length === 0) return notices;
  const late = delayed(signal, LAST_WORD_MS);
  for (const hook of hooks) {
    const { decision } = await consult(hook, fields, late.signal);
    const notice = complaint(hook, decision, "it cannot change what has happened");
    if (notice !== null) notices.push(notice);
  }
  late.forget();
  return notices;
}

/** What has happened has to be told also when nothing else may begin: aborts that much later. */
function delayed(signal: AbortSignal, by_ms: number): { readonly signal: AbortSignal; forget(): void } {
  const own = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = () => void (timer = setTimeout(() => own.abort(signal.reason), by_ms));
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return {
    signal: own.signal,
    forget: () => {
      signal.removeEventListener("abort", start);
      clearTimeout(timer);
    },
  };
}

async function collectStartText(hooks: readonly Hook[], consult: Consult, signal: AbortSignal) {
  const notices: HookNotice[] = [];
  const texts: string[] = [];
  for (const hook of hooks) {
    const { decision } = await consult(hook, {}, signal);
    if (decision.kind === "passed") texts.push(decision.text.trim());
    const notice = complaint(hook, decision, "it can only add to the system text");
    if (notice !== null) notices.push(notice);
  }
  return { text: cutToCharacters(texts.filter((each) => each !== "").join("\n\n").toWellFormed(), START_TEXT_CHARACTERS), notices };
}

function cutToCharacters(text: string, most: number): string {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const { head, tail } = divideCap(most - 100);
  const missing = new TextEncoder().encode(characters.slice(head, -tail).join("")).length;
  return `${characters.slice(0, head).join("")}\n${omissionMarker(missing)}\n${characters.slice(-tail).join("")}`;
}

async function holdOpen(
  hooks: readonly Hook[],
  consult: Consult,
  { final_text, consultation }: { final_text: string; consultation: number },
  signal: AbortSignal,
) {
  const notices: HookNotice[] = [];
  if (consultation > STOP_CONSULTATIONS) return { text: null, notices };
  for (const hook of hooks) {
    const { decision, run } = await consult(hook, { final_text }, signal);
    if (decision.kind === "denied" && exitedWell(run)) {
      const last = consultation === STOP_CONSULTATIONS ? " This is the last time that a hook holds this turn open." : "";
      return { text: `[stop hook] ${decision.reason ?? "The work is not finished."}${last}`, notices };
    }
    const notice = complaint(hook, decision, "it can only let the turn end or hold it open");
    if (notice !== null) notices.push(notice);
  }
  return { text: null, notices };
}

/** At the end of a turn only a decision holds it open; an exit status is a failure of the hook. */
function exitedWell(run: Run | null): boolean {
  return run?.outcome.kind === "exited" && run.outcome.code === 0;
}

function complaint(hook: Hook, decision: HookDecision, instead: string): HookNotice | null {
  switch (decision.kind) {
    case "passed":
      return null;
    case "failed":
      return { code: "hook_failed", text: `${nameOf(hook)} failed: ${decision.message}` };
    case "denied":
      return { code: "hook_failed", text: `${nameOf(hook)} objected, but ${instead}: ${decision.reason ?? "it gave no reason"}` };
    case "wants_approval":
    case "modified":
    case "modified_nothing":
      return { code: "hook_ignored", text: `${nameOf(hook)} decided something that has no effect for ${hook.event}: ${instead}` };
  }
}

function nameOf(hook: Hook): string {
  return `The ${hook.event} hook ${hook.where}`;
}
