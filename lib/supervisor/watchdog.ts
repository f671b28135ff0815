/**
 * [main thread] The watchdog: a process beside the runtime that outlives it, if it is killed, just long enough to kill
 * what it started (`last-rites.ts`). While the runtime lives it is a shell that waits for the end of its input.
 *
 * G1  It runs before the first process is started, in a session of its own and without our tag, and nothing but the
 *     runtime holds the other end of its input: that ends when the runtime does, however it does.
 * G2  It is told of every process that leads a call, and of what has strayed from one, as they come and go. What was
 *     started in the last moment and was not told yet is known by its tag. Its list stays short however many come and
 *     go: a long one would take it longer than the rites may, or not fit the arguments of who performs them.
 * G3  If it dies it is started again and told everything again. If it stops reading it is killed, and so on.
 * G4  When the supervisor closes it is told to go, and does nothing then.
 * G5  No pattern that names us, as `pkill -f` takes one, names it: its command line has neither our name nor our place.
 * G6  On Linux it holds our program open: what was removed or replaced meanwhile still performs the last rites.
 */
import { accessSync, constants } from "node:fs";
import { type Companion, spawnCompanion } from "../platform/spawn-companion.ts";
import type { ProcessIdentity } from "../session/launch.ts";
import { baseEnvironment } from "./lineage.ts";

export class Watchdog {
  readonly #command: readonly string[];
  readonly #living = new Map<string, Set<string>>();
  #companion: Companion | null = null;
  /** Records that it has and that are of nobody any more. */
  #stale = 0;
  #started = 0;
  #pause = FIRST_PAUSE_MS;
  #problem: string | null = null;
  #closed = false;

  /** @param command program and arguments that wait for the end of their input and then perform the last rites; the runtime's id is last */
  constructor(command: readonly string[]) {
    this.#command = command;
  }

  /** Why there is no watchdog now, if there should be one. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Bytes that it was told and has not been handed yet: a host may take its time. */
  get unread(): number {
    return this.#companion?.unread ?? 0;
  }

