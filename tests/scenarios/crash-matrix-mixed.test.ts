/**
 * `kill -9` of the runtime after every commit of a session that uses a Nanocoder tool, an MCP server and a session that works
 * for it, whichever of the logs it goes to; then `sessions resume`. Promises P1 to P4.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { isKnown, parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { fold } from "../../lib/session/evolve.ts";
import { snapshot } from "../../lib/session/state.ts";
import { transcript } from "../../lib/session/transcript.ts";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let model: string;

const NANOCODER = `---
name: change
description: Leaves a line.
parameters:
  id:
    type: string
    required: true
---
echo $$ >> pids; printf 'nanocoder %s\\n' {{ id }} >> effects; sleep 0.05; echo done
`;

/** Its one tool leaves a line too. */
const SERVER = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
appendFileSync("pids", process.pid + "\\n");
const tools = [{ name: "record", description: "Leaves a line.", inputSchema: { type: "object", properties: { id: { type: "string" } } } }];
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
  "tools/list": () => ({ tools }),
  "tools/call": async (params) => {
    appendFileSync("effects", "mcp " + params.arguments.id + "\\n");
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { content: [{ type: "text", text: "recorded" }] };
  },
};
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = await results[method]?.(params);
  const answer = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
});
`;

beforeAll(async () => {
  workspace = await createWorkspace();
  await workspace.tool("look", "echo $$ >> pids; sleep 0.05; echo seen", "read_only = true");
  await workspace.write(".nanocoder/tools/change.md", NANOCODER);
  await workspace.write("server.mjs", SERVER);
  await workspace.write(".orrery/mcp.toml", '[servers.notes]\ncmd = "node"\nargs = ["server.mjs"]\n');
  const call = (name: string, input: object = {}) => ({ name, arguments: input });
  // The session that works for it plays the same script: what changes something does not exist for it.
  model = await workspace.script(
    { calls: [call("delegate", { description: "look", prompt: "Look." }), call("change", { id: "a" })] },
    { text: "Further.", calls: [call("mcp__notes__record", { id: "b" }), call("look")] },
    { text: "All done." },
  );
});

afterAll(() => workspace.remove());

interface Log {
  readonly session: string;
  readonly events: readonly SessionEvent[];
}

/** Of all sessions, the one that was prompted by a person first. */
async function logsOf(home: string): Promise<readonly Log[]> {
  const start = { cwd: workspace.path, home };
  const { sessions } = JSON.parse((await runOrrery(["sessions", "list", "--json"], start)).stdout) as { sessions: { session: string }[] };
  const logs = await Promise.all(sessions.map(async ({ session }): Promise<Log> => {
    const { stdout } = await runOrrery(["sessions", "events", session], start);
    const events = stdout.split("\n").filter((line) => line !== "").map((line) => parseEvent(JSON.parse(line))).filter(isKnown);
    return { session, events };
  }));
  const isChild = ({ events: [first] }: Log) => first?.type === "session_opened" && first.parent !== undefined;
  return logs.toSorted((left, right) => Number(isChild(left)) - Number(isChild(right)));
}

function linesOf(name: string): readonly string[] {
  const path = join(workspace.path, name);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter((line) => line !== "") : [];
}

/** Kills the runtime as soon as the journal has so many events, resumes, and checks. How many there were; null: it had ended before. */
async function crash(at: number): Promise<number | null> {
  const home = await mkdtemp(join(tmpdir(), "orrery-crash-"));
  try {
    for (const name of ["effects", "pids"]) rmSync(join(workspace.path, name), { force: true });
    const start = { cwd: workspace.path, home };
    const runtime = startOrrery(["run", "--trust-workspace", "--mode", "yolo", "--model", model, "go"], start);
    const end = ended(runtime);
    await reached(join(home, "data/journal.sqlite"), at, () => runtime.exitCode !== null || runtime.signalCode !== null);
    signal(runtime, "SIGKILL");
    const killed = (await end).signal === "SIGKILL";
    await untilGone(at);
    const before = await logsOf(home);
    const found = before.reduce((sum, { events }) => sum + events.length, 0);
    const [parent] = before;
    if (parent?.events.some((event) => event.type === "prompted") !== true) return found;
    const resumed = await runOrrery(["sessions", "resume", parent.session, "--trust-workspace"], start);
    expect([at, resumed.code, resumed.stderr]).toEqual([at, 0, expect.any(String)]);
    await untilGone(at);
    check(at, before, await logsOf(home));
    return killed ? found : null;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function reached(path: string, count: number, hasEnded: () => boolean): Promise<void> {
  while (!existsSync(path) && !hasEnded()) await sleep(1);
  const database = openDatabase(path, { busy_timeout_ms: 1000 });
  const look = () => {
    try {
      return Number(database.prepare("SELECT count(*) AS n FROM events").get()?.["n"]);
    } catch {
      // The table is not there yet.
      return 0;
    }
  };
  while (look() < count && !hasEnded()) await sleep(0);
  database.close();
}

/** P4: without a restart. */
async function untilGone(at: number): Promise<void> {
  const deadline = performance.now() + 2000;
  const alive = () => linesOf("pids").map(Number).filter(isAlive);
  while (alive().length > 0 && performance.now() < deadline) await sleep(10);
  expect([at, alive()]).toEqual([at, []]);
}

function check(at: number, before: readonly Log[], after: readonly Log[]): void {
  const where = `killed at event ${at}`;
  const effects = linesOf("effects");
  expect([where, effects.length]).toEqual([where, new Set(effects).size]);
  for (const { session, events } of after) {
    const old = before.find((log) => log.session === session)?.events ?? [];
    expect([where, events.slice(0, old.length)]).toEqual([where, [...old]]);
    checkLog(where, events);
    checkUnknown(where, old, events);
  }
  expect([where, after[0]?.events.at(-1)]).toMatchObject([where, { type: "turn_ended", reason: "completed" }]);
  const outcomes = after[0]?.events.flatMap((event) => event.type === "call_ended" ? [event.outcome.kind] : []) ?? [];
  if (!outcomes.includes("unknown")) expect([where, effects.toSorted()]).toEqual([where, ["mcp b", "nanocoder a"]]);
}

/** Whole, with one end for each call, and the same however it is folded. */
function checkLog(where: string, events: readonly SessionEvent[]): void {
  expect([where, events.map((event) => event.seq)]).toEqual([where, events.map((_event, index) => index + 1)]);
  const asked = events.flatMap((event) => event.type === "reply_committed" ? event.calls.map((each) => each.call) : []);
  const ends = events.flatMap((event) => event.type === "call_ended" ? [event.call] : []);
  expect([where, ends.toSorted()]).toEqual([where, asked.toSorted()]);
  expect([where, events.at(-1)?.type]).toEqual([where, "turn_ended"]);
  const state = fold(events);
  for (let cut = 0; cut <= events.length; cut++) {
    expect(snapshot(fold(events.slice(cut), fold(events.slice(0, cut))))).toEqual(snapshot(state));
  }
  expect([where, transcript(state).filter((message) => message.role === "tool").length]).toEqual([where, asked.length]);
}

/** What had started and not ended is unknown, and nothing else is. */
function checkUnknown(where: string, before: readonly SessionEvent[], after: readonly SessionEvent[]): void {
  const running = new Set(before.flatMap((event) => event.type === "call_started" ? [event.call] : []));
  for (const event of before) if (event.type === "call_ended") running.delete(event.call);
  const unknown = after.flatMap((event) => event.type === "call_ended" && event.outcome.kind === "unknown" ? [event.call] : []);
  expect([where, unknown.toSorted()]).toEqual([where, [...running].toSorted()]);
}

describe("kill -9 of the runtime of a session with tools of three kinds and a session that works for it", () => {
  test("after every commit to either log: nothing is lost or runs twice, and nothing outlives the kill", async () => {
    const hit = new Set<number>();
    let last = 0;
    for (let at = 1;; at++) {
      const found = await crash(at);
      if (found === null) break;
      hit.add(found);
      last = Math.max(last, found);
    }
    expect(last).toBeGreaterThan(30);
    // Events of one commit come together, and on a busy machine a look is late: not every number is hit by itself. Exact
    // is crash-matrix.test.ts; this is only that the kills were spread over the session.
    expect(hit.size).toBeGreaterThan(last / 6);
  }, 400_000);
});
