/** What a command prints, as far as that says something of the values that it was given. */
import { printsInput } from "./shell-evaluation.ts";
import { allOf } from "./shell-scope.ts";
import { inputOf, PRINTED, printedBy } from "./shell-source.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, UNKNOWN } from "./shell-state.ts";

/** Words, each with a space behind it, of commands that print nothing but numbers. */
const NUMERIC = [
  /^wc (?:-[clmwL]+ |--(?:bytes|chars|lines|words) )*$/,
  /^nproc (?:--all )?$/,
  /^date (?:-u |-[dr] \S+ )*\+%-?[sNYmdHMSjuwy] $/,
  /^stat (?:-L )?(?:-[cf] ?|--format=)%[suagYXZWizmB] /,
  /^(?:grep|rg) (?:-[a-zA-Z]+ )*-[a-zA-Z]*c[a-zA-Z]* (?:-[a-zA-Z]+ )*(?:-- )?\S+ (?:[\w./][\w./-]* )?$/,
  /^tr -(?:cd|dc) (?:0-9|\[:digit:\])(?:\\n)? $/,
  /^grep -[a-zA-Z]*o[a-zA-Z]* (?:-- )?(?:\^?(?:\[0-9\]|\[\[:digit:\]\]|\\d)(?:\\?\+|\*)?\$?)+ $/,
  /^g?sed (?:-[Er] )?s\/\[\^0-9\](?:\+|\*)?\/\/g $/,
  /^[gmn]?awk (?:-F ?\S+ )?(?:END ?)?\{ ?print (?:NF|NR|length(?:\(\))?|\$\d+ ?\+ ?0) ?\} $/,
  /^expr \S+ (?:[-+/%*]|length) \S+ $/,
  /^jq (?:-[a-z]+ )*(?:\. ?\| ?)?length $/,
  /^id -[ug] $/,
  /^tput (?:cols|lines) $/,
];

/** The command is complete. `piped`: another one reads what it prints. */
export function endOutput({ flows }: ShellReader, { source, command }: CommandFrame, at: number, piped = false): void {
  const { output, program, line } = command;
  if (output === "") return;
  if (line !== null && NUMERIC.some((pattern) => pattern.test(line))) flows.note("numeric", output);
  flows.flow({ to: output, from: inputOf(output), level: printsInput(program) ? "value" : "output", at });
  if (program === UNKNOWN || program === "eval") flows.flow({ to: output, from: PRINTED, level: "output", at });
  if (program !== null) {
    for (const from of [printedBy(program), allOf(program)]) {
      flows.flow({ to: output, from, level: "value", at, when: `function:${program}` });
    }
  }
  if (source !== "" && !piped) flows.flow({ to: source, from: output, level: "value", at, unless: `numeric:${output}` });
}
