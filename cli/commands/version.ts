import { describeHost } from "../../lib/platform/host.ts";
import { COMMIT, VERSION } from "../../lib/platform/version.ts";
import type { JsonFlag } from "../flags.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";
import { versionLine } from "../version-line.ts";

export function version(shell: Shell, flags: JsonFlag): Ending {
  const facts = { schema_version: 1, version: VERSION, commit: COMMIT, host: describeHost() };
  shell.out.write(`${flags.json ? JSON.stringify(facts) : versionLine()}\n`);
  return "completed";
}
