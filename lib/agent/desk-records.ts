/** What the journal holds of the sessions that a desk is for, without opening any. */
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import { fold, initialState, type SessionState } from "../session/state.ts";
import type { SessionStatus } from "../session/status.ts";
import type { Log } from "./agent.ts";
import { DeskRefusal } from "./desk-refusal.ts";

const KNOWN_STATES = 16;

export class Records {
  /** Absolute, without symlinks. */
  readonly roots: readonly string[];
  readonly #log: () => Log;
  /** The least recently used first. */
  readonly #states = new Map<string, SessionState>();

  /** `log` is asked for at first use: that opens the journal. */
  constructor(log: () => Log, roots: readonly string[]) {
    this.#log = log;
    this.roots = roots.map((root) => realpathSync(root));
  }

  /** The state that the journal leads to; what was folded before is not read again. @throws {DeskRefusal} */
  async state(id: string): Promise<SessionState> {
    const known = this.#states.get(id) ?? initialState;
    const head = await this.#log().head(id);
    const state = known.seq === head ? known : await this.#foldFrom(id, known.seq < head ? known : initialState);
    if (state.header === null || !this.admits(state.header.workspace)) {
      throw new DeskRefusal("unknown_session", `Cannot find session "${id}"`);
    }
    this.#remember(id, state);
    return state;
  }

  /** Of a session whose turn is open and that nobody here drives. */
  async statusOfOpenTurn(id: string): Promise<SessionStatus> {
    const row = (await this.#log().list()).find(({ session }) => session === id);
    return row?.status === "held" ? "held" : "interrupted";
  }

  forget(id: string): void {
    this.#states.delete(id);
  }

  /** The folder without symlinks. @throws {DeskRefusal} it is none, or not one for this desk; which of them is not said. */
  admit(workspace: string): string {
    try {
      const real = realpathSync(workspace);
      if (this.admits(real)) return real;
    } catch {
      // There is no such folder, or no way to it.
    }
    throw new DeskRefusal("unacceptable", `Cannot work in "${workspace}" as it is not a folder below those that this server is for`);
  }

  admits(workspace: string): boolean {
    return this.roots.some((root) => workspace === root || workspace.startsWith(root.endsWith(sep) ? root : root + sep));
  }

  async #foldFrom(id: string, from: SessionState): Promise<SessionState> {
    const rows = await this.#log().read(id, { after: from.seq });
    const state = fold(rows.flatMap((row) => row.kind === "event" ? [row.event] : []), from);
    return { ...state, seq: from.seq + rows.length };
  }

  #remember(id: string, state: SessionState): void {
    this.#states.delete(id);
    this.#states.set(id, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= KNOWN_STATES) return;
      this.#states.delete(oldest);
    }
  }
}
