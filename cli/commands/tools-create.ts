import { relative } from "node:path";
import { calledName } from "../../lib/platform/called.ts";
import { withAgent } from "../agent.ts";
import type { CreateToolFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";

export async function createTool(shell: Shell, flags: CreateToolFlags, name: string): Promise<Ending> {
  const { format } = flags;
  return await withAgent<Ending>(shell, flags.workspace === undefined ? {} : { workspace: flags.workspace }, async (agent) => {
    const { tool, files } = await agent.createTool({ name, format });
    if (flags.json) {
      shell.out.write(`${JSON.stringify({ schema_version: 1, tool, format, files })}\n`);
      return "completed";
    }
    const [definition = "", ...others] = files.map((file) => relative(agent.workspace, file));
    for (const file of [definition, ...others]) shell.out.write(`${file}\n`);
    shell.err.write(`
"${tool}" works as it is, and is trusted as it is:
  ${calledName()} tools call ${tool} --input '{"message":"hello"}'${
      format === "nanocoder" ? "   (asks on the terminal before it runs)" : ""
    }
After a change of ${definition}: ${calledName()} tools --validate, then ${calledName()} trust
`);
    return "completed";
  });
}
