/** Commands that read one of their words, or their input, as a program in a language of their own: `awk '…'`, `python3 -c '…'`. */
import { type Language, languageOf } from "./languages.ts";
import { isWrapper } from "./wrappers.ts";

/** How far the words of such a command were read. Plain data, as it is part of a reader's state. */
export interface ProgramReading {
  readonly name: string;
  /** Its first operand, where it has commands of its own. */
  sub: string;
  /** Words to come that belong to the last option, and whether they name a file with a program. */
  skip: number;
  file: boolean;
  /** The next word is a program. */
  expects: boolean;
  /** There is a program, so that no operand is one. */
  given: boolean;
  operands: number;
  /** An option says that the program is its input. */
  stdin: boolean;
  /** `--` was there. */
  ended: boolean;
  /** What comes are the program's arguments. */
  done: boolean;
}

/** @param name a word without its folder. @param program the first word of the command, likewise. */
export function beginProgram(name: string, program: string): ProgramReading | null {
  if (languageOf(name) === null || (name !== program && program !== "find" && !isWrapper(program))) return null;
  return { name, sub: "", skip: 0, file: false, expects: false, given: false, operands: 0, stdin: false, ended: false, done: false };
}

/** Whether the word that begins like this is a program, or has one behind its option. */
export function isProgramText(reading: ProgramReading, plain: string): boolean {
  if (reading.skip > 0) return false;
  if (reading.expects) return true;
  const language = languageOf(reading.name);
  if (language === null) return false;
  if (language.word?.test(plain) === true) return true;
  if (reading.done) return false;
  if (plain.startsWith("-") && !reading.ended) return language.option?.test(plain) ?? false;
  return reading.operands + 1 === language.operand && !reading.given;
}

/** Whether a complete word is only the option before a program. */
export function isOptionAlone(reading: ProgramReading, plain: string): boolean {
  return !reading.expects && !reading.ended && languageOf(reading.name)?.option?.exec(plain)?.[0] === plain && !plain.endsWith("=");
}

/** What a complete word says about those to come. */
export function nextWord(reading: ProgramReading, plain: string): void {
  const language = languageOf(reading.name);
  if (language === null) return;
  const announced = !reading.expects && language.announces?.test(`${reading.sub} ${plain}`) === true;
  if (announced || (reading.done && reading.expects)) {
    // `submodule foreach --recursive`
    reading.expects = announced || plain.startsWith("-");
    return;
  }
  if (reading.done) return;
  if (reading.skip > 0) {
    reading.skip--;
    reading.stdin ||= reading.file && /^(?:-|\/dev\/stdin)$/.test(plain);
    reading.file &&= reading.skip > 0;
  } else if (reading.expects) {
    reading.expects = false;
    // To Python what follows are arguments, whatever they look like.
    reading.done = language.rest === "arguments";
  } else if (plain === "--" && !reading.ended) reading.ended = true;
  else if (plain.startsWith("-") && plain !== "-" && !reading.ended) nextOption(reading, language, plain);
  else {
    reading.operands++;
    if (language.announces !== null && reading.sub === "") reading.sub = plain;
    reading.given ||= language.operand === reading.operands || (language.operand === 0 && plain !== "-" && language.rest !== "operands");
    reading.done = reading.operands >= language.operand && language.rest !== "operands";
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
    reading.file = true;
    reading.stdin ||= plain.slice(named.length) === "-";
  } else if (valued?.test(plain) === true) reading.skip = 1;
  else if (paired?.test(plain) === true) reading.skip = 2;
}

/** Whether it takes its input for a program unless there is another. */
export function readsProgram({ name, given, expects, stdin }: ProgramReading): boolean {
  return stdin || ((languageOf(name)?.input ?? false) && (!given || expects));
}

/** The word that begins like this says which file is the program. */
export function isProgramFile(reading: ProgramReading, plain: string): boolean {
  const language = languageOf(reading.name);
  if (language === null || reading.done || reading.expects) return false;
  if (reading.skip > 0) return reading.file;
  if (plain.startsWith("-") && !reading.ended) return /=$|^-[A-Za-z]$/.test(plain) && (language.file?.test(plain) ?? false);
  return language.operand === 0 && language.input && language.rest !== "operands" && !reading.given;
}

export function inheritsProgram(name: string): boolean {
  return languageOf(name)?.inherits ?? false;
}

export function remedyFor(name: string): string {
  return languageOf(name)?.remedy ?? "";
}
