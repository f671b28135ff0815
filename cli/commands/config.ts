import { type ConfigurationRow, describeSource, listConfiguration, type Workshop } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import type { ConfigFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, type Out, type Shell, wrap } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function config(shell: Shell, flags: ConfigFlags): Promise<Ending> {
  return await withAgent<Ending>(shell, toAgentOptions(flags), async (agent) => {
    const workshop = await whileWaiting(shell.err, "asking tool files", agent.workshop());
    const rows = listConfiguration(workshop.policy.configuration);
    if (flags.json) shell.out.write(`${JSON.stringify(toObject(workshop, rows))}\n`);
    else for (const row of rows) shell.out.write(`${toLines(row, flags.origin, shell.out).join("\n")}\n`);
    for (const { level, text } of flags.json ? [] : noticesOf(workshop)) shell.err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`);
    return "completed";
  });
}

function toObject(workshop: Workshop, rows: readonly ConfigurationRow[]): object {
  const { workspace, policy } = workshop;
  return {
    schema_version: 1,
    workspace,
    trusted: policy.trust.verdict.kind === "trusted",
    settings: rows.map(({ key, value, source: { position, ...source }, inert }) => ({
      key,
      value,
      source: { ...source, ...position },
      ...(inert === undefined ? {} : { inert }),
    })),
    notices: noticesOf(workshop),
  };
}

/** Of the settings alone. */
function noticesOf({ policy, notices }: Workshop): Workshop["notices"] {
  return [...policy.notices, ...notices.filter(({ code }) => code.endsWith("_matches_nothing"))];
}

function toLines({ key, value, source, inert }: ConfigurationRow, origin: boolean, { colors, columns }: Out): readonly string[] {
  const shown = oneLine(typeof value === "string" ? value : JSON.stringify(value), 400);
  return [
    `${colors.bold(oneLine(key, 200))} = ${shown}`,
    ...(origin ? wrap(`from ${describeSource(source)}`, columns - 2).map((line) => `  ${colors.dim(line)}`) : []),
    ...(inert === undefined ? [] : [`  ${colors.yellow(`does not count: ${inert}`)}`]),
  ];
}
