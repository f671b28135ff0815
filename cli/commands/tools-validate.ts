import { relative, resolve } from "node:path";
import process from "node:process";
import { calledName } from "../../lib/platform/called.ts";
import { type Diagnostic, hasErrors, type ValidatedFile } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import type { ToolsFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, type Out, printable, type Shell, wrap } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function validate(shell: Shell, flags: ToolsFlags, folder?: string): Promise<Ending> {
  return await withAgent<Ending>(shell, toAgentOptions(flags), async (agent) => {
    const asked = agent.validate(folder === undefined ? undefined : resolve(process.cwd(), folder));
    const files = await whileWaiting(shell.err, "asking tool files", asked);
    const broken = files.filter(({ diagnostics }) => hasErrors(diagnostics)).length;
    if (flags.json) {
      shell.out.write(`${JSON.stringify({ schema_version: 1, ok: broken === 0, files })}\n`);
    } else {
      for (const file of files) shell.out.write(`${toLines(file, agent.workspace, shell.out).join("\n")}\n`);
      shell.err.write(`${summary(files, broken)}\n`);
    }
    return broken === 0 ? "completed" : "configuration";
  });
}

function toLines(
  { path, tool, tools = tool === undefined ? [] : [tool], diagnostics }: ValidatedFile,
  workspace: string,
  out: Out,
): readonly string[] {
  const within = relative(workspace, path);
  const place = oneLine(within.startsWith("..") ? path : within, 400);
  const head = `${out.colors.bold(place)}${tools.length === 0 ? "" : ` (${oneLine(tools.join(", "), 200)})`}`;
  return diagnostics.length === 0 ? [`${head} ok`] : [head, ...diagnostics.flatMap((said) => describe(said, out))];
}

function describe({ severity, line, column, message, remedy }: Diagnostic, { colors, columns }: Out): readonly string[] {
  const place = line === undefined ? "" : ` ${line}${column === undefined ? "" : `:${column}`}`;
  const text = printable(message).replace(/[^.!?]$/, "$&.");
  const [first = "", ...rest] = wrap(`${severity}${place}: ${text} ${printable(remedy)}`, columns - 4);
  const paint = severity === "error" ? colors.red : severity === "warning" ? colors.yellow : colors.dim;
  return [`  ${paint(first)}`, ...rest.map((more) => `    ${paint(more)}`)];
}

function summary(files: readonly ValidatedFile[], broken: number): string {
  if (files.length === 0) return `No tool files were found: ${calledName()} tools create NAME writes one`;
  const warned = files.filter(({ diagnostics }) => !hasErrors(diagnostics) && diagnostics.some(({ severity }) => severity === "warning"));
  return `${files.length} checked: ${broken} with errors, ${warned.length} with warnings only`;
}
