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
    const answer = last.then(() => {
      beforeQuestion();
      err.write(wordsOf(question, err.colors));
      return ask(signal);
    });
    last = answer.catch(() => undefined);
    return answer;
  };
}

/** The whole input, since what is agreed to is what runs. */
function wordsOf({ name, input, reason }: Question, { bold, yellow }: Shell["err"]["colors"]): string {
  return `${yellow(printable(reason))}\n  ${bold(printable(name))} ${printable(input.text)}\nRun it? [y/N] `;
}

async function ask(signal: AbortSignal): Promise<Answer> {
  if (await agrees(signal)) return { decision: "allow", by: "user" };
  return { decision: "deny", by: "user", reason: signal.aborted ? "the question was withdrawn" : "the user said no" };
}

/** Reads one line; only a yes is one. */
export async function agrees(signal: AbortSignal): Promise<boolean> {
  // Loaded when it is needed; without line editing of its own, so that Ctrl-C stays a signal.
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    return /^y(es)?$/i.test((await lines.question("", { signal })).trim());
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  } finally {
    lines.close();
  }
}
