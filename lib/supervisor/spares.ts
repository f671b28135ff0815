/**
 * [worker thread] Tool hosts that wait for a user's module: started and made ready before there is a call, given to one
 * call, and never to another. Starting one costs more than most tools.
 *
 * S1  At most one waits, and only for a call that is about to come: the next is started when it is taken. It goes when
 *     nobody has wanted it for a while.
 * S2  It is started under an entry of its own. What it starts in a call carries the call's entry besides.
 */
import { hasProc, readStat } from "../platform/proc.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import type { Census } from "./census.ts";
import type { HostWatch } from "./hosts.ts";
import { endAll } from "./kill.ts";
import { extendLineage } from "./lineage.ts";
import { type HostListener, startToolHost, type ToolHost } from "./tool-host.ts";
import { GRACE_MS } from "./unstarted.ts";
import { MAX_MODULE_FRAME_BYTES, type WorkerSetup } from "./wire.ts";

/** A host that a call has taken. */
export interface Spare {
  readonly host: ToolHost;
  /** That it was started with. */
  readonly lineage: string;
  /** What it prints and says from now on. */
  listen(listener: HostListener): void;
  /** It has been ended. */
  done(): void;
}

const IDLE_MS = 60_000;
/** Calls that are about to come, of those that were announced; more are not believed. */
const MOST_WANTED = 8;

export class Spares {
  readonly #setup: WorkerSetup;
  readonly #census: Census;
  readonly #watch: HostWatch;
  readonly #endings = new Set<Promise<unknown>>();
  #waiting: Spare | null = null;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #wanted = 0;
  #made = 0;
  #closed = false;

  constructor(setup: WorkerSetup, census: Census, watch: HostWatch) {
    this.#setup = setup;
    this.#census = census;
    this.#watch = watch;
  }

  /** A call is about to come. */
  prepare(): void {
    if (this.#closed) return;
    this.#wanted = Math.min(MOST_WANTED, this.#wanted + 1);
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#forget(), IDLE_MS);
    if (this.#waiting === null) this.#start();
  }

  /** The call has come. Null: there is none for it. */
  take(): Spare | null {
    let spare = this.#waiting;
    this.#waiting = null;
    if (spare !== null && hasEnded(spare.host.identity)) {
      this.#discard(spare);
      spare = null;
    }
    this.#wanted = Math.max(0, this.#wanted - 1);
    if (this.#wanted > 0 && !this.#closed) this.#start();
    return spare;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    this.#forget();
    await Promise.all(this.#endings);
  }

  #start(): void {
    const { hosts, lineage, runtime, name } = this.#setup;
    const own = extendLineage(lineage, undefined, runtime, `spare-${name}-${++this.#made}`);
    let listener: HostListener = {};
    let host: ToolHost;
    try {
      host = startToolHost({
        command: hosts.command,
        tags: { lineage: own.value },
        entry: own.entry,
        start_ms: hosts.start_ms,
        onPrinted: (stream, chunk) => listener.onPrinted?.(stream, chunk),
        onMessage: (message, bytes) => listener.onMessage?.(message, bytes),
        onWithheld: () => listener.onWithheld?.(),
        frame_bytes: MAX_MODULE_FRAME_BYTES,
      });
    } catch {
      // The call that would have taken it starts one itself, and says what is wrong.
      return;
    }
    const { identity, entry } = host;
    this.#census.claim(identity, entry);
    this.#watch.onStarted(entry, identity);
    const spare: Spare = {
      host,
      lineage: own.value,
      listen: (given) => void (listener = given),
      done: () => this.#watch.onEnded(entry),
    };
    this.#waiting = spare;
    host.ready.then(() => host.prepare(), () => undefined);
    void host.gone.then(() => this.#waiting === spare && this.#discard(spare));
  }

  /** What was announced did not come. */
  #forget(): void {
    this.#wanted = 0;
    if (this.#waiting !== null) this.#discard(this.#waiting);
  }

  #discard(spare: Spare): void {
    this.#waiting = null;
    const { host } = spare;
    const ending = endAll({ leader: host.identity, entry: host.entry }, this.#census, GRACE_MS).finally(() => {
      this.#endings.delete(ending);
      this.#census.release(host.identity);
      spare.done();
    });
    this.#endings.add(ending);
  }
}

/** `gone` is told a moment later. */
function hasEnded({ pid, start_time }: ProcessIdentity): boolean {
  if (!hasProc()) return false;
  const stat = readStat(pid);
  return stat?.alive !== true || stat.start_time !== start_time;
}
