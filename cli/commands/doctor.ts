import { askServer, examine, type Finding } from "../../mod.ts";
import { toAgentOptions } from "../agent.ts";
import type { DoctorFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { type Out, printable, type Shell, wrap } from "../terminal.ts";

export async function doctor(shell: Shell, flags: DoctorFlags): Promise<Ending> {
  const findings: Finding[] = [];
  const isWatched = shell.err.canRewrite && !flags.json;
  if (isWatched) shell.err.write(WAITING);
  for await (const finding of flags.server === undefined ? examine({ env: shell.env, ...toAgentOptions(flags) }) : once(flags.server)) {
    findings.push(finding);
    if (flags.json) continue;
    if (isWatched) shell.err.write(CLEAR);
    shell.out.write(`${toLines(finding, shell.out).join("\n")}\n`);
    if (isWatched) shell.err.write(WAITING);
  }
  if (isWatched) shell.err.write(CLEAR);
  const ok = findings.every(({ level }) => level !== "error");
  if (flags.json) shell.out.write(`${JSON.stringify({ schema_version: 1, ok, findings })}\n`);
  return ok ? "completed" : "failed";
}

/** An endpoint may take its time. */
const WAITING = "checking ...";
const CLEAR = "\r\x1b[K";

async function* once(server: string): AsyncGenerator<Finding> {
  yield await askServer(server);
}

function toLines(finding: Finding, { colors, columns }: Out): readonly string[] {
  const { check, level, text } = finding;
  const paint = level === "error" ? colors.red : level === "warning" ? colors.yellow : colors.dim;
  const room = Math.max(20, columns - INDENT);
  const lines = [...wrap(printable(text), room), ...("remedy" in finding ? wrap(`-> ${printable(finding.remedy)}`, room) : [])];
  return lines.map((line, index) =>
    index === 0 ? `${paint(level.padEnd(8))}${colors.bold(check.padEnd(12))} ${line}` : `${" ".repeat(INDENT)}${line}`
  );
}

/** Level, check, and what is between. */
const INDENT = 21;
