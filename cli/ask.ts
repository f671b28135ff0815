/** Asks the person at the terminal whether a call may run. */
import process from "node:process";
import type { Answer, Approver, Question } from "../mod.ts";
import { isTerminal, printable, type Shell } from "./terminal.ts";

/** It takes a terminal to read from and one to write to, whatever the output format. */
export function canAsk({ err }: Shell): boolean {
  return err.isTerminal && isTerminal(0);
}

/** Null if nobody can be asked. */
export function createApprover(shell: Shell, beforeQuestion: () => void = () => undefined): Approver | null {
  if (!canAsk(shell)) return null;
  const { err } = shell;
  let last: Promise<unknown> = Promise.resolve();
  return (question, signal) => {
    const answer = last.then(async () => {
      beforeQuestion();
      err.write(describeCall(question, err.colors) + RUN_IT);
      return toAnswer(await agrees(signal), signal);
    });
    last = answer.catch(() => undefined);
    return answer;
  };
}

export const RUN_IT = "Run it? [y/N] ";

/** What is asked about, whole, since what is agreed to is what runs: the text for the shell where there is one, else the input. */
export function describeCall({ name, input, reason, script }: Question, { bold, yellow }: Shell["err"]["colors"]): string {
  const head = `${yellow(printable(reason))}\n  ${bold(printable(name))}`;
  if (script === undefined) return `${head} ${printable(input.text)}\n`;
  const lines = printable(script.text).trimEnd().split("\n").map((line) => `    ${line}`.trimEnd());
  return `${head}, by ${printable(script.shell)} in ${printable(script.cwd)}:\n${lines.join("\n")}\n`;
}

export function toAnswer(agreed: boolean, { aborted }: AbortSignal): Answer {
  if (agreed) return { decision: "allow", by: "user" };
  return { decision: "deny", by: "user", reason: aborted ? "the question was withdrawn" : "the user said no" };
}

/** Only a yes is one. */
export function isYes(text: string): boolean {
  return /^y(es)?$/i.test(text.trim());
}

/** Reads one line. */
export async function agrees(signal: AbortSignal): Promise<boolean> {
  // Loaded when it is needed; without line editing of its own, so that Ctrl-C stays a signal.
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    return isYes(await lines.question("", { signal }));
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  } finally {
    lines.close();
  }
}
