/** `sessions export` and `sessions import`: a session moves to another machine and back, byte for byte, all of it or nothing. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createWriteStream, existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, open, rename, symlink, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { newSession } from "../fixtures/journal/events.ts";
import { sampleSession } from "../fixtures/journal/sample.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let elsewhere: string;

beforeEach(async () => {
  workspace = await createWorkspace();
  elsewhere = join(workspace.home, "../elsewhere");
  await mkdir(elsewhere);
});
afterEach(() => workspace.remove());

const here = () => ({ cwd: workspace.path, home: workspace.home });
const there = () => ({ cwd: workspace.path, home: elsewhere });

async function play(): Promise<{ session: string; model: string }> {
  await workspace.tool("case", 'printf "äöü %s" "$STELLA_INPUT_N"');
  const model = await workspace.script(
    { text: "Let me see.", calls: [{ name: "case", arguments: '{"n": 9007199254740993}' }, { name: "nothing", arguments: {} }] },
    { text: "done" },
    { text: "again" },
  );
  const { code, stdout } = await runOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "json", "go"], here());
  expect(code).toBe(0);
  return { session: (JSON.parse(stdout) as { session: string }).session, model };
}

async function sessionsThere(): Promise<readonly unknown[]> {
  return (JSON.parse((await runOrrery(["sessions", "list", "--json"], there())).stdout) as { sessions: unknown[] }).sessions;
}

/** A file with a session of so many events. */
async function writeLong(session: string, count: number): Promise<string> {
  const path = join(workspace.home, `${count}.jsonl`);
  const file = createWriteStream(path);
  for (const event of sampleSession(session, count)) {
    if (!file.write(`${JSON.stringify(event)}\n`)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
  return path;
}

describe("a session", () => {
  test("that is exported and imported elsewhere is the same there, exports the same bytes and goes on", async () => {
    const { session, model } = await play();
    const exported = await runOrrery(["sessions", "export", session], here());
    expect([exported.code, exported.stderr]).toEqual([0, ""]);
    expect(exported.stdout.split("\n").slice(0, -1).map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
      exported.stdout.split("\n").slice(0, -1).map((_line, index) => index + 1),
    );
    const imported = await runOrrery(["sessions", "import", "-"], { ...there(), input: exported.stdout });
    expect([imported.code, imported.stdout, imported.stderr]).toEqual([0, `${session}\n`, ""]);
    expect((await runOrrery(["sessions", "export", session], there())).stdout).toBe(exported.stdout);
    const shown = [here(), there()].map(async (start) => (await runOrrery(["sessions", "show", session, "--json"], start)).stdout);
    expect(await shown[1]).toBe(await shown[0] ?? "");
    const next = await runOrrery(["run", "--session", session, "--model", model, "more"], there());
    expect([next.code, next.stdout]).toEqual([0, "again\n"]);
  });

  test("whose folder is not there goes on in no other, and in its own by a link", async () => {
    const { session, model } = await play();
    const [moved, other] = [join(workspace.home, "../moved"), join(workspace.home, "../other")];
    await mkdir(other);
    const start = { cwd: other, home: workspace.home };
    const goOn = ["run", "--session", session, "--model", model, "more"];
    await rename(workspace.path, moved);
    for (const args of [goOn, [...goOn, "--workspace", other], ["sessions", "resume", session, "--workspace", other]]) {
      const { code, stderr } = await runOrrery(args, start);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`"${workspace.path}", is not there: put that folder there, or a link to it`),
      ]);
    }
    await symlink(moved, workspace.path);
    expect(await runOrrery(goOn, start)).toMatchObject({ code: 0, stdout: "again\n" });
  }, 30_000);

  test("that is exported while it runs starts nothing at the other place that may run here, and says so", async () => {
    await workspace.tool("hold", "echo > held; while [ ! -e go-on ]; do sleep 0.02; done");
    await workspace.tool("mark", "echo x >> marks");
    const calls = [{ name: "hold", arguments: {} }, { name: "mark", arguments: {} }];
    const model = await workspace.script({ calls }, { text: "done" });
    const flags = ["--trust-workspace", "--mode", "yolo", "--model", model, "--output-format", "json"];
    const runtime = startOrrery(["run", ...flags, "go"], here());
    const end = ended(runtime);
    while (!existsSync(join(workspace.path, "held"))) await sleep(10);
    const { sessions } = JSON.parse((await runOrrery(["sessions", "list", "--json"], here())).stdout) as {
      sessions: { session: string }[];
    };
    const session = sessions[0]?.session ?? "";
    const exported = (await runOrrery(["sessions", "export", session], here())).stdout;
    const imported = await runOrrery(["sessions", "import", "-", "--json"], { ...there(), input: exported });
    expect(JSON.parse(imported.stdout)).toMatchObject({ session, open_turn: 1 });
    expect(imported.stderr).toContain("may go on where the session comes from");
    expect((await runOrrery(["sessions", "export", session], there())).stdout).toBe(exported);
    const resumed = await runOrrery(["sessions", "resume", session, ...flags], there());
    expect([existsSync(join(workspace.path, "marks")), JSON.parse(resumed.stdout)]).toMatchObject([false, {
      status: "completed",
      calls: [{ name: "hold", outcome: { kind: "unknown" } }, { name: "mark", outcome: { kind: "not_started", reason: "imported" } }],
    }]);
    await workspace.write("go-on", "");
    expect((await end).code).toBe(0);
    expect(readFileSync(join(workspace.path, "marks"), "utf8")).toBe("x\n");
  }, 60_000);

  test("written by version 1 of the format, with a type from the future, comes back as it was", async () => {
    const golden = readFileSync(join(import.meta.dirname, "../fixtures/journal/v1.jsonl"), "utf8").split("\n").slice(0, 48);
    const text = golden.map((line) => `${line}\n`).join("");
    const file = join(workspace.home, "golden.jsonl");
    await writeFile(file, text);
    const imported = await runOrrery(["sessions", "import", file, "--json"], there());
    expect([imported.code, JSON.parse(imported.stdout)]).toEqual([0, {
      schema_version: 1,
      session: "ses_01a10000-0000-7000-8000-000000000001",
      events: 48,
      open_turn: null,
    }]);
    expect((await runOrrery(["sessions", "export", "ses_01a10000-0000-7000-8000-000000000001"], there())).stdout).toBe(text);
  });

  test("that is there already is not replaced, and the exit code says that the request was wrong", async () => {
    const { session } = await play();
    const { stdout } = await runOrrery(["sessions", "export", session], here());
    const again = await runOrrery(["sessions", "import", "-"], { ...here(), input: stdout });
    expect([again.code, again.stdout]).toEqual([2, ""]);
    expect(again.stderr).toContain(session);
    expect((await runOrrery(["sessions", "export", session], here())).stdout).toBe(stdout);
  });

  test("in which a line is wrong is refused with its number, and nothing of it is there", async () => {
    const { session } = await play();
    const lines = (await runOrrery(["sessions", "export", session], here())).stdout.split("\n").slice(0, -1);
    const cases = [
      [lines.map((line, index) => index === 6 ? line.slice(0, -1) : line), "line 7"],
      [lines.filter((_line, index) => index !== 4), "line 5"],
      [[...lines.slice(0, 5), ...lines.slice(3)], "line 6"],
    ] as const;
    for (const [wrong, where] of cases) {
      const refused = await runOrrery(["sessions", "import", "-"], { ...there(), input: wrong.map((line) => `${line}\n`).join("") });
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(where);
    }
    expect(await sessionsThere()).toEqual([]);
    expect((await runOrrery(["sessions", "import", join(workspace.home, "none.jsonl")], there())).code).toBe(2);
  });

  test("with an event that cannot be read is exported up to that event, which is named", async () => {
    const { session } = await play();
    const whole = (await runOrrery(["sessions", "export", session], here())).stdout.split("\n");
    const journal = openDatabase(join(workspace.home, "data/journal.sqlite"), { busy_timeout_ms: 1000 });
    journal.prepare("UPDATE events SET body = '{' WHERE session = ? AND seq = 4").run(session);
    journal.close();
    const { code, stdout, stderr } = await runOrrery(["sessions", "export", session], here());
    expect([code, stdout]).toEqual([1, whole.slice(0, 3).map((line) => `${line}\n`).join("")]);
    expect(stderr).toContain("event 4");
  });

  test("whose import is killed in the middle is not there, and can be imported after that", async () => {
    const session = newSession();
    const text = readFileSync(await writeLong(session, 20_000), "utf8");
    const half = startOrrery(["sessions", "import", "-"], { ...there(), open: true });
    const end = ended(half);
    await new Promise<void>((resolve) => half.stdin?.write(text.slice(0, text.length >> 1), () => resolve()));
    signal(half, "SIGKILL");
    expect((await end).signal).toBe("SIGKILL");
    expect(await sessionsThere()).toEqual([]);
    expect((await runOrrery(["sessions", "import", "-"], { ...there(), input: text })).code).toBe(0);
    expect(await sessionsThere()).toMatchObject([{ session, seq: 20_000 }]);
  }, 60_000);

  test("of 80 megabytes goes in and out in a bounded part of memory", async () => {
    const session = newSession();
    const path = await writeLong(session, 300_000);
    expect(statSync(path).size).toBeGreaterThan(70_000_000);
    const base = await peakOf(["sessions", "import", await writeLong(newSession(), 10)], join(elsewhere, "base"));
    const imported = await peakOf(["sessions", "import", path], join(elsewhere, "in"));
    const exported = await peakOf(["sessions", "export", session], join(elsewhere, "out"));
    expect([base.code, imported.code, exported.code]).toEqual([0, 0, 0]);
    expect(readFileSync(join(elsewhere, "out")).equals(readFileSync(path))).toBe(true);
    // Held as it is parsed, it would be several times its size.
    for (const { peak_mb } of [imported, exported]) expect(peak_mb - base.peak_mb).toBeLessThan(110);
  }, 120_000);
});

/** Runs it with its output in a file, and watches its memory. */
async function peakOf(args: readonly string[], out: string): Promise<{ readonly code: number | null; readonly peak_mb: number }> {
  await using file = await open(out, "w");
  const child = startOrrery(args, { ...there(), stdout: file.fd });
  let peak_mb = 0;
  const watch = setInterval(() => peak_mb = Math.max(peak_mb, residentMegabytes(child.pid ?? 0)), 20);
  const { code } = await ended(child);
  clearInterval(watch);
  return { code, peak_mb };
}

function residentMegabytes(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    // It has ended, or there is no /proc: then only the contents are compared.
    return 0;
  }
}
