/** Why a desk does not do what it was asked. */
import { ConfigError, UsageError } from "../config/error.ts";
import { JournalHeld, JournalUnavailable, LeaseLost } from "../journal/journal.ts";
import { ModelConfigError } from "../model/providers.ts";
import type { SessionState } from "../session/state.ts";
import { entriesOf } from "../session/transcript.ts";
import { CancelUnanswered } from "./cancel.ts";
import { SessionRefusal } from "./session.ts";

export type RefusalCode =
  /** There is no such session, or it is not for this desk. */
  | "unknown_session"
  /** The session has no such call. */
  | "unknown_call"
  /** A turn is running. */
  | "busy"
  /** A turn is open and nobody drives it. */
  | "interrupted"
  | "no_turn"
  /** Another runtime has the session open. */
  | "held"
  /** The call does not wait for an answer, or got one already. */
  | "settled"
  /** Nobody was asked about the call yet. */
  | "not_asked"
  /** The answer is to another input than the one that waits. */
  | "altered"
  /** The prompt with this key was queued, and dropped before its turn began. */
  | "dropped"
  | "unacceptable"
  /** The session's folder is not the one any more that it was opened in. */
  | "workspace_gone"
  /** Another prompt was sent with this key. */
  | "key_reused"
  | "too_many_turns"
  | "too_many_sessions"
  | "too_many_prompts"
  | "too_many_readers"
  | "draining"
  /** The journal cannot be used now. */
  | "unavailable";

export class DeskRefusal extends Error {
  override readonly name = "DeskRefusal";
  /** The option that is at fault. */
  readonly field: string | null;
  constructor(
    readonly code: RefusalCode,
    message: string,
    { field = null, ...options }: ErrorOptions & { readonly field?: string | null } = {},
  ) {
    super(message, options);
    this.field = field;
  }
}

/** The same for every folder that is none for this desk, and for none at all. */
export function notAdmitted(workspace: string): DeskRefusal {
  return new DeskRefusal("unacceptable", `Cannot work in "${workspace}" as it is not a folder below those that this server is for`, {
    field: "workspace",
  });
}

export function notAbsolute(workspace: string): DeskRefusal {
  return new DeskRefusal("unacceptable", `Cannot work in "${workspace}" as it is no absolute path: give one that begins at the root`, {
    field: "workspace",
  });
}

/** Says nothing of where its path leads now. */
export function workspaceGone(session: string, workspace: string): DeskRefusal {
  return new DeskRefusal(
    "workspace_gone",
    `Cannot go on with session "${session}" as its folder, "${workspace}", is not there any more as it was`,
  );
}

/** An answer comes too late, or there never was such a call in this session. */
export function notWaiting(call: string, state: SessionState): DeskRefusal {
  const known = entriesOf(state).some((entry) => entry.kind === "reply" && entry.calls.some((each) => each.call === call));
  if (!known) return new DeskRefusal("unknown_call", `Cannot find call "${call}" in session "${state.session}"`);
  return new DeskRefusal("settled", `Cannot answer call "${call}" as it does not wait for an answer in session "${state.session}"`);
}

/** What a hook has a say in, or was only just asked for, is asked about in its turn. */
export function notAsked(call: string): DeskRefusal {
  return new DeskRefusal(
    "not_asked",
    `Cannot answer call "${call}" yet as nobody was asked about it: answer its approval_requested, if one comes`,
  );
}

/** What the parts below throw, as a refusal; anything else is a fault and stays what it is. */
export function toRefusal(error: unknown): unknown {
  if (error instanceof JournalHeld || error instanceof LeaseLost || error instanceof CancelUnanswered) {
    return new DeskRefusal("held", error.message, { cause: error });
  }
  if (error instanceof JournalUnavailable) return new DeskRefusal("unavailable", error.message, { cause: error });
  if (error instanceof ModelConfigError || error instanceof ConfigError || error instanceof UsageError) {
    return new DeskRefusal("unacceptable", error.message, { cause: error });
  }
  if (error instanceof SessionRefusal && error.code === "busy") return new DeskRefusal("busy", error.message, { cause: error });
  return error;
}
