/** Whether a call may run, as the person at the terminal is asked it, and what an answer means. */
import type { Answer, Question } from "../mod.ts";
import { isTerminal, printable, type Shell } from "./terminal.ts";

/** It takes a terminal to read from and one to write to, whatever the output format. */
export function canAsk({ err }: Shell): boolean {
  return err.isTerminal && isTerminal(0);
}

export const RUN_IT = "Run it? [y/N] ";

/** What is asked about, whole, since what is agreed to is what runs: the text for the shell where there is one, else the input. */
export function describeCall({ name, input, reason, script }: Question, { bold, yellow }: Shell["err"]["colors"]): string {
  const head = `${yellow(printable(reason))}\n  ${bold(printable(name))}`;
  if (script === undefined) return `${head}${describeInput(input)}\n`;
  const lines = exposed(script.text).trimEnd().split("\n").map((line) => `    ${line}`.trimEnd());
  return `${head}, by ${printable(script.shell)} in ${exposed(script.cwd)}:\n${lines.join("\n")}\n`;
}

type Input = Question["input"];

/** A text of several lines as such, each further in than the names, so that none can be taken for another value. */
function describeInput({ value, text }: Input): string {
  const entries = Object.entries(value);
  const isLong = (part: unknown) => typeof part === "string" && part.trimEnd().includes("\n");
  // A number is what the model wrote, which its value may not say.
  const isPlain = (part: unknown) => part === null || typeof part === "boolean" || (typeof part === "string" && part.isWellFormed());
  if (!entries.some(([, part]) => isLong(part)) || !entries.every(([, part]) => isPlain(part))) return ` ${exposed(text)}`;
  const lines = entries.flatMap(([key, part]) => {
    const name = exposed(/^\w+$/.test(key) ? key : JSON.stringify(key));
    if (!isLong(part)) return [`    ${name}: ${exposed(JSON.stringify(part))}`];
    return [`    ${name}:`, ...exposed(String(part)).split("\n").map((line) => `      ${line}`.trimEnd())];
  });
  return `\n${lines.join("\n").trimEnd()}`;
}

/**
 * What a terminal shows as nothing, obeys, or shows as a space or a line break that it is not; and the beginning of what
 * looks like one of them written out.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Co}\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|<(?=U\+[0-9A-F]{4,6}>)/gu;

/** Harmless for a terminal, and with everything in it to be seen: nobody agrees to what is not shown. */
function exposed(text: string): string {
  return text.replaceAll(HIDDEN, (hidden) => `<U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

/** @param text null: none came. */
export function toAnswer(text: string | null, { aborted }: AbortSignal): Answer {
  if (isYes(text)) return { decision: "allow", by: "user" };
  if (aborted) return { decision: "deny", by: "user", reason: "the question was withdrawn" };
  return { decision: "deny", by: "user", reason: text === null ? "the user gave no answer" : "the user said no" };
}

/** Only a yes is one; no answer is a no. */
export function isYes(text: string | null): boolean {
  return text !== null && /^y(es)?$/i.test(text.trim());
}
