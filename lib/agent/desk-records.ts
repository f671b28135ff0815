/** What the journal holds of the sessions that a desk is for, without opening any. */
import { realpathSync, statSync } from "node:fs";
import { isAbsolute, resolve, sep } from "node:path";
import { isKnown } from "../session/event.ts";
import { initialState, type SessionState } from "../session/state.ts";
import type { Standing } from "../journal/journal.ts";
import type { Log } from "./agent.ts";
import { DeskRefusal, notAbsolute, notAdmitted, workspaceGone } from "./desk-refusal.ts";
import { isInPlace } from "./in-place.ts";
import { readState } from "./log-state.ts";

const KNOWN_STATES = 16;
const KNOWN_SESSIONS = 1024;
/** Clients that look together share one look at the journal. What this runtime writes itself is never seen late. */
const FRESH_MS = 20;
/** At a session that is written to all the time. */
const MOST_LOOKS = 3;

interface Seen extends Standing {
  readonly workspace: string;
  readonly at: number;
}

export class Records {
  /** Absolute, without symlinks. */
  readonly roots: readonly string[];
  readonly #log: () => Log;
  /** The least recently used first. */
  readonly #states = new Map<string, SessionState>();
  readonly #seen = new Map<string, Seen>();
  /** Counts sessions that were forgotten: a look that began before is not kept. */
  #forgotten = 0;

  /** `log` is asked for at first use: that opens the journal. */
  constructor(log: () => Log, roots: readonly string[]) {
    this.#log = log;
    this.roots = roots.map((root) => realpathSync(root));
  }

  /** Number of the last event; only the first one is read for it. @throws {DeskRefusal} there is no such session for this desk. */
  async head(id: string): Promise<number> {
    return (await this.#find(id)).head;
  }

  /** Before anything is begun in the session's folder. @throws {DeskRefusal} there is no such session, or its folder is not in place. */
  async checkInPlace(id: string): Promise<void> {
    const { workspace } = await this.#find(id);
    if (!isInPlace(workspace)) throw workspaceGone(id, workspace);
  }

  /**
   * The state that the journal leads to, and whether a runtime had the session then; what was folded before is not read
   * again. @throws {DeskRefusal}
   */
  async view(id: string): Promise<{ readonly state: SessionState; readonly held: boolean }> {
    for (let looks = 1;; looks++) {
      const known = this.#states.get(id) ?? initialState;
      const { head, held } = await this.#find(id);
      const { state } = known.seq === head ? { state: known } : await readState(this.#log(), id, known.seq < head ? known : initialState);
      this.#remember(id, state);
      // What was written while it was read has been written by somebody, who may be gone by now.
      if (state.seq === head || looks === MOST_LOOKS) return { state, held };
      this.#seen.delete(id);
    }
  }

  forget(id: string): void {
    this.#states.delete(id);
    this.#seen.delete(id);
    this.#forgotten++;
  }

  /** The folder without symlinks. @throws {DeskRefusal} it is none, or not one for this desk; which of them is not said. */
  admit(workspace: string): string {
    // What a path leads to from where the server was started is nothing that its clients know.
    if (!isAbsolute(workspace)) throw notAbsolute(workspace);
    try {
      const real = realpathSync(workspace);
      if (this.admits(real) && statSync(real).isDirectory()) return real;
    } catch {
      // There is no such folder, or no way to it.
    }
    throw notAdmitted(workspace);
  }

  admits(recorded: string): boolean {
    const workspace = resolve(recorded);
    return this.roots.some((root) => workspace === root || workspace.startsWith(root.endsWith(sep) ? root : root + sep));
  }

  async #find(id: string): Promise<Seen> {
    const seen = this.#seen.get(id);
    const known = seen !== undefined && performance.now() - seen.at < FRESH_MS ? seen : await this.#look(id, seen?.workspace ?? null);
    if (known !== null && this.admits(known.workspace)) return known;
    throw new DeskRefusal("unknown_session", `Cannot find session "${id}"`);
  }

  /** `workspace`: from an earlier look; the first event never changes. */
  async #look(id: string, workspace: string | null): Promise<Seen | null> {
    const forgotten = this.#forgotten;
    const { head, held } = await this.#log().standing(id);
    const place = head === 0 ? null : workspace ?? await this.#readWorkspace(id);
    this.#seen.delete(id);
    if (place === null) return null;
    const seen = { workspace: place, head, held, at: performance.now() };
    if (forgotten !== this.#forgotten) return seen;
    this.#seen.set(id, seen);
    dropOldest(this.#seen, KNOWN_SESSIONS);
    return seen;
  }

  async #readWorkspace(id: string): Promise<string | null> {
    const [row] = await this.#log().read(id, { limit: 1 });
    return row?.kind === "event" && isKnown(row.event) && row.event.type === "session_opened" ? row.event.workspace : null;
  }

  #remember(id: string, state: SessionState): void {
    this.#states.delete(id);
    this.#states.set(id, state);
    dropOldest(this.#states, KNOWN_STATES);
  }
}

function dropOldest(map: Map<string, unknown>, size: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= size) return;
    map.delete(oldest);
  }
}
