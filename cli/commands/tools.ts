import { relative } from "node:path";
import type { Listing } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import type { ToolsFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import { oneLine, type Out, type Shell } from "../terminal.ts";

export async function tools(shell: Shell, flags: ToolsFlags): Promise<Ending> {
  return await withAgent<Ending>(shell, toAgentOptions(flags), async (agent) => {
    const { listings, notices } = await agent.toolbox();
    if (flags.json) {
      shell.out.write(`${JSON.stringify({ schema_version: 1, tools: listings, notices })}\n`);
      return "completed";
    }
    for (const listing of listings) shell.out.write(toLines(listing, agent.workspace, shell.out));
    // What concerns one tool stands beside it already.
    const others = notices.filter(({ code }) => !code.startsWith("tool_"));
    for (const { level, text } of others) shell.err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`);
    return "completed";
  });
}

function toLines(listing: Listing, workspace: string, { colors, columns }: Out): string {
  const { bold, dim, yellow } = colors;
  const status = listing.status.padEnd(9);
  const name = oneLine(listing.name ?? "?", 64);
  const head = `${listing.status === "offered" ? dim(status) : yellow(status)} ${bold(name.padEnd(16))} ${
    dim(whereFrom(listing, workspace))
  }`;
  const details = [listing.description, listing.reason ?? ""].filter((text) => text !== "");
  return [head, ...details.map((text) => `          ${oneLine(text, Math.max(40, columns - 11))}`), ""].join("\n");
}

function whereFrom({ origin, shadows }: Listing, workspace: string): string {
  const place = origin.path === undefined ? origin.system : oneLine(relative(workspace, origin.path), 120);
  return shadows === undefined ? place : `${place}, before ${shadows.length} other of that name`;
}
