/** Commands that read one of their words, or their input, as a program in a language of their own: `awk '…'`, `python3 -c '…'`. */

/** How far the words of such a command were read. Plain data, as it is part of a reader's state. */
export interface ProgramReading {
  readonly name: string;
  /** Words to come that belong to the last option. */
  skip: number;
  /** The next word is a program. */
  expects: boolean;
  /** There is a program, so that no operand is one. */
  given: boolean;
  /** `--` was there. */
  ended: boolean;
  /** What comes are the program's arguments. */
  done: boolean;
}

interface Language {
  /** The options whose value is a program, as a word may begin with them; a long one with its `=`. */
  readonly option: RegExp | null;
  /** The first operand is a program. */
  readonly operand: boolean;
  /** The program is read from a file that is named behind it. */
  readonly file: RegExp | null;
  /** Options with a value, and with two. */
  readonly valued: RegExp | null;
  readonly paired: RegExp | null;
  readonly remedy: string;
}

const ENVIRONMENT = "Pass it in the environment: x={{ name }} awk '… ENVIRON[\"x\"] …'";

const PYTHON = language({
  option: /^-[bBdEiIOPqsSuvx]*c/,
  file: /^-[bBdEiIOPqsSuvx]*m/,
  valued: /^-[WX]$/,
  remedy: "python3 -c '… sys.argv[1] …' {{ name }}",
});
const PERL = language({ option: /^-[aclnpstTuUwWX0-7]*[eE]/, valued: /^-I$/, remedy: "perl -e '… $ARGV[0] …' -- {{ name }}" });
const NODE = language({
  option: /^(?:-(?:pe|e|p)(?![\w-])|--(?:eval|print)(?:=|$))/,
  valued: /^(?:-[rC]|--require|--import|--loader|--conditions)$/,
  remedy: "node -e '… process.argv[1] …' -- {{ name }}",
});
const AWK = language({
  option: /^(?:-e|--source(?:=|$))/,
  operand: true,
  file: /^(?:-[fE]|--(?:file|exec)(?:=|$))/,
  valued: /^(?:-[vFilo]|--(?:assign|field-separator|include|load))$/,
  remedy: `${ENVIRONMENT}; -v would read backslashes in it.`,
});
const SED = language({
  option: /^(?:-[nErsuz]*e|--expression(?:=|$))/,
  operand: true,
  file: /^(?:-[nErsuz]*f|--file(?:=|$))/,
  valued: /^(?:-l|--line-length)$/,
  remedy: `sed takes no values. ${ENVIRONMENT}, or allow only characters that mean nothing to it, such as pattern: '^[A-Za-z0-9 _-]*$'.`,
});
const JQ = language({
  operand: true,
  file: /^(?:-f|--from-file(?:=|$))/,
  valued: /^(?:-L|--indent)$/,
  paired: /^--(?:arg|argjson|slurpfile|rawfile)$/,
  remedy: "Pass it as an argument instead: jq --arg x {{ name }} '… $x …'",
});
const RUBY = language({ option: /^-[alnpsvwW0-7]*e/, valued: /^-[Ir]$/, remedy: "ruby -e '… ARGV[0] …' -- {{ name }}" });
const PHP = language({ option: /^-[nq]*r/, valued: /^-[cd]$/, remedy: "php -r '… $argv[1] …' -- {{ name }}" });

function language(
  { remedy, operand = false, option = null, file = null, valued = null, paired = null }: Pick<Language, "remedy"> & Partial<Language>,
): Language {
  const told = /^[a-z0-9]+ -/.test(remedy) ? `Pass it as an argument instead: ${remedy}` : remedy;
  return { operand, option, file, valued, paired, remedy: told };
}

function languageOf(name: string): Language | null {
  if (/^(?:python|pypy)[\d.]*$/.test(name)) return PYTHON;
  if (/^[gmn]?awk$/.test(name)) return AWK;
  if (/^g?sed$/.test(name)) return SED;
  if (/^(?:go)?jq$/.test(name)) return JQ;
  if (/^node(?:js)?$/.test(name)) return NODE;
  return name === "perl" ? PERL : name === "ruby" ? RUBY : name === "php" ? PHP : null;
}

/** Commands that run the one that stands behind them. */
const RUNNING = new Set([
  "env",
  "sudo",
  "doas",
  "exec",
  "nice",
  "nohup",
  "setsid",
  "stdbuf",
  "time",
  "timeout",
  "xargs",
  "find",
  "busybox",
]);

/** @param name a word without its folder. @param program the first word of the command, likewise. */
export function beginProgram(name: string, program: string): ProgramReading | null {
  if (languageOf(name) === null || (name !== program && !RUNNING.has(program))) return null;
  return { name, skip: 0, expects: false, given: false, ended: false, done: false };
}

/** Whether the word that begins like this is a program, or has one behind its option. */
export function isProgramText(reading: ProgramReading, plain: string): boolean {
  if (reading.skip > 0) return false;
  if (reading.expects) return true;
  const language = languageOf(reading.name);
  if (reading.done || language === null) return false;
  if (plain.startsWith("-") && !reading.ended) return language.option?.test(plain) ?? false;
  return language.operand && !reading.given;
}

/** What a complete word says about those to come. */
export function nextWord(reading: ProgramReading, plain: string): void {
  const language = languageOf(reading.name);
  if (language === null || reading.done) return;
  if (reading.skip > 0) reading.skip--;
  else if (reading.expects) {
    reading.expects = false;
    // To Python what follows are arguments, whatever they look like.
    reading.done = language === PYTHON;
  } else if (plain === "--" && !reading.ended) reading.ended = true;
  else if (plain.startsWith("-") && plain !== "-" && !reading.ended) nextOption(reading, language, plain);
  else {
    reading.given ||= language.operand || plain !== "-";
    reading.done = true;
  }
}

function nextOption(reading: ProgramReading, { option, file, valued, paired }: Language, plain: string): void {
  const [beginning] = option?.exec(plain) ?? [];
  const [named] = file?.exec(plain) ?? [];
  if (beginning !== undefined) {
    reading.given = true;
    reading.expects = beginning === plain && !plain.endsWith("=");
  } else if (named !== undefined) {
    reading.given = true;
    reading.skip = named === plain && !plain.endsWith("=") ? 1 : 0;
  } else if (valued?.test(plain) === true) reading.skip = 1;
  else if (paired?.test(plain) === true) reading.skip = 2;
}

/** Whether it takes its input for a program unless there is another. */
export function readsProgram({ name }: ProgramReading): boolean {
  return languageOf(name)?.operand === false;
}

export function remedyFor(name: string): string {
  return languageOf(name)?.remedy ?? "";
}
