import { askServer, examine, type Finding } from "../../mod.ts";
import { toAgentOptions } from "../agent.ts";
import type { DoctorFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { type Out, printable, type Shell, wrap } from "../terminal.ts";
import { createWaiting } from "../waiting.ts";

export async function doctor(shell: Shell, flags: DoctorFlags): Promise<Ending> {
  const findings: Finding[] = [];
  // An endpoint may take its time.
  const waiting = createWaiting(shell.err, "checking");
  waiting.start();
  try {
    for await (const finding of flags.server === undefined ? examine({ env: shell.env, ...toAgentOptions(flags) }) : once(flags.server)) {
      findings.push(finding);
      waiting.stop();
      if (!flags.json) shell.out.write(`${toLines(finding, shell.out).join("\n")}\n`);
      waiting.start();
    }
  } finally {
    waiting.stop();
  }
  const ok = findings.every(({ level }) => level !== "error");
  if (flags.json) shell.out.write(`${JSON.stringify({ schema_version: 1, ok, findings })}\n`);
  return ok ? "completed" : "failed";
}

async function* once(server: string): AsyncGenerator<Finding> {
  yield await askServer(server);
}

function toLines(finding: Finding, { colors, columns }: Out): readonly string[] {
  const { check, level, text } = finding;
  const paint = level === "error" ? colors.red : level === "warning" ? colors.yellow : colors.dim;
  // Where there is no room for a second column, the text stands below.
  const indent = columns - INDENT >= LEAST_TEXT ? INDENT : 2;
  const room = columns - indent;
  const lines = [...wrap(printable(text), room), ...("remedy" in finding ? wrap(`-> ${printable(finding.remedy)}`, room) : [])];
  const [first = "", ...others] = lines;
  const label = paint(level.padEnd(8));
  const head = indent === INDENT
    ? [`${label}${colors.bold(check.padEnd(12))} ${first}`]
    : [label + colors.bold(check), " ".repeat(indent) + first];
  return [...head, ...others.map((line) => " ".repeat(indent) + line)];
}

/** Level, check, and what is between. */
const INDENT = 21;
const LEAST_TEXT = 32;
