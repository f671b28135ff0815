import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wayOut } from "../../lib/agent/checkup/containment.ts";
import { checkJournal } from "../../lib/agent/checkup/journal.ts";
import { checkMachine } from "../../lib/agent/checkup/machine.ts";
import { checkModel } from "../../lib/agent/checkup/model.ts";
import { faultsOfArgv, faultsOfShell } from "../../lib/agent/checkup/programs.ts";
import { JournalUnavailable } from "../../lib/journal/journal.ts";
import type { Machine } from "../../lib/platform/machine.ts";

const machine: Machine = { system: "linux x64", libc: "glibc", avx2: true, virtual: false };

describe("checkMachine()", () => {
  test("finds nothing wrong with any build on a processor without AVX2, with other processors, and where flags are not known", () => {
    const well: readonly (readonly [string | null, Machine])[] = [
      ["linux-x64", machine],
      ["linux-x64", { ...machine, avx2: null }],
      ["linux-x64", { ...machine, avx2: false }],
      ["linux-x64-musl", { ...machine, avx2: false, libc: "musl" }],
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

describe("checkModel()", () => {
  test("has a remedy for where what is wrong was set: the script, the address, the key", async () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-checkup-"));
    writeFileSync(join(folder, "broken.json"), "{");
    const faults: readonly (readonly [model: string, remedy: string, more?: { readonly baseUrl?: string; readonly key?: string }])[] = [
      [`script:${folder}/none.json`, "Correct or replace that file"],
      [`script:${folder}/broken.json`, "Correct or replace that file"],
      [`script:${folder}`, "Correct or replace that file"],
      ["local/qwen3", "Give the right one with --base-url"],
      ["local/qwen3", "Give the right one with --base-url", { baseUrl: "localhost" }],
      ["openai/gpt-5-mini", "Set that variable"],
      ["openai/gpt-5-mini", "Set that variable", { key: "schlüssel" }],
      ["qwen3", "name a model with --model"],
    ];
    try {
      for (const [model, remedy, { key, ...more } = {}] of faults) {
        const found = await checkModel({ model, ...more }, key === undefined ? {} : { OPENAI_API_KEY: key }, null);
        expect([model, found]).toMatchObject([model, [{ level: "error", remedy: expect.stringContaining(remedy) }]]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("checkJournal()", () => {
  test("has a remedy of its own for every reason that a journal is not usable", async () => {
    const remedies: readonly (readonly [JournalUnavailable["reason"], string])[] = [
      ["locked", "Wait for the process"],
      ["full", "Make room on the disk of /data/data"],
      ["broken", "Put a copy of /data/data/journal.sqlite back"],
      ["newer", "Use the newer Orrery"],
      ["read_only", "Make /data/data a folder that this user can write to"],
    ];
    for (const [reason, remedy] of remedies) {
      const probe = () => Promise.reject(new JournalUnavailable("/data/data/journal.sqlite", reason, "Cannot use it"));
      expect(await checkJournal({ probe }, { ORRERY_HOME: "/data" })).toMatchObject([
        { level: "error", text: "The journal takes no writes: Cannot use it", remedy: expect.stringContaining(remedy) },
      ]);
    }
  });
});

describe("programs", () => {
  const place = { workspace: "/usr/share", path: "/usr/bin:/bin", home: "/root", bareNames: false };

  test("are looked for wherever a command names one", async () => {
    const commands: readonly (readonly [string, string])[] = [
      ["./scripts/gone.sh --fast", '"./scripts/gone.sh" does not exist'],
      ["MODE=strict no-such-program", '"no-such-program" is not on the PATH'],
      ["/etc/passwd", "is not executable"],
      ["/etc", "is a folder"],
      ["exec scripts/gone.sh", '"scripts/gone.sh", which exec is given'],
      ["sh scripts/gone.sh", '"scripts/gone.sh", which sh is given'],
      ["timeout 5 ./gone", '"./gone", which timeout is given'],
    ];
    for (const [command, says] of commands) {
      expect([command, await faultsOfShell(command, place)]).toMatchObject([command, [{
        text: expect.stringContaining(says),
        unsure: false,
      }]]);
    }
    expect(await faultsOfArgv(["sh", "-c", "./gone"], place)).toMatchObject([{ unsure: false }]);
    expect(await faultsOfArgv(["/no/such/server"], place)).toMatchObject([{ text: expect.stringContaining("/no/such/server") }]);
  });

  test("are not missed for sure where another command may guard or make them", async () => {
    expect(await faultsOfShell("[ -x ./gone ] && ./gone", place)).toMatchObject([{ unsure: true }]);
  });

  test("are not taken for missing where nobody can tell, or a shell does it itself", async () => {
    const fine = [
      "echo hello",
      "true",
      'if [ -n "$A" ]; then :; fi',
      "$TOOL x",
      "cd /tmp && ./gone",
      "check() { true; }; check",
      "exit 1",
      "sh -c 'ls'",
    ];
    for (const command of fine) expect([command, await faultsOfShell(command, place)]).toEqual([command, []]);
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
