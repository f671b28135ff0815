/**
 * `kill -9` of the runtime at every event of a session, then `sessions resume`: nothing lost or doubled, no side effect
 * twice, what was running ends as unknown, and the session completes. Promises P1, P2, P3.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { isKnown, parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { fold } from "../../lib/session/evolve.ts";
import { snapshot } from "../../lib/session/state.ts";
import { transcript } from "../../lib/session/transcript.ts";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let model: string;

/** Every mutating tool leaves a line that names its call, and its pid while it runs. */
const MUTATING = 'echo $$ >> pids; printf "%s\\n" "$STELLA_INPUT_ID" >> effects; sleep 0.05; printf done';

beforeAll(async () => {
  workspace = await createWorkspace();
  await workspace.write("notes.txt", "alpha\nbeta\n");
  await workspace.tool("look", "sleep 0.03; cat notes.txt", "read_only = true");
  await workspace.tool("change", MUTATING);
  await workspace.tool("careful", MUTATING, 'approval = "always"');
  const call = (name: string, id?: string) => ({ name, arguments: id === undefined ? {} : { id } });
  model = await workspace.script(
    { calls: [call("look"), { name: "read_file", arguments: { path: "notes.txt" } }] },
    { text: "First.", calls: [call("change", "a"), call("look"), call("change", "b")] },
    { calls: [call("careful", "c"), { name: "bash", arguments: { command: "echo d >> effects" } }] },
    { text: "All done." },
  );
});

afterAll(() => workspace.remove());

interface Crashed {
  readonly events: readonly SessionEvent[];
  readonly before: readonly SessionEvent[];
  readonly effects: readonly string[];
  readonly hooked: number;
  readonly code: number | null;
}

/** Kills the runtime as soon as it has told of event `at`, waits `later_ms` first, and resumes. Null if it had ended before. */
async function crash(at: number, later_ms = 0): Promise<Crashed | null> {
  const home = await mkdtemp(join(tmpdir(), "orrery-crash-"));
  try {
    for (const name of ["effects", "hooked", "pids"]) rmSync(join(workspace.path, name), { force: true });
    await mkdir(join(home, "config"));
    await writeFile(
      join(home, "config/settings.json"),
      JSON.stringify({ hooks: { PreToolUse: [{ matcher: "change", hooks: [{ type: "command", command: "echo >> hooked" }] }] } }),
    );
    const start = { cwd: workspace.path, home };
    const args = ["--trust-workspace", "--model", model, "--mode", "yolo", "--output-format", "stream-json"];
    const runtime = startOrrery(["run", ...args, "go"], start);
    const end = ended(runtime);
    const told = await killAt(runtime, at, later_ms);
    await end;
    if (told.session === null) return null;
    const before = await eventsOf(told.session, start);
    const resumed = await runOrrery(["sessions", "resume", told.session, "--trust-workspace"], start);
    for (const pid of pidsOf()) expect([at, pid, isAlive(pid)]).toEqual([at, pid, false]);
    return { before, events: await eventsOf(told.session, start), effects: linesOf("effects"), hooked: hooked(), code: resumed.code };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function killAt(runtime: ReturnType<typeof startOrrery>, at: number, later_ms: number): Promise<{ session: string | null }> {
  const { promise, resolve } = Promise.withResolvers<{ session: string | null }>();
  let text = "";
  let session: string | null = null;
  runtime.stdout?.on("data", (chunk: string) => {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const event = JSON.parse(line) as { seq?: number; session: string };
      session = event.session;
      if (event.seq === at) resolve({ session });
    }
  });
  runtime.once("close", () => resolve({ session }));
  const told = await promise;
  if (later_ms > 0) await sleep(later_ms);
  if (runtime.pid !== undefined && runtime.exitCode === null && runtime.signalCode === null) process.kill(runtime.pid, "SIGKILL");
  return told;
}

async function eventsOf(session: string, start: { cwd: string; home: string }): Promise<readonly SessionEvent[]> {
  const { stdout } = await runOrrery(["sessions", "events", session], start);
  return stdout.split("\n").filter((line) => line !== "").map((line) => parseEvent(JSON.parse(line))).filter(isKnown);
}

function linesOf(name: string): readonly string[] {
  const path = join(workspace.path, name);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter((line) => line !== "") : [];
}

/** How often the hook ran. */
function hooked(): number {
  const path = join(workspace.path, "hooked");
  return existsSync(path) ? readFileSync(path, "utf8").length : 0;
}

function pidsOf(): readonly number[] {
  return linesOf("pids").map(Number);
}

function check({ before, events, effects, hooked, code }: Crashed, at: number): void {
  const where = `killed at event ${at}`;
  expect([where, code]).toEqual([where, 0]);
  expect([where, events.map((event) => event.seq)]).toEqual([where, events.map((_event, index) => index + 1)]);
  expect([where, events.slice(0, before.length)]).toEqual([where, [...before]]);
  const requested = events.flatMap((event) => event.type === "reply_committed" ? event.calls.map((call) => call.call) : []);
  const ends = events.flatMap((event) => event.type === "call_ended" ? [event] : []);
  expect([where, ends.map((end) => end.call).sort()]).toEqual([where, [...requested].sort()]);
  expect([where, events.at(-1)]).toMatchObject([where, { type: "turn_ended", reason: "completed" }]);
  // A side effect happened at most once, and exactly once for every call that ended well.
  expect([where, effects.length]).toEqual([where, new Set(effects).size]);
  const unknown = ends.filter((end) => end.outcome.kind === "unknown");
  const running = new Set(before.flatMap((event) => event.type === "call_started" ? [event.call] : []));
  for (const event of before) if (event.type === "call_ended") running.delete(event.call);
  expect([where, unknown.map((end) => end.call).sort()]).toEqual([where, [...running].sort()]);
  for (const end of unknown) expect([where, end.result.text]).toEqual([where, expect.stringContaining("unknown")]);
  if (unknown.length === 0) expect([where, [...effects].sort()]).toEqual([where, ["a", "b", "c", "d"]]);
  expect([where, "hook runs", hooked >= 2]).toEqual([where, "hook runs", true]);
  for (let cut = 0; cut <= events.length; cut++) {
    expect(snapshot(fold(events.slice(cut), fold(events.slice(0, cut))))).toEqual(snapshot(fold(events)));
  }
  const messages = transcript(fold(events));
  expect([where, messages.filter((message) => message.role === "tool").length]).toEqual([where, requested.length]);
}

describe("kill -9 of the runtime", () => {
  test("at every event: the session goes on where it was, and nothing runs twice", async () => {
    for (let at = 1;; at++) {
      const crashed = await crash(at);
      if (crashed === null || crashed.before.length < at) throw new Error(`the run ended before event ${at}`);
      check(crashed, at);
      if (crashed.before.at(-1)?.type === "turn_ended") break;
      if (at > 80) throw new Error("the session does not end");
    }
  }, 120_000);

  test("between the start of a process and the record of its pid, and shortly after", async () => {
    const whole = await crash(10_000);
    const starts = (whole?.events ?? []).filter((event) => event.type === "call_started").map((event) => event.seq);
    expect(starts.length).toBeGreaterThan(5);
    for (const at of starts) {
      for (const later_ms of [1, 4, 12]) {
        const crashed = await crash(at, later_ms);
        if (crashed !== null) check(crashed, at);
      }
    }
  }, 120_000);
});
