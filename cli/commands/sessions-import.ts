import { createReadStream, statSync } from "node:fs";
import process from "node:process";
import { type Imported, UsageError } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { Ending } from "../ending.ts";
import type { JsonFlag } from "../flags.ts";
import type { Shell } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function importSession(shell: Shell, flags: JsonFlag, file: string): Promise<Ending> {
  const lines: AsyncIterable<Uint8Array> = file === "-" ? process.stdin : openFile(file);
  const imported = await whileWaiting(shell.err, "importing", withAgent(shell, {}, (agent) => agent.import(lines)));
  shell.out.write(flags.json ? `${JSON.stringify({ schema_version: 1, ...imported })}\n` : `${imported.session}\n`);
  if (imported.open_turn !== null) shell.err.write(`orrery: warning: ${isOpen(imported)}\n`);
  return "completed";
}

function isOpen({ open_turn, session }: Imported): string {
  return `turn ${open_turn} of ${session} is open, and may go on where the session comes from: what it does there is not known here. ` +
    "Resume it here only if it does not";
}

function openFile(file: string): AsyncIterable<Uint8Array> {
  try {
    if (!statSync(file).isDirectory()) return createReadStream(file);
  } catch (error) {
    throw new UsageError(
      `Cannot import "${file}" as it cannot be read (${
        (error as Error).message
      }): name a file that export printed, or - for standard input`,
    );
  }
  throw new UsageError(`Cannot import "${file}" as it is a directory: name a file, or - for standard input`);
}
