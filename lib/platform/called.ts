/** The name that the program was called by: an installation may have it as "stella" too, and anybody may link to it. */
import { basename } from "node:path";
import process from "node:process";
import { isCompiled, isOwnProgram } from "./self.ts";

/** What may stand in a shell's script as it is. */
export const COMMAND_NAME = /^[\w][\w.-]*$/;

/** As it stands in every command line that we tell somebody to type. */
export function calledName(): string {
  const name = isOwnProgram() && isCompiled ? basename(process.argv0) : "orrery";
  return COMMAND_NAME.test(name) ? name : "orrery";
}
