/** Whether tools can change the workspace: a container's user often is not the one whose folder it was given. */
import { accessSync, constants } from "node:fs";
import process from "node:process";
import type { Finding } from "./finding.ts";

export function checkGround(workspace: string): readonly Finding[] {
  try {
    accessSync(workspace, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    const user = process.getuid?.() === undefined ? "this user" : `this user (${process.getuid()})`;
    return [{
      check: "tools",
      level: "warning",
      text: `Tools can make no files in ${workspace}, as ${user} cannot write there (${
        (error as NodeJS.ErrnoException).code ?? String(error)
      })`,
      remedy: 'Run it as the user whose folder it is (docker run --user "$(id -u):$(id -g)"), or mount it to be written to',
    }];
  }
}
