/** What is allowed in a body and still most likely a mistake, or a risk that quoting cannot take away. */
import type { Approval } from "../tool.ts";
import type { Parameter } from "./parameters.ts";
import { remedyFor } from "./program-text.ts";
import type { Hit } from "./shell-source.ts";
import type { Place } from "./shell-place.ts";
import type { TagUse } from "./template.ts";

export interface TagWarning {
  readonly severity: "warning" | "info";
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly at: number;
}

export function warnOfTags(
  uses: readonly TagUse[],
  parameters: readonly Parameter[],
  { approval, read_only }: { readonly approval: Approval; readonly read_only: boolean },
): readonly TagWarning[] {
  const asks = approval === "always" && !read_only;
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  return uses.flatMap((use) => {
    const parameter = known.get(use.name);
    const found = [
      warnOfPlace(use.place),
      warnOfSecondReading(use),
      asks ? null : warnOfOption(use, parameter),
    ];
    return found.flatMap((warning) => warning === null ? [] : [{ ...warning, at: use.at }]);
  });
}

type Said = Omit<TagWarning, "at">;

function warning(code: string, message: string, remedy: string): Said {
  return { severity: "warning", code, message, remedy };
}

function warnOfPlace(place: Place): Said | null {
  const unquote = "Remove the quotes around the tag: the value is quoted already.";
  switch (place.kind) {
    case "comment":
      return warning("tag_in_comment", "A tag in a comment stays as it is", "Remove it, or move it out of the comment.");
    case "double":
    case "single":
    case "ansi":
      return warning("tag_in_quotes", "The value arrives with quote characters around it, as the tag stands inside quotes", unquote);
    case "here":
      return warning("tag_in_here_document", "The value becomes plain text of a here-document", "Fine if that is what it is for.");
    case "quoted_here":
      return warning(
        "tag_in_quoted_here_document",
        "The value becomes plain text of a quoted here-document, and a value that would end it fails the call",
        "Use the delimiter without quotes, or one that no value has.",
      );
    case "word":
      return place.backticks === 0 ? null : warning("tag_in_backticks", "The tag stands in backticks", "Write $(…) instead.");
  }
}

export function warnOfSecondReading({ place, situation }: TagUse): Said | null {
  if (place.kind === "comment") return null;
  const { program, shellScript, remote, calculated } = situation;
  const remedy = "Pass the value as an argument instead: sh -c '… \"$1\" …' sh {{ name }}";
  if (program === "eval" || program === "trap" || program === "source" || program === ".") {
    return warning("second_evaluation", `\`${program}\` reads the value as shell text a second time, where its quotes are gone`, remedy);
  }
  if (shellScript) {
    return warning("second_evaluation", "The value is part of a script that another shell reads, where its quotes are gone", remedy);
  }
  if (remote) {
    return warning(
      "second_evaluation",
      "`ssh` hands the value to a shell on the other side, where its quotes are gone",
      "Quote it once more for the other side.",
    );
  }
  if (calculated) {
    return warning(
      "second_evaluation",
      "What the command prints is calculated: a name in it is looked up",
      "Make sure that it prints a number.",
    );
  }
  return null;
}

/** What goes on from a tag through variables and substitutions. */
export function warnOfEvaluations(hits: readonly Hit[], uses: readonly TagUse[]): readonly TagWarning[] {
  const told = new Set(uses.filter((use) => warnOfSecondReading(use) !== null).map(({ at }) => at));
  const calculated = uses.filter(({ situation }) => situation.calculated).map(({ at }) => at);
  const isTold = ({ name, at }: Hit) => name === null ? told.has(at) : name.startsWith("$(") && calculated.some((use) => use > at);
  const untold = hits.filter((hit) => !isTold(hit));
  const first = untold.filter((hit, index) => untold.findIndex(({ at, kind }) => at === hit.at && kind === hit.kind) === index);
  return first.map(({ kind, level, name, at, language }): TagWarning => {
    const what = described(name);
    const remedy = "Make sure that it cannot be more than a plain word or number: declare type: integer, or a pattern.";
    if (kind === "unknown") {
      return { ...warning("unknown_command", `${what} is given to a command whose name is not written out`, remedy), at };
    }
    if (kind === "named") {
      const only = "Write the name out, or declare an enum of the names that are meant.";
      return { ...warning("named_command", `${what} says which program, or which script, is run`, only), at };
    }
    if (language !== null) {
      const message = `${what} is part of a program that ${language} reads, where the quotes of the shell protect nothing`;
      return { ...warning("second_evaluation", message, remedyFor(language)), at };
    }
    if (kind === "split") {
      const message = `${what} stands in \`test\` without quotes, where its words become operators`;
      return { ...warning("second_evaluation", message, "Put double quotes around it."), at };
    }
    const how = kind === "evaluated" ? "is read as shell text a second time" : "is calculated or taken for a name";
    const since = level === "output" ? ", as it was printed by a command that was given one" : "";
    return { ...warning("second_evaluation", `${what} ${how} here${since}`, remedy), at };
  });
}

function described(name: string | null): string {
  if (name?.startsWith("file:") === true) return "A file that may hold something of a value";
  return name === null || !/^\w+$/.test(name) ? "Something of a value" : `\`$${name}\`, which holds something of a value,`;
}

/** A value that begins with a dash is an option to most programs, however it is quoted. */
function warnOfOption({ place, situation }: TagUse, parameter: Parameter | undefined): Said | null {
  if (
    place.kind !== "word" || !situation.startsArgument || situation.optionsEnded || situation.operand || parameter === undefined ||
    !mayBeginWithDash(parameter)
  ) return null;
  const remedy = "Write -- before it, or give the parameter a pattern that excludes a leading dash, like '^[^-]'.";
  const afterOption = /^-/.test(situation.previous);
  return {
    severity: afterOption ? "info" : "warning",
    code: "option_injection",
    message: afterOption
      ? `A value that begins with a dash is taken for an option, unless ${situation.previous} takes a value`
      : "A value that begins with a dash is taken for an option, and there are modes in which this tool runs unasked",
    remedy,
  };
}

function mayBeginWithDash({ type, enum: members, pattern, min, items }: Parameter): boolean {
  if (type === "boolean" || (type === "array" && items === "boolean")) return false;
  if (members !== null) return members.some((member) => String(member).startsWith("-"));
  if (type === "number" || type === "integer") return min === null || min < 0;
  return pattern === null || DASHED.some((text) => pattern.matcher.test(text));
}

/** What a pattern that lets options through most likely lets through: it is tried, not proved. */
const DASHED = [
  "-",
  "--",
  "-a",
  "-A",
  "-1",
  "--a",
  "--ab",
  "-ab",
  "-aB1",
  "--pre=/bin/x",
  "-o/x",
  "-a b",
  "-_",
  "-.",
  "-/",
  "-abcdefghijkl",
  "--output=x.txt",
  "-é",
];