  /** G1: to be called before anything is started. */
  ensure(): void {
    if (this.#closed || this.#companion !== null || this.#problem !== null) return;
    this.#start();
  }

  /** @param owner whose process it is: told by `forget` that all of them are gone */
  tell(owner: string, process: ProcessIdentity): void {
    this.#add(owner, [process]);
  }

  /** The same for what strayed, of which there may be any number: of more than that the youngest are left to be found by their elders. */
  follow(owner: string, strays: readonly ProcessIdentity[]): void {
    const count = [...this.#living.values()].reduce((sum, records) => sum + records.size, 0);
    this.#add(owner, strays.slice(0, Math.max(0, MAX_RECORDS - count)));
  }

  /** These are no more, whosever they were. */
  drop(processes: readonly ProcessIdentity[]): void {
    if (processes.length === 0) return;
    for (const record of processes.map(toRecord)) {
      const owners = [...this.#living.values()].filter((records) => records.delete(record));
      if (owners.length > 0) this.#stale++;
    }
    if (this.#stale >= MAX_STALE) this.#tellAnew();
  }

  forget(owner: string): void {
    const records = this.#living.get(owner);
    if (records === undefined) return;
    this.#living.delete(owner);
    if (records.size > MAX_REMOVALS) return this.#tellAnew();
    const rest = this.#all();
    for (const record of records) if (!rest.has(record)) this.#write(`- ${record}`);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const companion = this.#companion;
    if (companion === null) return;
    this.#write("bye");
    companion.dismiss();
    const late = setTimeout(() => companion.kill(), CLOSE_MS);
    await companion.exited;
    clearTimeout(late);
  }

  #start(): void {
    const shell = hasShell();
    const command = shell ? [SHELL, "-c", SCRIPT, "sh", ...this.#command.slice(-1)] : this.#command;
    const program = this.#command.slice(0, -1).join("\n");
    this.#started = performance.now();
    try {
      const companion = spawnCompanion(command, shell ? { ...baseEnvironment(), LAST_RITES: program } : baseEnvironment());
      this.#companion = companion;
      ownPids.add(companion.pid);
      void companion.exited.then((why) => this.#lose(companion, `it ended (${why})`));
    } catch (error) {
      return this.#retry((error as Error).message);
    }
    this.#problem = null;
    this.#tellAnew();
  }

  #add(owner: string, processes: readonly ProcessIdentity[]): void {
    // Without a start time it could not be told from another with its pid.
    const added = processes.filter(({ start_time }) => start_time !== "").map(toRecord);
    if (added.length === 0) return;
    const records = this.#living.get(owner) ?? new Set();
    for (const record of added) records.add(record);
    this.#living.set(owner, records);
    this.#write(`+ ${added.join(" ")}`);
  }

  #all(): ReadonlySet<string> {
    return new Set([...this.#living.values()].flatMap((records) => [...records]));
  }

  #tellAnew(): void {
    this.#stale = 0;
    this.#write(`= ${[...this.#all()].join(" ")}`);
  }

  /** G3. */
  #lose(companion: Companion, why: string): void {
    this.#companion = null;
    ownPids.delete(companion.pid);
    if (!this.#closed) this.#retry(why);
  }

  #retry(why: string): void {
    this.#problem = why;
    this.#pause = performance.now() - this.#started > STEADY_MS ? FIRST_PAUSE_MS : Math.min(this.#pause * 2, LAST_PAUSE_MS);
    setTimeout(() => this.#closed || this.#start(), this.#pause).unref();
  }

  #write(line: string): void {
    if (this.#companion === null) return; // It will be told when it has been started again.
    this.#companion.tell(`${line}\n`);
    if (this.unread > MAX_UNREAD_BYTES) this.#companion.kill();
  }
}

/** Watchdogs of this process: children of the main thread that are nobody's orphans. */
export function isWatchdog(pid: number): boolean {
  return ownPids.has(pid);
}

function toRecord({ pid, start_time }: ProcessIdentity): string {
  return `${pid}:${start_time.replaceAll(" ", "_")}`;
}

const ownPids = new Set<number>();
/** Its list is never much longer. */
const MAX_RECORDS = 4096;
/** After so many the list is told anew, without them. */
const MAX_STALE = 256;
/** For more of them at a time that is cheaper, too. */
const MAX_REMOVALS = 16;
const FIRST_PAUSE_MS = 10;
/** Short: while it is not there, a kill of the runtime leaves what runs. */
const LAST_PAUSE_MS = 250;
/** One that lived as long as this did not die of how it was started. */
const STEADY_MS = 1000;
const CLOSE_MS = 1000;
const MAX_UNREAD_BYTES = 1024 * 1024;

const SHELL = "/bin/sh";

function hasShell(): boolean {
  try {
    accessSync(SHELL, constants.X_OK);
    return true;
  } catch {
    // Images without a shell: then our own program waits, which weighs more.
    return false;
  }
}

/**
 * Keeps the list of what lives, and at the end of its input becomes the program that knows how to end it. It never
 * starts a process. `LAST_RITES`: that program and its arguments, one a line. Where it can be run neither from where it
 * was opened (G6) nor from its place, the groups are killed whose leaders are still the same.
 */
export const SCRIPT = `
trap '' HUP INT TERM
kept=
set -f
IFS='
'
set -- $LAST_RITES "$@"
unset IFS
set +f
[ -r /proc/self/fd/0 ] && [ -r "$1" ] && exec 3<"$1"
while read -r word given; do
  case $word in
    +) kept="$kept $given" ;;
    =) kept=$given ;;
    -) left=
      for each in $kept; do [ "$each" = "$given" ] || left="$left $each"; done
      kept=$left ;;
    bye) exit 0 ;;
  esac
done
if [ -x /proc/self/fd/3 ]; then
  shift
  exec /proc/self/fd/3 "$@" $kept
fi
[ -x "$1" ] && exec "$@" $kept
for each in $kept; do
  pid=\${each%:*}
  read -r stat <"/proc/$pid/stat" || continue
  set -- \${stat##*) }
  [ "\${20}" = "\${each#*:}" ] && [ "$pid" -gt 1 ] && kill -9 "-$pid"
done
`;
