import { describeInert, type Listing, UsageError, type Workshop } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import type { ToolsFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, printable, type Shell } from "../terminal.ts";
import { writeToolTable } from "../tool-table.ts";
import { validate } from "./tools-validate.ts";

export async function tools(shell: Shell, flags: ToolsFlags, folder?: string): Promise<Ending> {
  if (flags.validate) return await validate(shell, flags, folder);
  if (folder !== undefined) {
    throw new UsageError(
      `Cannot list the tools of "${folder}": orrery tools --validate ${folder} checks a folder, --workspace names another project`,
    );
  }
  return await withAgent<Ending>(shell, toAgentOptions(flags), async (agent) => {
    const workshop = await agent.workshop();
    if (flags.json) shell.out.write(`${JSON.stringify(toObject(workshop))}\n`);
    else writeForPeople(shell, workshop);
    return "completed";
  });
}

function toObject({ toolbox, policy, notices }: Workshop): object {
  const toRow = (listing: Listing) => ({ ...listing, ...(policy.always_allow.has(listing.name ?? "") ? { always_allowed: true } : {}) });
  return { schema_version: 1, tools: toolbox.listings.map(toRow), notices };
}

function writeForPeople(shell: Shell, workshop: Workshop): void {
  writeToolTable(shell.out, workshop);
  const inert = describeInert(workshop.policy.trust, workshop.workspace);
  if (inert !== "") shell.err.write(`\n${printable(inert)}\n`);
  // What concerns one tool stands beside it already.
  const others = workshop.notices.filter(({ level, code }) =>
    (level !== "info" || code === "ignored_file") && !code.startsWith("tool_") && code !== "workspace_untrusted"
  );
  for (const { level, text } of others) shell.err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`);
}
