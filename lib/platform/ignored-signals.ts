/** Alone in its file, as it is asked before anything else is loaded. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";

/** Which of them this process ignores, as `nohup` and a shell's `&` have it for their children. None where nobody can tell; none that is listened to. */
export function ignoredAmong<Name extends NodeJS.Signals>(names: readonly Name[]): readonly Name[] {
  const mask = BigInt(`0x${ignoredMask()}`);
  return names.filter((name) => ((mask >> BigInt(constants.signals[name] - 1)) & 1n) === 1n);
}

function ignoredMask(): string {
  try {
    return /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
  } catch {
    // Without /proc nobody can tell.
    return "0";
  }
}
