/** Whether tools can change the workspace: a container's user often is not the one whose folder it was given. */
import process from "node:process";
import { writeRefusal } from "../../platform/mounts.ts";
import type { Finding } from "./finding.ts";

export function checkGround(workspace: string): readonly Finding[] {
  const refusal = writeRefusal(workspace);
  if (refusal === null) return [];
  const id = process.getuid?.();
  return [{
    check: "tools",
    level: "warning",
    text: `Tools can make no files in ${workspace}, as this user${id === undefined ? "" : ` (${id})`} cannot write there (${refusal})`,
    remedy: 'Run it as the user whose folder it is (docker run --user "$(id -u):$(id -g)"), or mount it to be written to',
  }];
}
