/** What machine this is, as far as it decides which build runs on it. */
import { readFileSync } from "node:fs";
import process from "node:process";

export interface Machine {
  /** As Node names it: `linux x64`. */
  readonly system: string;
  /** The C library this very process uses; null: not known here. */
  readonly libc: "glibc" | "musl" | null;
  /** Whether the processor has AVX2, which the engine uses where it is (Bun 1.4.5); null: not known here. */
  readonly avx2: boolean | null;
  /** Whether a hypervisor is under this system, as far as the processor says. */
  readonly virtual: boolean;
}

export function describeMachine(): Machine {
  const flags = /^flags\s*:(.*)$/m.exec(readText("/proc/cpuinfo"))?.[1]?.trim().split(/\s+/) ?? null;
  return {
    system: `${process.platform} ${process.arch}`,
    libc: ownLibc(readText("/proc/self/maps")),
    avx2: flags === null ? null : flags.includes("avx2"),
    virtual: flags?.includes("hypervisor") ?? false,
  };
}

/** What is mapped into this process says which library it uses; what lies on the disk does not. */
function ownLibc(maps: string): Machine["libc"] {
  if (/\/(?:ld-musl-|libc\.musl-)/.test(maps)) return "musl";
  return /\/(?:ld-linux|libc\.so\.6|libc-2\.)/.test(maps) ? "glibc" : null;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // Not Linux, or no /proc.
    return "";
  }
}
