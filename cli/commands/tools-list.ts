import { calledName } from "../../lib/platform/called.ts";
import { describeInert, listingsIn, type Mode, type ShownListing, UsageError, type Workshop } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import type { ToolsFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, printable, type Shell } from "../terminal.ts";
import { writeToolTable } from "../tool-table.ts";
import { whileWaiting } from "../waiting.ts";
import { validate } from "./tools-validate.ts";

export async function tools(shell: Shell, flags: ToolsFlags, folder?: string): Promise<Ending> {
  if (flags.validate) return await validate(shell, flags, folder);
  if (folder !== undefined) {
    throw new UsageError(
      `Cannot list the tools of "${folder}": ${calledName()} tools --validate ${folder} checks a folder, --workspace names another project`,
    );
  }
  return await withAgent<Ending>(shell, toAgentOptions(flags), async (agent) => {
    const workshop = await whileWaiting(shell.err, "asking tool files and servers", agent.equip());
    if (flags.json) shell.out.write(`${JSON.stringify(toObject(workshop))}\n`);
    else writeForPeople(shell, workshop);
    return "completed";
  });
}

/** That of a session that is begun with these settings. */
function modeOf({ policy }: Workshop): Mode {
  return policy.configuration.plain.mode?.value ?? "auto-accept";
}

function toObject(workshop: Workshop): object {
  const { toolbox, policy, notices, live } = workshop;
  const toRow = (listing: ShownListing) => ({
    ...listing,
    ...(policy.always_allow.has(ruleName(listing)) ? { always_allowed: true } : {}),
  });
  return { schema_version: 1, tools: listingsIn(modeOf(workshop), toolbox).map(toRow), servers: live?.servers ?? [], notices };
}

function ruleName({ name, rule_name }: ShownListing): string {
  return rule_name ?? name ?? "";
}

const BESIDE_ITS_SERVER = ["server_untrusted", "mcp_server_failed", "mcp_server_lost"];

function writeForPeople(shell: Shell, workshop: Workshop): void {
  writeToolTable(shell.out, workshop, modeOf(workshop));
  const inert = describeInert(workshop.policy.trust, workshop.workspace);
  if (inert !== "") shell.err.write(`\n${printable(inert)}\n`);
  // What concerns one tool stands beside it already.
  const others = workshop.notices.filter(({ level, code }) =>
    level !== "info" && !code.startsWith("tool_") && !BESIDE_ITS_SERVER.includes(code) && code !== "workspace_untrusted"
  );
  const ignored = workshop.notices.filter(({ code }) => code === "ignored_file");
  const named = ignored.slice(0, MOST_IGNORED);
  for (const { level, text } of [...others, ...named]) shell.err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`);
  const more = ignored.length - named.length;
  if (more > 0) shell.err.write(`orrery: info: ${more} more files are not read: ${calledName()} tools --validate names them\n`);
}

const MOST_IGNORED = 5;
