/** Texts that are written for the name "orrery", under the name that the program was called by. */
import { calledName } from "../lib/platform/called.ts";

/** Command lines in a text of ours, as they are to be typed under that name. */
export function asCalled(text: string, name: string = calledName()): string {
  return name === "orrery" ? text : text.replace(/(?<![\w./-])orrery(?= )/g, name);
}
