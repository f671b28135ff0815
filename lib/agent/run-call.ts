/** Where the result of a call that is recorded as started comes from: its own run, or one that began while the model wrote. */
import * as v from "valibot";
import type { JsonInput } from "../session/json.ts";
import type { Run } from "../session/launch.ts";
import { unstarted } from "../supervisor/unstarted.ts";
import { toLiveEvent, WireMessage } from "../tools/sdk/wire.ts";
import type { Plan, Tool } from "../tools/tool.ts";
import type { Claimed } from "./early-run.ts";
import type { Said } from "./early-talk.ts";
import { now } from "./ids.ts";
import { type ProgramDigests, programFingerprint } from "./program.ts";
import type { Turn, TurnPorts } from "./turn.ts";

export type ReadyPlan = Exclude<Plan, { kind: "unable" }>;

export interface PlannedCall {
  readonly call: string;
  readonly tool: Tool;
  readonly input: JsonInput;
  readonly plan: ReadyPlan;
  readonly digests: ProgramDigests;
  /** What its program is, in one text. */
  readonly program: string;
}

export interface Performed {
  readonly run: Run;
  /** The early run whose result it is. */
  readonly speculation?: string;
}

export async function runCall({ call, plan }: PlannedCall, durable: Promise<void>, { ports, signals }: Turn): Promise<Performed> {
  await durable;
  const { session, recorder, feed } = ports;
  if (plan.kind === "remote") {
    return { run: await plan.call(signals.now, signals.stop, (message) => feed.tell(toLiveEvent(session, message, call))) };
  }
  const tell = teller(call, ports);
  const run = await ports.supervisor.run({
    session,
    call,
    launch: plan.launch,
    signal: signals.now,
    // Rides with the next commit: an unsynced write survives the death of the runtime (design §4.5).
    onSpawned: (identity) => void recorder.record({ type: "record_spawn", at: now(), call, ...identity }),
    onOutput: (stream, text) => tell({ kind: "printed", stream, text }),
    onMessage: (message) => tell({ kind: "sent", message }),
  });
  return { run };
}

/**
 * What the early run says is the call's from now on. If it does not end well the call runs itself, and that is taken back;
 * `onUnfit` is called before.
 */
export async function takeOver(
  { talk, speculation, settled }: Claimed,
  planned: PlannedCall,
  durable: Promise<void>,
  turn: Turn,
  onUnfit: () => void,
): Promise<Performed> {
  const { call } = planned;
  const { feed, session } = turn.ports;
  const tell = teller(call, turn.ports);
  let printed = false;
  const telling = durable.then(() =>
    talk.tellTo((said) => {
      printed ||= said.kind === "printed";
      tell(said);
    })
  );
  // A failed append ends the turn through the recorder.
  telling.catch(() => undefined);
  // What has ended needs no start of its own on disk before its end: both ride with one commit.
  const end = await settled;
  if (end !== null) return end.adopted ? { run: end.run, speculation } : { run: end.run };
  onUnfit();
  await telling;
  if (printed) feed.tell({ type: "call_output", session, call, stream: "stdout", text: "", whole: true });
  return await runAfterAll(planned, turn);
}

/** The call is recorded as started, so it ends here even if it does not run. */
async function runAfterAll(planned: PlannedCall, turn: Turn): Promise<Performed> {
  const { tool, plan, program } = planned;
  const { signals, slots } = turn;
  const began = performance.now();
  if (!await slots.take(AbortSignal.any([signals.stop, signals.now]))) return { run: unstarted("cancelled", began) };
  try {
    if (await programFingerprint(plan) === program) return await runCall(planned, Promise.resolve(), turn);
    const problem = `"${tool.name}" was not run again, as its program has changed since this call began. Ask for it again.`;
    return { run: unstarted("cannot_start", began, problem) };
  } finally {
    slots.release();
  }
}

/** Tells those who watch what a tool prints and says. What is no message is passed over: anything may write to its channel. */
function teller(call: string, { session, feed }: TurnPorts): (said: Said) => void {
  return (said) => {
    if (said.kind === "printed") return feed.tell({ type: "call_output", session, call, stream: said.stream, text: said.text });
    const message = v.safeParse(WireMessage, said.message);
    if (message.success) feed.tell(toLiveEvent(session, message.output, call));
  };
}
