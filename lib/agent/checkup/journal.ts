/** Whether the journal takes writes, and lies on a disk that keeps them. */
import { statfsSync } from "node:fs";
import { type Environment, resolvePaths } from "../../config/paths.ts";
import type { Agent } from "../agent.ts";
import type { Finding } from "./finding.ts";

/** `f_type` of file systems over a network, where SQLite's write-ahead log does not hold. */
const NETWORK: ReadonlyMap<number, string> = new Map([[0x6969, "NFS"], [0xff534d42, "CIFS"], [0xfe534d42, "SMB"], [0x517b, "SMB"]]);
const LITTLE_BYTES = 200 * 1024 * 1024;

export async function checkJournal(agent: Agent, env: Environment): Promise<readonly Finding[]> {
  const { data, journal } = resolvePaths(env);
  try {
    await agent.probe();
  } catch (error) {
    const text = `The journal takes no writes: ${error instanceof Error ? error.message : String(error)}`;
    return [{
      check: "journal",
      level: "error",
      text,
      remedy: `Make ${data} writable for this user, or set ORRERY_HOME to another folder`,
    }];
  }
  return [{ check: "journal", level: "ok", text: `The journal takes writes: ${journal}` }, ...checkDisk(data)];
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
