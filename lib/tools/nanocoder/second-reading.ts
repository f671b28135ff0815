/**
 * What a program that a script has written out does with its arguments, its input and its environment: whether it
 * runs, or calculates, what it finds there. One for a shell is read like the script itself; of another language only
 * the words are looked at that run something.
 */
import { languageOf } from "./languages.ts";
import { Flows } from "./shell-flow.ts";
import { ShellReader } from "./shell-reader.ts";
import { ENVIRONMENT, type Meter, type ProgramText, READING, type SecondReading, STANDARD_INPUT } from "./shell-source.ts";

/** What may read a variable a second time, in text that is not read otherwise. */
export const CALCULATING =
  /\(\(|\$\[|\$\{!|@P\}|-[A-Za-z]*[invaAC]\b|\b(?:let|declare|typeset|local|unset|read|mapfile|readarray|eval|trap|source|RANDOM|SRANDOM|OPTIND|HISTCMD)\b|-(?:eq|ne|lt|le|gt|ge|R)\b|\w\[/;

const NOTHING: SecondReading = { runs: () => false, names: [] };
const ANYTHING: SecondReading = { runs: () => true, names: null };

/** A script in a script in a script is not read. */
const DEEPEST = 3;
const LONGEST = 20_000;
const MOST_NAMES = 500;

/** @param meter what it costs is counted there; what is too much may do anything. */
export function readProgram(program: ProgramText, meter: Meter, depth = 0): SecondReading {
  const { language, source, word } = program;
  if (source === null) return ANYTHING;
  return language === null ? readScript(source, word, meter, depth) : readOther(language, source);
}

function readOther(name: string, source: string): SecondReading {
  const { runs = null, opens = null, inherits = false } = languageOf(name) ?? {};
  if (inherits) return { runs: () => false, names: null };
  if (runs?.test(source) === true) {
    const looks = /environ|env\b/i.test(source) || runs.source === "(?:)";
    return { runs: () => true, names: looks ? null : [] };
  }
  return opens?.test(source) === true ? { runs: (sources) => !sources.includes(STANDARD_INPUT), names: [] } : NOTHING;
}

function readScript(source: string, word: boolean, meter: Meter, depth: number): SecondReading {
  const text = word ? unquoted(source) : source;
  if (text === null || text.length > LONGEST || depth >= DEEPEST) return CALCULATING.test(source) ? ANYTHING : NOTHING;
  const flows = new Flows(meter);
  const reader = new ShellReader("bash", () => {}, flows, { text });
  for (let at = 0; at < text.length; at++) {
    meter.spent += reader.depth * READING;
    if (meter.spent > meter.most) return ANYTHING;
    reader.feed(text.charAt(at), at);
  }
  reader.end(text.length);
  if (reader.fate !== null && CALCULATING.test(text)) return ANYTHING;
  const names = [...new Set(text.match(/[A-Za-z_]\w*/g))];
  if (names.length > MOST_NAMES) return CALCULATING.test(text) ? ANYTHING : NOTHING;
  const runs = flows.reaching((inner) => readProgram(inner, meter, depth + 1));
  return { runs: (sources) => sources.some(runs), names: runs(ENVIRONMENT) ? null : names.filter(runs) };
}

/** The text of a word that has one kind of quotes; null for another. */
function unquoted(source: string): string | null {
  const [, single] = /^'([^']*)'$/.exec(source) ?? [];
  const [, double] = /^"((?:[^"\\]|\\.)*)"$/s.exec(source) ?? [];
  // What the shell around it puts in is looked at there.
  const inside = double?.replaceAll(/\\([$`"\\])|\$/g, (_all, escaped: string | undefined) => escaped ?? "x");
  return single ?? inside ?? (/^[\w./-]+$/.test(source) ? source : null);
}
