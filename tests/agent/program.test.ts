import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programDigests, programFingerprint } from "../../lib/agent/program.ts";
import type { Plan } from "../../lib/tools/tool.ts";

const LARGE = 17 * 1024 * 1024;

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orrery-digests-")));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, content: string | Uint8Array) => writeFileSync(join(root, name), content, { mode: 0o755 });
const digestOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

function plan(...argv: readonly string[]): Plan {
  const [program = ""] = argv;
  const env = { PATH: "/usr/bin:/bin" };
  return { kind: "launch", launch: { kind: "process", argv, cwd: root, env, stdin: "", timeout_ms: 1, cap_bytes: 1 }, program };
}

/** Whether a run before and one after what happens count as runs of one program. */
async function isSame(command: Plan, happens: () => void): Promise<boolean> {
  const before = await programFingerprint(command);
  happens();
  return await programFingerprint(command) === before;
}

describe("the digests of what a call ran", () => {
  test("are those of a program of any size, and of the script behind an interpreter's options", async () => {
    write("large", new Uint8Array(LARGE));
    expect(await programDigests(plan("./large"))).toEqual({ program_digest: digestOf(join(root, "large")) });
    write("p.sh", "exit 0\n");
    const script_digest = digestOf(join(root, "p.sh"));
    for (const argv of [["bash", "-O", "extglob", "p.sh"], ["env", "-S", "bash -e p.sh"]]) {
      expect(await programDigests(plan(...argv))).toMatchObject({ script_digest });
    }
  });

  test("are of what is there now, though nothing but its content has changed since", async () => {
    const at = new Date(0);
    for (const content of ["exit 0\n", "exit 1\n", "exit 2\n"]) {
      write("p", content);
      utimesSync(join(root, "p"), at, at);
      expect(await programDigests(plan("./p"))).toEqual({ program_digest: digestOf(join(root, "p")) });
    }
  });

  test("leave out what cannot be read", async () => {
    expect(await programDigests(plan("./nothing"))).toEqual({});
    expect(await programDigests(plan("."))).toEqual({});
  });
});

describe("two runs are of one program", () => {
  const files = ["p.py", "conf.json", "data"];
  const commands: readonly (readonly [readonly string[], string])[] = [
    [["python3", "p.py"], "p.py"],
    [["python3", "-W", "ignore", "p.py"], "p.py"],
    [["python3", "-m", "p"], "p.py"],
    [["a-runner-nobody-knows", "--flag", "x", "p.py"], "p.py"],
    [["a-runner-nobody-knows", "--config=conf.json"], "conf.json"],
    [["sh", "-c", "true; python3 p.py"], "p.py"],
    [["env", "-S", "python3 -X dev p.py"], "p.py"],
    [["python3", "p.py", "conf.json", "data"], "data"],
  ];

  test("only while every file that the command names is what it was", async () => {
    for (const [argv, changed] of commands) {
      for (const name of files) write(name, "one");
      expect({ argv, same: await isSame(plan(...argv), () => undefined) }).toEqual({ argv, same: true });
      expect({ argv, same: await isSame(plan(...argv), () => write(changed, "two")) }).toEqual({ argv, same: false });
      expect({ argv, same: await isSame(plan(...argv), () => rmSync(join(root, changed))) }).toEqual({ argv, same: false });
    }
  });

  test("only while a program too large to be read is the same file, which nobody has changed", async () => {
    const at = new Date(1_000_000);
    const make = (name: string) => {
      write(name, new Uint8Array(LARGE));
      utimesSync(join(root, name), at, at);
    };
    make("large");
    make("other");
    const command = plan("./large");
    expect(await isSame(command, () => undefined)).toBe(true);
    expect(await isSame(command, () => renameSync(join(root, "other"), join(root, "large")))).toBe(false);
    expect(await isSame(command, () => write("large", new Uint8Array(LARGE + 1)))).toBe(false);
  });
});
