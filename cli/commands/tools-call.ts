import { calledName } from "../../lib/platform/called.ts";
import type { ToolCall } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import { Asker } from "../asker.ts";
import type { ToolCallFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { type Interruption, listenForInterruption } from "../interruption.ts";
import { formatMs, outcomeText } from "../narration.ts";
import { readToolInput } from "../prompt.ts";
import { oneLine, printable, type Shell } from "../terminal.ts";
import { createWaiting } from "../waiting.ts";

export async function callTool(terminal: Shell, flags: ToolCallFlags, name: string): Promise<Ending> {
  const text = await readToolInput(flags.input);
  const asker = new Asker(terminal);
  const { shell } = asker;
  const interruption = listenForInterruption(shell);
  const waiting = createWaiting(shell.err, `running ${name}`);
  try {
    const approver = asker.approver(() => waiting.stop(), () => waiting.start());
    const { stop, now } = interruption;
    const options = { ...toAgentOptions(flags), stop, journal: "memory" as const, ...(approver === null ? {} : { approver }) };
    waiting.start();
    const call = await withAgent(shell, options, (agent) => agent.callTool({ name, arguments: text }, { stop, now }));
    waiting.stop();
    if (flags.json) shell.out.write(`${JSON.stringify(toObject(call))}\n`);
    else writeResult(shell, call);
    return endingOf(call, interruption);
  } finally {
    waiting.stop();
    interruption.close();
  }
}

function toObject(call: ToolCall): object {
  const { tool, result, outcome, duration_ms, truncated, reaped, reaped_omitted, exports, env_withheld, printed, refusal, notices } = call;
  return {
    schema_version: 1,
    tool,
    ...result,
    outcome,
    duration_ms,
    ...(truncated === undefined ? {} : { truncated }),
    ...(reaped === undefined ? {} : { reaped }),
    ...(reaped_omitted === undefined ? {} : { reaped_omitted }),
    ...(exports === undefined ? {} : { exports }),
    ...(env_withheld === undefined ? {} : { env_withheld }),
    ...(printed === undefined ? {} : { printed }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

/** The result goes out as a model gets it; only on a terminal it is made harmless and ends its line. */
function writeResult(
  { out, err }: Shell,
  { tool, result, outcome, duration_ms, truncated, reaped = [], reaped_omitted = 0, exports, printed = "", refusal, notices }: ToolCall,
): void {
  const { text, is_error } = result;
  out.write(out.isTerminal ? `${printable(text).replace(/\n$/, "")}\n` : text);
  if (printed !== "") err.write(`${printable(printed).replace(/\n$/, "")}\n`);
  for (const { level, text } of notices) err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`);
  const withheld = exports?.withheld ?? [];
  const facts = [
    refusal === undefined ? outcomeText({ outcome, result }) : `refused: ${refusal.by}`,
    formatMs(duration_ms),
    ...(truncated === undefined ? [] : [`output cut (${truncated.stdout_bytes} + ${truncated.stderr_bytes} bytes)`]),
    ...(reaped.length === 0 ? [] : [`ended ${reaped.length + reaped_omitted} left behind`]),
    ...(withheld.length === 0 ? [] : [`not exported: ${withheld.map(({ name, reason }) => `${name} (${reason})`).join(", ")}`]),
  ];
  err.write(`${(is_error ? err.colors.red : err.colors.dim)(oneLine(`${tool}: ${facts.join(" · ")}`, 1000))}\n`);
  if (refusal === undefined) return;
  if (refusal.reason !== text) err.write(`orrery: ${oneLine(refusal.reason, 400)}\n`);
  const remedy = REMEDIES[refusal.by];
  if (remedy !== undefined) err.write(`orrery: ${remedy}\n`);
}

/** Where the refusal itself does not say what would change it. */
const REMEDIES: { readonly [By in NonNullable<ToolCall["refusal"]>["by"]]?: string } = {
  approval: "Call it on a terminal to be asked, with --mode yolo, or list it in alwaysAllow of your settings",
  mode: "Give another mode with --mode",
  switch: `${calledName()} config shows which setting turns it off`,
  unknown_tool: `${calledName()} tools lists the tools there are`,
  broken: `${calledName()} tools --validate says more`,
};

/** As with a run, who interrupts a call is told so, also where the safe point was the end of the call. */
function endingOf({ result, refusal }: ToolCall, { cause }: Interruption): Ending {
  if (cause !== null) return cause;
  switch (refusal?.by) {
    case undefined:
    case "schema":
    case "malformed":
      return result.is_error ? "failed" : "completed";
    case "unknown_tool":
      return "usage";
    case "broken":
      return "configuration";
    case "hook":
    case "mode":
    case "switch":
    case "approval":
    case "trust":
      return "refused";
  }
}
