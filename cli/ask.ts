/** Asks the person at the terminal whether a call may run. */
import process from "node:process";
import type { Answer, Approver, Question } from "../mod.ts";
import { isTerminal, printable, type Shell } from "./terminal.ts";

/** Null if nobody can be asked: that takes a terminal to read from and one to write to. */
export function createApprover({ err }: Shell, beforeQuestion: () => void = () => undefined): Approver | null {
  if (!err.isTerminal || !isTerminal(0)) return null;
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
  // Loaded when it is needed; without line editing of its own, so that Ctrl-C stays a signal.
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    const agreed = /^y(es)?$/i.test((await lines.question("", { signal })).trim());
    return agreed ? { decision: "allow", by: "user" } : { decision: "deny", by: "user", reason: "the user said no" };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { decision: "deny", by: "user", reason: "the question was withdrawn" };
  } finally {
    lines.close();
  }
}
