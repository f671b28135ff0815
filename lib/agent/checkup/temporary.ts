/** Whether there is a folder for temporary files. On Linux Orrery itself needs none; shells, Python and many tools do. */
import { closeSync, mkdtempSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../config/paths.ts";
import { bun } from "../../platform/host.ts";
import { openInput } from "../../platform/input-file.ts";
import { mountWith } from "../../platform/mounts.ts";
import type { Finding } from "./finding.ts";

const REMEDY = "Mount one there (docker run --tmpfs /tmp:exec), or set TMPDIR to a folder that this user can write to";

/** @param hold as a call's input is held: throws if there is no place for it. */
export function checkTemporary(env: Environment, hold: () => void = holdInput): readonly Finding[] {
  const folder = env["TMPDIR"] || "/tmp";
  try {
    rmdirSync(mkdtempSync(join(folder, ".orrery-")));
    return startsNothing(folder);
  } catch (error) {
    const text = `Temporary files cannot be made in ${folder} (${messageOf(error)})`;
    const inputs = findFault(hold);
    if (inputs !== null) {
      return [{ check: "machine", level: "error", text: `${text}, so no script tool or hook runs: ${inputs}`, remedy: REMEDY }];
    }
    const whose = "Orrery needs none, but many tools and scripts do, a shell's long here-document among them";
    return [{ check: "machine", level: "warning", text: `${text}: ${whose}`, remedy: REMEDY }];
  }
}

/** As engines mount one if not told otherwise. */
function startsNothing(folder: string): readonly Finding[] {
  const mount = mountWith("noexec", folder);
  if (mount === null) return [];
  return [{
    check: "machine",
    level: "note",
    text: `Nothing can be started from ${folder}, as ${mount} is mounted noexec: what builds or unpacks a program there fails`,
    remedy: "Mount it with exec where tools do that (docker run --tmpfs /tmp:exec), or set TMPDIR to another folder",
  }];
}

/** On Deno it is a pipe. */
function holdInput(): void {
  if (bun !== null) closeSync(openInput("input"));
}

function findFault(hold: () => void): string | null {
  try {
    hold();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
