/** The name that the program was called by: an installation may have it as "stella" too, and anybody may link to it. */
import { basename } from "node:path";
import process from "node:process";
import { isCompiled } from "../lib/platform/self.ts";

/** What may stand in a shell's script as it is. */
export const COMMAND_NAME = /^[\w][\w.-]*$/;

export function calledName(): string {
  const name = isCompiled ? basename(process.argv0) : "orrery";
  return COMMAND_NAME.test(name) ? name : "orrery";
}

/** Command lines in a text of ours, as they are to be typed under that name. */
export function asCalled(text: string, name: string = calledName()): string {
  return name === "orrery" ? text : text.replace(/(?<![\w./-])orrery(?= )/g, name);
}
