/** Manual pages out of the command tree, in the macros of man(7), which man-db and mandoc both read. */
import { VERSION } from "../lib/platform/version.ts";
import { wrap } from "./terminal.ts";
import { everyCommand, type Operand, type Option, type Reference } from "./reference.ts";

/** What mandoc's lint asks for, less what escapes add. */
const MOST_COLUMNS = 70;

export interface ManualPage {
  /** `orrery-tools-call` */
  readonly name: string;
  readonly text: string;
}

/** @param date of the program: `2026-01-31`. */
export function manualPages(root: Reference, date: string): readonly ManualPage[] {
  const all = everyCommand(root);
  return all.map((reference) => ({ name: pageName(reference.path), text: toPage(reference, root, date) }));
}

function toPage(reference: Reference, root: Reference, date: string): string {
  const { path, brief, description, options, operands, commands } = reference;
  const isRoot = reference === root;
  return [
    `.TH ${pageName(path).toUpperCase()} 1 "${date}" "Orrery ${VERSION}" "Orrery"`,
    ".SH NAME",
    ...fill(`${pageName(path)} - ${lowerFirst(brief)}`),
    ".SH SYNOPSIS",
    ...synopsis(reference),
    ".SH DESCRIPTION",
    ...sections(description === "" ? `${brief}.` : description),
    ...(commands.length === 0 ? [] : [".SH COMMANDS", ...commands.flatMap(toCommandLines)]),
    ...(operands.length === 0 ? [] : [".SH ARGUMENTS", ...operands.flatMap(toOperandLines)]),
    ...(options.length === 0 ? [] : [".SH OPTIONS", ...options.flatMap(toOptionLines)]),
    ...(isRoot ? ROOT_SECTIONS : []),
    ".SH SEE ALSO",
    (isRoot ? everyCommand(root).slice(1) : [root, ...commands]).map(({ path }) => `.BR ${escape(pageName(path))} (1)`).join(" ,\n"),
    "",
  ].join("\n");
}

const ROOT_SECTIONS = [
  ".SH ENVIRONMENT",
  ...definition("ORRERY_HOME", "Holds config/ and data/ in place of the folders under the home directory."),
  ...definition(
    "OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY, ORRERY_LOCAL_API_KEY",
    "The key of a provider. Tools do not see them.",
  ),
  ...definition("ORRERY_TRUST_WORKSPACE", "1, true, yes or on: what a workspace brings may run."),
  ...definition("NO_COLOR, FORCE_COLOR, TERM", "Whether text on a terminal has colours; with TERM=dumb nothing is written over either."),
  ".SH FILES",
  ...definition("$XDG_CONFIG_HOME/orrery/settings.json", "Your settings; else below ~/.config."),
  ...definition("$XDG_DATA_HOME/orrery/journal.sqlite", "The journal of all sessions; else below ~/.local/share."),
  ...definition(
    ".orrery/settings.json, .orrery/tools, .stella/tools, .nanocoder/tools",
    "What a project brings. Inert until it is trusted.",
  ),
  ".SH EXIT STATUS",
  ...definition("0", "completed"),
  ...definition("1", "failed"),
  ...definition("2", "wrong use of the command line"),
  ...definition("3", "stopped on purpose: step limit, repetition, spend limit"),
  ...definition("4", "an approval was needed and nobody could give it"),
  ...definition("5", "a setting or a tool's definition is invalid"),
  ...definition("6", "the model's endpoint cannot be reached, or refused the key"),
  ...definition("124", "--timeout ran out"),
  ...definition("130, 143", "interrupted, terminated"),
];

function synopsis({ path, options, operands, commands, fallback }: Reference): readonly string[] {
  const words = [
    ...(options.length === 0 ? [] : ["[\\fIoptions\\fR]"]),
    ...operands.map(({ value: { placeholder }, isOptional }) =>
      isOptional ? `[\\fI${escape(placeholder)}\\fR]` : `\\fI${escape(placeholder)}\\fR`
    ),
  ].join(" ");
  const own = commands.length > 0 && fallback === undefined ? [] : [`.B ${escape(path)}`, words];
  const below = commands.length === 0 ? [] : [`.B ${escape(path)}`, "\\fIcommand\\fR [\\fIoptions\\fR]"];
  return [...own, ...(own.length > 0 && below.length > 0 ? [".br"] : []), ...below].filter((line) => line !== "");
}

/** Headings are lines in capitals; indented lines are shown as they are. */
function sections(description: string): readonly string[] {
  const lines: string[] = [];
  let isVerbatim = false;
  for (const line of description.split("\n")) {
    const isIndented = line.startsWith("  ");
    if (isVerbatim !== isIndented) lines.push(isIndented ? ".nf" : ".fi");
    isVerbatim = isIndented;
    if (line === "") lines.push(".PP");
    else if (/^[A-Z][A-Z ]+$/.test(line)) {
      if (lines.at(-1) === ".PP") lines.pop();
      lines.push(`.SH ${line}`);
    } else lines.push(...(isIndented ? [escape(line.slice(2))] : fill(line)));
  }
  return isVerbatim ? [...lines, ".fi"] : lines;
}

function toCommandLines({ path, brief }: Reference): readonly string[] {
  return [".TP", `.BR ${escape(pageName(path))} (1)`, ...fill(brief)];
}

function toOperandLines({ value: { placeholder }, brief }: Operand): readonly string[] {
  return [".TP", `.I ${escape(placeholder)}`, ...fill(brief)];
}

function toOptionLines({ name, letter, brief, value, isRepeatable }: Option): readonly string[] {
  const names = [name, ...(letter === undefined ? [] : [letter])].map((each) => `\\fB${escape(each)}\\fR`).join(", ");
  const takes = value === undefined ? "" : ` \\fI${escape(value.placeholder)}\\fR`;
  return [".TP", `${names}${takes}`, ...fill(isRepeatable && !brief.includes("repeated") ? `${brief}. May be repeated` : brief)];
}

function definition(term: string, text: string): readonly string[] {
  return [".TP", `.B ${escape(term)}`, ...fill(text)];
}

/** Prose as lines that are not too long for whoever reads the source: what shows it fills lines itself. */
function fill(text: string): readonly string[] {
  return wrap(text, MOST_COLUMNS).map(escape);
}

/** A hyphen would be typeset as a dash, and a dot or a quote at the start of a line be read as a macro. */
function escape(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("…", "...").replace(/^[.']/, "\\&$&");
}

function pageName(path: string): string {
  return path.replaceAll(" ", "-");
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
