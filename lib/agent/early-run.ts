/** One run that starts while the model still streams: by what it is known, how it starts, how its end is recorded. */
import type { JsonInput } from "../session/json.ts";
import { NOTHING_CAPTURED, type Run } from "../session/launch.ts";
import type { Plan, Tool } from "../tools/tool.ts";
import { EarlyTalk } from "./early-talk.ts";
import { newSpeculationId, now } from "./ids.ts";
import { isAsPlanned, type ProgramDigests, programDigests, programFingerprint, saysItsProgram } from "./program.ts";
import type { TurnPorts } from "./turn.ts";

export interface EarlyRun {
  readonly identity: string;
  readonly speculation: string;
  /** What its program was when it started. */
  readonly program: Promise<string>;
  readonly tool: Tool;
  readonly input: JsonInput;
  readonly stop: AbortController;
  readonly talk: EarlyTalk;
  readonly finished: Promise<Run>;
  /** Once it has ended. */
  run: Run | null;
}

/** An early run that a call has taken over. */
export interface Claimed {
  readonly speculation: string;
  readonly talk: EarlyTalk;
  /** Whether it has ended by now. */
  readonly ended: boolean;
  /** Its end; null if that does not fit after all, and the call must run itself. */
  readonly settled: Promise<Settled | null>;
}

export interface Settled {
  readonly run: Run;
  /** False of one that was ended together with the turn: the call ends so too, but its result is not used. */
  readonly adopted: boolean;
}

export interface Wanted {
  readonly identity: string;
  /** Among equal ones, from 1. */
  readonly number: number;
  readonly tool: Tool;
  readonly input: JsonInput;
}

/** Starts what is wanted, if there is a launch in it; `freed` is called once it has ended. */
export function startEarly(wanted: Wanted, ports: TurnPorts, cancelled: AbortSignal, freed: () => void): EarlyRun | null {
  const { tool, input } = wanted;
  const plan = tool.plan(input, ports.planContext(null));
  if (plan.kind !== "launch") return null;
  const speculation = newSpeculationId();
  const stop = new AbortController();
  const talk = new EarlyTalk();
  const { durable } = ports.recorder.mustRecord({ type: "start_speculation", at: now(), speculation, name: tool.name, input });
  const program = programFingerprint(plan);
  // The call that takes it over wants them: those of a large program are made while the model still writes.
  const digests = programDigests(plan);
  const begun: Begun = { speculation, plan, program, digests, talk, signal: AbortSignal.any([stop.signal, cancelled]) };
  const finished = durable.then(() => perform(begun, ports)).then((run) => {
    recordEnd(speculation, run, ports);
    early.run = run;
    return run;
  }).finally(freed);
  // A failed append ends the turn through the recorder.
  finished.catch(() => undefined);
  const early: EarlyRun = { ...wanted, speculation, stop, talk, finished, program, run: null };
  return early;
}

interface Begun {
  readonly speculation: string;
  readonly plan: Extract<Plan, { kind: "launch" }>;
  readonly program: Promise<string>;
  readonly digests: Promise<ProgramDigests>;
  readonly talk: EarlyTalk;
  readonly signal: AbortSignal;
}

async function perform(begun: Begun, { recorder, supervisor, session }: TurnPorts): Promise<Run> {
  const { speculation, plan, program, digests, talk, signal } = begun;
  if (saysItsProgram(plan) && !isAsPlanned(plan, await digests)) return UNRUN;
  // What is compared with it later was taken before the start.
  await program;
  return await supervisor.run({
    session,
    call: speculation,
    launch: plan.launch,
    signal,
    onSpawned: (identity) => void recorder.record({ type: "record_speculation_spawn", at: now(), speculation, ...identity }),
    onOutput: (stream, text) => talk.say({ kind: "printed", stream, text }),
    onMessage: (message) => talk.say({ kind: "sent", message }),
  });
}

function recordEnd(speculation: string, { outcome, duration_ms }: Run, { recorder }: TurnPorts): void {
  recorder.record({ type: "end_speculation", at: now(), speculation, outcome, duration_ms: Math.round(duration_ms * 10) / 10 });
}

/** Of a program that has changed: the call itself will say so. */
const UNRUN: Run = {
  outcome: { kind: "not_started", reason: "cannot_start" },
  stdout: NOTHING_CAPTURED,
  stderr: NOTHING_CAPTURED,
  duration_ms: 0,
  reaped: [],
};

/** By this equal calls are known, */
export function identityOf(name: string, input: JsonInput): string {
  return JSON.stringify([name, input.text]);
}

/** and by this the n-th of them. */
export function keyOf(identity: string, number: number): string {
  return `${number}:${identity}`;
}
