/** What runs where. A build for another processor or C library does not come as far as this. */
import { describeHost } from "../../platform/host.ts";
import { describeMachine, type Machine } from "../../platform/machine.ts";
import { TARGET } from "../../platform/version.ts";
import type { Finding } from "./finding.ts";

export function checkMachine(target: string | null = TARGET, machine: Machine = describeMachine()): readonly Finding[] {
  const { system, libc, avx2 } = machine;
  const facts = [
    target === null ? `from source on ${describeHost()}` : `built for ${target}, on ${system}`,
    ...(libc === null ? [] : [libc]),
  ];
  const cpu = system.endsWith("x64") && avx2 !== null ? [avx2 ? "with AVX2" : "without AVX2"] : [];
  const text = `This is Orrery ${[...facts, ...cpu].join(", ")}`;
  if (system.startsWith("darwin")) {
    const promise = "nothing outlives its call as far as the call's process group reaches, and no further";
    return [{ check: "machine", level: "note", text: `${text}: on macOS ${promise}`, remedy: "Run it on Linux where that is too little" }];
  }
  return [{ check: "machine", level: "ok", text }];
}
