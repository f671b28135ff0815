/** One turn driven by the command line: opened, shown, stopped by signals, and turned into an ending. */
import type { AgentOptions, ModelErrorKind, Runtime, TurnOptions, TurnResult } from "../mod.ts";
import { toAgentOptions, withAgent } from "./agent.ts";
import { Asker } from "./asker.ts";
import type { TurnFlags } from "./flags.ts";
import type { Ending } from "./ending.ts";
import { endingOfError } from "./errors.ts";
import { JournalUnavailable, UsageError } from "../mod.ts";
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
    return await driveInterruptibly(asker, flags, presenter, drive, began);
  } catch (error) {
    const cutShort = error instanceof CutShort;
    presenter.fail(error, cutShort ? error.ending : await endingOfError(error) ?? "failed");
    if (!cutShort) throw error;
    shell.err.write(`orrery: ${error.message}\n`);
    return error.ending;
  }
}

/** `--timeout` ran out, or a second signal came, where there is no turn that could say so. */
class CutShort extends Error {
  override readonly name = "CutShort";
  constructor(readonly ending: Ending, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

async function within<T>(seconds: number | undefined, work: Promise<T>): Promise<T> {
  if (seconds === undefined) return await work;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new CutShort("timeout", `wall clock of ${seconds} s reached before there was a prompt`)),
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
  began: number,
): Promise<Ending> {
  const interruption = listenForInterruption(asker.shell);
  const { stop, now } = interruption;
  const timeout = flags.timeout === undefined ? null : { timeout_ms: flags.timeout * 1000, timeout_since: began };
  const late = timeout === null ? [] : [AbortSignal.timeout(Math.max(0, Math.ceil(began + timeout.timeout_ms - performance.now())))];
  const atOnce = AbortSignal.any([now, ...late]);
  try {
    const agentOptions = { ...toTurnAgentOptions(asker, flags, presenter), stop: AbortSignal.any([stop, ...late]), now: atOnce };
    const options = { stop, now, ...timeout };
    const result = await withAgent(asker.shell, agentOptions, (agent) => drive(agent, presenter, options, asker));
    return endingOf(result, interruption);
  } catch (error) {
    if (!atOnce.aborted || !(error instanceof JournalUnavailable)) throw error;
    throw new CutShort(interruption.cause ?? "timeout", error.message, { cause: error });
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
