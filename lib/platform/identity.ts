/**
 * Who we are, and whether somebody else still lives. A pid is reused, so a process is known by its pid and its start
 * time; and a pid means something only in the place it was read: one boot of one machine, one pid namespace.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

export interface PlacedProcess {
  readonly pid: number;
  /** Empty where the host does not tell. */
  readonly start_time: string;
  readonly place: string;
}

/** This process. Read once. */
export function ownIdentity(): PlacedProcess {
  own ??= { pid: process.pid, start_time: processStartTime(process.pid) ?? "", place: readPlace() };
  return own;
}

/**
 * When the process began, null if there is none with that pid. On Linux in clock ticks since boot (field 22 of
 * /proc/PID/stat), elsewhere what `ps -o lstart=` prints in UTC, which is exact to the second only. A zombie has a start time.
 */
export function processStartTime(pid: number): string | null {
  return readStatus(pid)?.start_time ?? null;
}

/** Whether a process that was seen somewhere still runs. `unknown`: it cannot be told from here. A zombie is dead. */
export function livenessOf(seen: PlacedProcess): "alive" | "dead" | "unknown" {
  if (seen.place !== ownIdentity().place) return "unknown";
  if (!exists(seen.pid)) return "dead";
  const status = readStatus(seen.pid);
  if (status === null || seen.start_time === "") return "unknown";
  return status.start_time === seen.start_time && !status.zombie ? "alive" : "dead";
}

let own: PlacedProcess | undefined;

interface ProcessStatus {
  readonly start_time: string;
  readonly zombie: boolean;
}

function readStatus(pid: number): ProcessStatus | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  try {
    return process.platform === "linux" ? parseStat(readFileSync(`/proc/${pid}/stat`, "latin1")) : askPs(pid);
  } catch {
    // No such process, or no way to see it; both hosts word that differently.
    return null;
  }
}

/** The command's name is in parentheses and may hold spaces and parentheses itself: fields count from the last one. */
export function parseStat(stat: string): ProcessStatus | null {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, start_time] = [fields[0], fields[19]];
  if (state === undefined || start_time === undefined || !/^\d+$/.test(start_time)) return null;
  return { start_time, zombie: state === "Z" || state === "X" };
}

function askPs(pid: number): ProcessStatus | null {
  const env = { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" };
  const line = outputOf("ps", ["-o", "stat=", "-o", "lstart=", "-p", String(pid)], env);
  const found = /^(\S+)\s+(\S.*?)\s*$/.exec(line);
  if (found === null) return null;
  const [, state = "", start_time = ""] = found;
  return { start_time, zombie: state.startsWith("Z") };
}

/** The module is loaded only where it is needed: it costs a start 1 ms. */
function outputOf(program: string, args: readonly string[], env: NodeJS.ProcessEnv): string {
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  return execFileSync(program, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"] }).trim();
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and not ours.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readPlace(): string {
  try {
    if (process.platform === "linux") {
      return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${readlinkSync("/proc/self/ns/pid")}`;
    }
    return `${hostname()}/${outputOf("sysctl", ["-n", "kern.bootsessionuuid"], process.env)}`;
  } catch {
    // The host hides it. A place that nobody shares is safe: a pid is then never compared.
    return `unknown/${crypto.randomUUID()}`;
  }
}
