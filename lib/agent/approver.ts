import type { JsonInput } from "../session/json.ts";

/** A way to ask a person. Absent: nobody can be asked, and a call that must ask is denied at once. */
export interface Approver {
  (question: Question, signal: AbortSignal): Promise<Answer>;
  /** Takes the questions of one reply all at once, and their answers in any order. Otherwise calls that run alone are asked about in their place. */
  readonly takes_many?: true;
}

export interface Question {
  /** The session that asks, if it is one that works for the session that is driven. */
  readonly session?: string;
  readonly call: string;
  readonly name: string;
  readonly input: JsonInput;
  readonly reason: string;
  /** The shell text that would run, where that is what the call comes to; `input` is what it was made of. */
  readonly script?: Script;
}

export interface Script {
  readonly shell: string;
  readonly text: string;
  /** Absolute. */
  readonly cwd: string;
}

export interface Answer {
  readonly decision: "allow" | "deny";
  /** Who answered, for the log. */
  readonly by: string;
  readonly reason?: string;
}
