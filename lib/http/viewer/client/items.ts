/** What a story is made of: the things that the page draws. `stamp`: the event that changed it last. */
import type { EventOf } from "../../../session/event.ts";

export interface Call {
  readonly call: string;
  readonly name: string;
  readonly arguments: string;
  input?: Readonly<Record<string, unknown>>;
  input_text?: string;
  status: "requested" | "asking" | "allowed" | "denied" | "running" | "ended";
  approval?: { readonly reason: string; readonly input_digest: string };
  /** Who said yes or no, and why. */
  verdict?: string;
  ended?: EventOf<"call_ended">;
  stamp: number;
}

export interface Reply {
  readonly kind: "reply";
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly step: number;
  /** The attempt that is open or was the last. */
  attempt: number;
  /** Null: not complete. */
  text: string | null;
  model: string;
  finish: string;
  /** Attempts that came to nothing, in words. */
  failures: readonly string[];
  calls: Call[];
  stamp: number;
}

export interface Prompt {
  readonly kind: "prompt";
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly text: string;
  readonly source: string;
  readonly stamp: number;
}

/** Everything else that happened, in one line each. Quiet ones in a row are one thing. */
export interface Remark {
  readonly kind: "remark";
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly tone: "quiet" | "good" | "warning" | "bad";
  readonly lines: string[];
  stamp: number;
}
export type Item = Prompt | Reply | Remark;

export interface Header {
  readonly title: string;
  readonly workspace: string;
  model: string;
  mode: string;
  readonly parent: string | null;
}

export type TurnState =
  | { readonly kind: "none" }
  | { readonly kind: "open"; readonly turn: number }
  | { readonly kind: "ended"; readonly turn: number; readonly reason: string };
