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
  const { message, remedy } = since === undefined && why !== undefined && code in HELD ? HELD[code as keyof typeof HELD] : REFUSALS[code];
  const told = message.replace("$why", () => since !== undefined || /^\w+$/.test(why ?? "") ? why ?? "" : "What stands here");
  return { code: `tag_${code}`, at, message: told, remedy, ...(since === undefined ? {} : { also: since }) };
}

const IN_A_VARIABLE = "Put the value into a variable first (name={{ name }}) and use that here.";

const LIMITED =
  "Declare the parameter as type: integer, or give it a pattern of digits such as '^[0-9]+$'; where it is text, pass it as an argument instead.";

/** A variable stands there, or what a command printed. */
const HELD = {
  arithmetic: {
    message: "$why holds a value, and the shell runs commands that it finds in a subscript of what it calculates here",
    remedy: LIMITED,
  },
  read_twice: {
    message: "$why holds a value, and bash reads it a second time here and runs commands that it finds in it",
    remedy: LIMITED,
  },
  split: {
    message:
      "$why holds a value, and without quotes its words become operators of `test`, which runs commands that it finds in a subscript",
    remedy: "Quote it, or write [[ … ]].",
  },
} as const;

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
    remedy:
      "Assign it first (n={{ name }}) and use n here. That is let through for type: integer, or with a pattern of digits such as '^[0-9]+$'.",
  },
  read_twice: {
    message: "A tag cannot stand here: bash reads this word a second time, without its quotes, and runs commands that it finds in it",
    remedy: LIMITED,
  },
  split: {
    message:
      "What is printed here holds a value, and its words become operators of `test`, which runs commands that it finds in a subscript",
    remedy: "Put double quotes around it, or write [[ … ]].",
  },
  list: {
    message: "A list cannot stand here: its first element would be what is meant, and the second would become a command or another name",
    remedy: "Assign an array, name=({{ name }}), or take one value.",
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
  too_costly: {
    message: "The quoting takes too long to follow, here or in the files before this one",
    remedy: "Move the script to a file of its own and pass the values as arguments.",
  },
  entangled: { message: "Sections change the quoting in too many ways", remedy: "Let each section begin and end in the same quotes." },
};
