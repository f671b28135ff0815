/** What every journal promises of a lease, wherever it keeps them. */
import { livenessOf, ownIdentity } from "../platform/identity.ts";
import type { StoredEvent } from "../session/event.ts";
import type { Lease, LeaseOwner, LeaseRequest } from "./journal.ts";

/** A lease lives this long after its last renewal. Only where a holder's death cannot be seen does anyone wait for that. */
export const LEASE_MS = 4000;
export const RENEW_MS = 1000;

/**
 * Whether a recorded holder still has its lease. Where its process can be seen, that decides: a holder that is stopped
 * or slow keeps its lease. A holder in this very process proves nothing by being alive, and one elsewhere cannot be seen: time decides.
 */
export function stillHolds(holder: LeaseOwner, expired: boolean): boolean {
  switch (livenessOf(holder)) {
    case "dead":
      return false;
    case "alive":
      return holder.pid !== ownIdentity().pid || !expired;
    case "unknown":
      return !expired;
  }
}

/** The predecessor that a log has which was taken in with its turn open: whoever that may be, and may still drive it. */
export const ELSEWHERE: LeaseOwner = { runtime: "", pid: 0, start_time: "", place: "" };

/** Whom a lease was taken over from. Our own earlier lease has no processes to end. */
export function toPredecessor(holder: LeaseOwner | null, owner: LeaseOwner): LeaseOwner | null {
  return holder === null || holder.runtime === owner.runtime ? null : holder;
}

/**
 * What the last holder that died left of a session is settled by who resumes its turn, and gone with the next one. Whoever
 * only opens the session, and gives it back or dies in turn, leaves the evidence to the next.
 */
export function settlesPredecessor({ type }: StoredEvent): boolean {
  return type === "session_resumed" || type === "prompted";
}

/** A token's own time is when its lease was taken; the lease expires so long after it was last renewed. Null: a token of before that. */
export function spanOf(token: string, expires_at: number): Lease["predecessor_held"] {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(token)) return null;
  const taken = Number.parseInt(token.slice(0, 8) + token.slice(9, 13), 16);
  return { from: new Date(taken).toISOString(), until: new Date(Math.max(taken, expires_at - LEASE_MS)).toISOString() };
}

/** What a lease asks of the journal that gave it. */
export interface LeasePorts {
  release(lease: HeldLease): Promise<void>;
  /** Somebody listens from now on. */
  attend?(): void;
}

export class HeldLease implements Lease {
  readonly lost: AbortSignal;
  readonly #loss = new AbortController();
  readonly #listeners = new Set<(request: LeaseRequest) => void>();
  readonly #ports: LeasePorts;

  constructor(
    readonly session: string,
    readonly owner: LeaseOwner,
    /** Of this one acquisition: a lease that was lost and taken again is another lease. */
    readonly token: string,
    readonly predecessor: LeaseOwner | null,
    readonly predecessor_held: Lease["predecessor_held"],
    ports: LeasePorts,
  ) {
    this.lost = this.#loss.signal;
    this.#ports = ports;
  }

  get is_copy(): boolean {
    return this.predecessor?.runtime === ELSEWHERE.runtime;
  }

  /** Somebody died with the session before, or has it elsewhere. */
  get isInherited(): boolean {
    return this.predecessor !== null || this.predecessor_held !== null;
  }

  get isListening(): boolean {
    return this.#listeners.size > 0;
  }

  listen(listener: (request: LeaseRequest) => void): () => void {
    const own = (request: LeaseRequest) => listener(request);
    this.#listeners.add(own);
    this.#ports.attend?.();
    return () => void this.#listeners.delete(own);
  }

  hear(request: LeaseRequest): void {
    for (const listener of [...this.#listeners]) listener(request);
  }

  lose(): void {
    this.#loss.abort();
  }

  release(): Promise<void> {
    return this.#ports.release(this);
  }
}
