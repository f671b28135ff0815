/** Whether the journal takes writes, is whole, and lies on a disk that keeps it. */
import { statfsSync, statSync } from "node:fs";
import { type Environment, type Paths, resolvePaths } from "../../config/paths.ts";
import { JournalUnavailable } from "../../journal/journal.ts";
import { openDatabase, sqliteFault } from "../../platform/sqlite.ts";
import type { Agent } from "../agent.ts";
import type { Finding } from "./finding.ts";

/** `f_type` of file systems over a network, where SQLite's write-ahead log does not hold. */
const NETWORK: ReadonlyMap<number, string> = new Map([[0x6969, "NFS"], [0xff534d42, "CIFS"], [0xfe534d42, "SMB"], [0x517b, "SMB"]]);
const LITTLE_BYTES = 200 * 1024 * 1024;

/** A larger one is not read through: that takes seconds. */
const MOST_READ_BYTES = 1024 * 1024 * 1024;

export async function checkJournal(agent: Pick<Agent, "probe">, env: Environment): Promise<readonly Finding[]> {
  const paths = resolvePaths(env);
  try {
    await agent.probe();
    const damage = findDamage(paths.journal);
    if (damage !== null) return [fault(`The journal is damaged: ${damage}`, remedyFor("broken", paths))];
  } catch (error) {
    const reason = error instanceof JournalUnavailable ? error.reason : "io";
    return [fault(`The journal takes no writes: ${error instanceof Error ? error.message : String(error)}`, remedyFor(reason, paths))];
  }
  return [{ check: "journal", level: "ok", text: `The journal takes writes: ${paths.journal}` }, ...checkDisk(paths.data)];
}

function fault(text: string, remedy: string): Finding {
  return { check: "journal", level: "error", text, remedy };
}

function remedyFor(reason: JournalUnavailable["reason"], { data, journal }: Paths): string {
  switch (reason) {
    case "locked":
      return `Wait for the process that has it open, or end it (fuser ${journal} names it)`;
    case "full":
      return `Make room on the disk of ${data}, or set ORRERY_HOME to a folder on another one`;
    case "broken":
      return `Put a copy of ${journal} back, or move it away with its -wal and -shm: the next start makes a new one`;
    case "newer":
      return "Use the newer Orrery that wrote it, or set ORRERY_HOME to another folder for this one";
    case "read_only":
    case "io":
      return `Make ${data} a folder that this user can write to, or set ORRERY_HOME to another one`;
  }
}

/** A write alone does not meet a page that it does not need. What SQLite says of the first it finds. */
function findDamage(journal: string): string | null {
  if (statSync(journal).size > MOST_READ_BYTES) return null;
  const database = openDatabase(journal, { busy_timeout_ms: 1000 });
  try {
    const [first] = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {});
    return first === "ok" || first === undefined ? null : String(first).split("\n").slice(0, 2).join(" ");
  } catch (error) {
    if (sqliteFault(error) === "busy") return null;
    return error instanceof Error ? error.message : String(error);
  } finally {
    database.close();
  }
}

function checkDisk(folder: string): readonly Finding[] {
  const { type, bavail, bsize } = statfsSync(folder);
  const network = NETWORK.get(type);
  const free = bavail * bsize;
  return [
    ...(network === undefined ? [] : [
      {
        check: "journal",
        level: "error",
        text: `The journal is on ${network}, where a crash or a second machine can damage it`,
        remedy: "Set ORRERY_HOME to a folder on a local disk",
      } as const,
    ]),
    ...(free >= LITTLE_BYTES ? [] : [
      {
        check: "journal",
        level: "warning",
        text: `Only ${Math.floor(free / 1024 / 1024)} MiB are free where the journal is`,
        remedy: `Make room on the disk of ${folder}, or set ORRERY_HOME to a folder on another one`,
      } as const,
    ]),
  ];
}
