import { describe, expect, test } from "bun:test";
import { wayOut } from "../../lib/agent/checkup/containment.ts";
import { checkMachine } from "../../lib/agent/checkup/machine.ts";
import type { Machine } from "../../lib/platform/machine.ts";

const machine: Machine = { system: "linux x64", libc: "glibc", avx2: true, virtual: false };

describe("checkMachine()", () => {
  test("takes a build that needs AVX2 on a processor without it for an error, and names the other build", () => {
    for (const target of ["linux-x64", "linux-x64-musl"]) {
      expect(checkMachine(target, { ...machine, avx2: false })).toMatchObject([
        { level: "error", remedy: expect.stringContaining(`--target ${target}-baseline`) },
      ]);
    }
  });

  test("finds nothing wrong with the baseline build, with other processors, and where flags are not known", () => {
    const well: readonly (readonly [string | null, Machine])[] = [
      ["linux-x64", machine],
      ["linux-x64", { ...machine, avx2: null }],
      ["linux-x64-baseline", { ...machine, avx2: false }],
      ["linux-x64-musl-baseline", { ...machine, avx2: false, libc: "musl" }],
      ["linux-arm64", { ...machine, system: "linux arm64", avx2: false }],
      [null, { ...machine, avx2: false }],
    ];
    for (const [target, where] of well) expect([target, checkMachine(target, where)]).toMatchObject([target, [{ level: "ok" }]]);
  });

  test("says what is promised less on macOS", () => {
    expect(checkMachine("darwin-arm64", { system: "darwin arm64", libc: null, avx2: null, virtual: false })).toMatchObject([
      { level: "note", text: expect.stringContaining("process group") },
    ]);
  });
});

describe("wayOut()", () => {
  test("warns of an engine's socket and of a privileged container, and of nothing else", () => {
    expect(wayOut("/var/run/docker.sock", 0n)).toMatchObject([{ level: "warning", text: expect.stringContaining("/var/run/docker.sock") }]);
    expect(wayOut(null, 0x1ffffffffffn)).toMatchObject([{ level: "warning", text: expect.stringContaining("privileged") }]);
    // What an engine gives by default.
    expect(wayOut(null, 0xa80425fbn)).toEqual([]);
    expect(wayOut(null, null)).toEqual([]);
  });
});
