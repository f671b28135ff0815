/** Why a body cannot be loaded, in words that say what would be right. */
import type { Refusal } from "./shell-place.ts";
import { MOST_TAGS, type TagProblem } from "./template-tags.ts";

/** `at`: where in the body. `also`: another place that the message names, as `$line`. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly at: number;
  readonly also?: number;
}

export function faultOfTag({ code, name, at, open }: TagProblem): Fault {
  switch (code) {
    case "unclosed_section":
      return { code, at, message: `Section "${name}" is never closed`, remedy: `Write {{/ ${name} }} where it ends.` };
    case "stray_close":
      return { code, at, message: `{{/ ${name} }} closes no section`, remedy: `Write {{# ${name} }} where it begins, or remove it.` };
    case "too_many_tags":
      return {
        code,
        at,
        message: `The body has more than ${MOST_TAGS} tags`,
        remedy: "Move the script to a file of its own and pass the values as arguments.",
      };
    case "crossed_sections":
      return {
        code,
        at,
        message: `{{/ ${name} }} comes while section "${open?.name ?? ""}" of line $line is open`,
        remedy: "Close the inner section first.",
        ...(open === undefined ? {} : { also: open.at }),
      };
  }
}

export function faultOfRefusal(at: number, { code, why, at: since }: Refusal): Fault {
  const { message, remedy } = REFUSALS[code];
  const told = message.replace("$why", () => why ?? "");
  return { code: `tag_${code}`, at, message: told, remedy, ...(since === undefined ? {} : { also: since }) };
}

const IN_A_VARIABLE = "Put the value into a variable first (name={{ name }}) and use that here.";

const REFUSALS: Readonly<Record<Refusal["code"], { readonly message: string; readonly remedy: string }>> = {
  after_dollar: {
    message: "A tag cannot stand right after `$`: the shell would read its quotes as part of an expansion",
    remedy: "Escape the dollar in double quotes or put it in single quotes, away from the tag.",
  },
  after_backslash: {
    message: "A tag cannot stand right after a backslash: it would take the quote away from the value",
    remedy: "Remove the backslash: the value is quoted already.",
  },
  arithmetic: {
    message: "A tag cannot stand in arithmetic: the shell runs commands that it finds in a subscript there",
    remedy: "Check the value first: case {{ name }} in (*[!0-9]*) exit 2;; esac, then use a variable.",
  },
  read_twice: {
    message: "A tag cannot stand here: bash reads this word a second time, without its quotes, and runs commands that it finds in it",
    remedy: "Assign the value first, with nothing but name={{ name }}, and use the variable in another way.",
  },
  backticks_in_quotes: {
    message: "A tag cannot stand in backticks inside double quotes: shells take out its backslashes differently",
    remedy: "Write $(…) instead of the backticks.",
  },
  here_delimiter: { message: "A tag cannot be the delimiter of a here-document", remedy: "Write a fixed word." },
  here_end: {
    message:
      "A tag cannot stand on a line that begins with the delimiter of its here-document inside $(…): bash may take the line for the end",
    remedy: "Choose another delimiter.",
  },
  parameter: {
    message:
      "A tag cannot stand here in `${…}`: inside double quotes and here-documents shells read it differently, and a name must be written out",
    remedy: IN_A_VARIABLE,
  },
  ansi_in_sh: {
    message: "A tag cannot stand in `$'…'` for sh: not every sh knows it",
    remedy: "Write plain quotes, or declare shell: bash.",
  },
  unreadable: { message: "A tag cannot stand here, as the quoting is not certain after $why (line $line)", remedy: IN_A_VARIABLE },
  ambiguous: {
    message: "A tag cannot stand here, as its quoting depends on which sections are kept or which values are given",
    remedy: "Let each section begin and end in the same quotes.",
  },
  entangled: { message: "Sections change the quoting in too many ways", remedy: "Let each section begin and end in the same quotes." },
};
