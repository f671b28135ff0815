/** One turn driven by the command line: opened, shown, stopped by signals, and turned into an ending. */
import type { AgentOptions, ModelErrorKind, Runtime, TurnOptions, TurnResult } from "../mod.ts";
import { toAgentOptions, withAgent } from "./agent.ts";
import { Asker } from "./asker.ts";
import type { TurnFlags } from "./flags.ts";
import type { Ending } from "./ending.ts";
import { endingOfError } from "./errors.ts";
import { UsageError } from "../mod.ts";
import { type Interruption, listenForInterruption } from "./interruption.ts";
import { createPresenter, type Presenter } from "./presenter.ts";
import type { Shell } from "./terminal.ts";

/** Runs a turn and tells the presenter of it. */
export type Drive = (agent: Runtime, presenter: Presenter, options: TurnOptions, asker: Asker) => Promise<TurnResult>;

/** @param prepare what is needed before anything is opened, such as a prompt. */
export async function driveTurn(shell: Shell, flags: TurnFlags, prepare: () => Promise<Drive>): Promise<Ending> {
  const asker = new Asker(shell);
  const presenter = createPresenter(asker.shell, flags.outputFormat, flags.events);
  try {
    if (flags.events && flags.outputFormat !== "json") {
      throw new UsageError("Cannot add events to this output: --events needs --output-format json");
    }
    const began = performance.now();
    const drive = await within(flags.timeout, prepare());
    const left = flags.timeout === undefined ? null : Math.max(0, flags.timeout * 1000 - (performance.now() - began));
    return await driveInterruptibly(asker, flags, presenter, drive, left);
  } catch (error) {
    const outOfTime = error instanceof WallClockReached;
    presenter.fail(error, outOfTime ? "timeout" : await endingOfError(error) ?? "failed");
    if (!outOfTime) throw error;
    shell.err.write(`orrery: ${error.message}\n`);
    return "timeout";
  }
}

/** `--timeout` ran out before there was a turn. */
class WallClockReached extends Error {
  override readonly name = "WallClockReached";
}

async function within<T>(seconds: number | undefined, work: Promise<T>): Promise<T> {
  if (seconds === undefined) return await work;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new WallClockReached(`wall clock of ${seconds} s reached before there was a prompt`)),
    seconds * 1000,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function driveInterruptibly(
  asker: Asker,
  flags: TurnFlags,
  presenter: Presenter,
  drive: Drive,
  timeout_ms: number | null,
): Promise<Ending> {
  const interruption = listenForInterruption(asker.shell);
  const timeout = timeout_ms === null ? {} : { timeout_ms };
  const options = { stop: interruption.stop, now: interruption.now, ...timeout };
  try {
    const late = timeout_ms === null ? [] : [AbortSignal.timeout(timeout_ms)];
    const agentOptions = { ...toTurnAgentOptions(asker, flags, presenter), stop: AbortSignal.any([interruption.stop, ...late]) };
    const result = await withAgent(asker.shell, agentOptions, (agent) => drive(agent, presenter, options, asker));
    return endingOf(result, interruption);
  } finally {
    interruption.close();
  }
}

function toTurnAgentOptions(asker: Asker, flags: TurnFlags, presenter: Presenter): AgentOptions {
  const approver = asker.approver(() => presenter.pause());
  return {
    ...toAgentOptions(flags),
    ...(flags.maxSteps === undefined ? {} : { maxSteps: flags.maxSteps }),
    ...(approver === null ? {} : { approver }),
    ...(flags.speculation === undefined ? {} : { speculation: flags.speculation }),
  };
}

/** A turn that reached its end did so, even if somebody asked it to stop at the last moment. */
export function endingOf(result: TurnResult, { cause }: Pick<Interruption, "cause">): Ending {
  if (result.reason === "completed") return result.unanswered ? "unanswered" : "completed";
  if (cause !== null) return cause;
  if (result.timed_out) return "timeout";
  if (result.reason === "failed") return result.error === undefined ? "failed" : endingOfModelError(result.error.kind);
  return "stopped";
}

function endingOfModelError(kind: ModelErrorKind): Ending {
  switch (kind) {
    case "unreachable":
    case "auth":
      return "endpoint";
    case "unknown_model":
      return "configuration";
    case "transport":
    case "idle_timeout":
    case "overloaded":
    case "rate_limited":
    case "context_overflow":
    case "malformed":
    case "rejected":
      return "failed";
  }
}
