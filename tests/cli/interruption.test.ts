/** Pins what signals do to a run, and what a reader that goes away does. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { mustReport } from "../../cli/failure.ts";
import { sourceCommand } from "../fixtures/supervision.ts";
import { type Ended, ended, runOrrery, signal, signalHeard, startOrrery } from "../host/orrery.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "orrery-signals-"));
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

/** Asks for one command, then says that it is done. */
async function startCommand(command: string): Promise<ChildProcess> {
  const script = { replies: [{ calls: [{ name: "bash", arguments: { command } }] }, { text: "Done." }] };
  await writeFile(join(home, "script.json"), JSON.stringify(script));
  return startOrrery(["run", "--model", `script:${join(home, "script.json")}`, "--output-format", "json", "go"], { home, cwd: home });
}

async function appears(path: string): Promise<void> {
  while (!existsSync(path)) await delay(5);
}

interface Report {
  readonly status: string;
  readonly reason?: string;
  readonly calls: readonly { readonly outcome: { readonly kind: string } }[];
}

function reportOf({ stdout }: Ended): Report {
  return JSON.parse(stdout) as Report;
}

describe("a run that is interrupted", () => {
  for (const [name, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    test(`${name} once: the call that runs is let finish, nothing follows, exit ${code}`, async () => {
      const [begun, go, done] = ["begun", "go", "done"].map((word) => join(home, `${word}-${name}`)) as [string, string, string];
      const child = await startCommand(`touch ${begun}; until [ -e ${go} ]; do sleep 0.02; done; touch ${done}`);
      const end = ended(child);
      await appears(begun);
      await signalHeard(child, name);
      await writeFile(go, "");
      const result = await end;
      expect([result.code, existsSync(done)]).toEqual([code, true]);
      expect(reportOf(result)).toMatchObject({
        status: "cancelled",
        reason: `${name} received`,
        calls: [{ outcome: { kind: "exited" } }],
      });
      expect(result.stderr).toContain("safe point");
    }, 20_000);
  }

  test("SIGINT twice: the call is ended at once", async () => {
    const begun = join(home, "begun-twice");
    const child = await startCommand(`echo $$ > ${begun}.tmp; mv ${begun}.tmp ${begun}; exec sleep 600`);
    await appears(begun);
    signal(child, "SIGINT");
    child.stderr?.once("data", () => signal(child, "SIGINT"));
    const result = await ended(child);
    expect(result.code).toBe(130);
    expect(reportOf(result)).toMatchObject({ status: "cancelled", calls: [{ outcome: { kind: "cancelled" } }] });
    expect(existsSync(`/proc/${(await readFile(begun, "utf8")).trim()}`)).toBe(false);
  }, 20_000);

  test("the session can be prompted again afterwards", async () => {
    const sessions = await listSessions();
    expect(sessions.map(({ status }) => status)).toEqual(sessions.map(() => "idle"));
    const again = await runOrrery(["run", "--session", sessions[0]?.session ?? "", "hello?"], { home, cwd: home });
    expect([again.code, again.stdout]).toEqual([0, "Done.\n"]);
  }, 20_000);
});

/** Resolves once the process listens for the signal, instead of just ending by it. */
async function listensFor(child: ChildProcess, name: "SIGINT" | "SIGTERM"): Promise<void> {
  const bit = 1n << BigInt(constants.signals[name] - 1);
  const caught = async () =>
    BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)$/m.exec(await readFile(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? "0"}`);
  while (((await caught()) & bit) === 0n) await delay(1);
}

describe("a command that is interrupted before it began", () => {
  const early = (name: string, ...args: readonly string[]) => {
    const [program = "", ...rest] = sourceCommand("./programs/early-interruption.ts");
    const env = { ...process.env, ORRERY_HOME: home, HOME: home };
    return spawnSync(program, [...rest, name, ...args], { encoding: "utf8", cwd: home, env, input: "" });
  };

  for (
    const [name, code, kind] of [["SIGINT", 130, "interrupted"], ["SIGTERM", 143, "terminated"], ["SIGHUP", 143, "terminated"]] as const
  ) {
    test(`by ${name}: whoever asked for JSON gets it, in the form that was asked for`, () => {
      const reason = `${name} received`;
      const report = early(name, "run", "-o", "json", "--model", "script:none.json", "go");
      expect(report.status).toBe(code);
      expect(JSON.parse(report.stdout)).toMatchObject({
        schema_version: 1,
        status: "cancelled",
        session: null,
        steps: 0,
        calls: [],
        reason,
      });
      const line = early(name, "run", "-o", "stream-json", "--model", "script:none.json", "go");
      expect([line.status, line.stdout]).toEqual([code, `${JSON.stringify({ type: "error", kind, message: reason })}\n`]);
      const object = early(name, "sessions", "list", "--json");
      expect([object.status, JSON.parse(object.stdout)]).toEqual([code, { schema_version: 1, error: { kind, message: reason } }]);
    });
  }

  test("where nobody asked for JSON it ends by the signal, as any program does", () => {
    const asked = [["run", "-o", "json"], ["sessions", "resume", "x", "-o=stream-json"], ["tools", "call", "x", "--json"]];
    const others = [["run", "go"], ["run", "--", "--json"], ["sessions", "list"], ["sessions", "events", "x", "--json"], ["chat"]];
    expect([asked.map(mustReport), others.map(mustReport)]).toEqual([asked.map(() => true), others.map(() => false)]);
  });

  test("twice: it ends by the signal, whatever it was asked for", () => {
    expect(early("SIGINT,SIGINT", "run", "-o", "json", "go").signal).toBe("SIGINT");
  });

  test("while it waits for its prompt: whoever asked for JSON gets it", async () => {
    if (process.platform !== "linux") return; // Only /proc tells who listens.
    for (const [name, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
      const child = startOrrery(["run", "--output-format", "json"], { home, cwd: home, open: true });
      await listensFor(child, name);
      signal(child, name);
      const result = await ended(child);
      expect([result.code, reportOf(result)]).toMatchObject([code, { status: "cancelled", reason: `${name} received` }]);
    }
  }, 20_000);
});

describe("a reader of standard output", () => {
  test("that goes away leaves no complaint and no failure", async () => {
    const [newest] = await listSessions();
    const child = startOrrery(["sessions", "events", newest?.session ?? ""], { home });
    child.stdout?.destroy();
    const { code, stderr } = await ended(child);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("that is slow gets everything", async () => {
    const text = "0123456789".repeat(300_000);
    await writeFile(join(home, "long.json"), JSON.stringify({ replies: [{ text }] }));
    const child = startOrrery(["run", "--model", `script:${join(home, "long.json")}`, "say"], { home, cwd: home });
    child.stdout?.pause();
    setTimeout(() => child.stdout?.resume(), 500);
    const { code, stdout } = await ended(child);
    expect([code, stdout.length]).toEqual([0, text.length + 1]);
  }, 20_000);

  test("that has no room is an error", async () => {
    const full = openSync("/dev/full", "w");
    const { code, stderr } = await ended(startOrrery(["sessions", "list", "--json"], { home, stdout: full }));
    closeSync(full);
    expect(code).toBe(1);
    expect(stderr).toContain("Cannot write to standard output");
  });
});

async function listSessions(): Promise<readonly { readonly session: string; readonly status: string }[]> {
  const { stdout } = await runOrrery(["sessions", "list", "--json"], { home });
  return (JSON.parse(stdout) as { sessions: readonly { session: string; status: string }[] }).sessions;
}
