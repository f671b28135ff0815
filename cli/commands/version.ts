import { describeHost } from "../../lib/platform/host.ts";
import { COMMIT, VERSION } from "../../lib/platform/version.ts";
import type { Ending } from "../ending.ts";
import type { VersionFlags } from "../flags.ts";
import type { Shell } from "../terminal.ts";
import { versionLine } from "../version-line.ts";

export async function version(shell: Shell, flags: VersionFlags): Promise<Ending> {
  if (flags.licenses) return await licenses(shell);
  const facts = { schema_version: 1, version: VERSION, commit: COMMIT, host: describeHost() };
  shell.out.write(`${flags.json ? JSON.stringify(facts) : versionLine()}\n`);
  return "completed";
}

async function licenses({ out, err }: Shell): Promise<Ending> {
  const { NOTICES } = await import("../../lib/platform/notices.ts");
  if (NOTICES === null) {
    err.write("orrery: Cannot show licences of an executable as this runs from source: each package in node_modules has its own\n");
    return "failed";
  }
  out.write(NOTICES);
  return "completed";
}
