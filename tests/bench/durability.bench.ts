/**
 * What durability costs when it is needed, each number beside the least possible taken in the same run: recovering a
 * session whose runtime died, ending a turn with the tree of its call, many sessions at once, sessions that do nothing, and
 * the server's answer on its health while a tool prints as fast as it can, which is to stay below 250 ms.
 *
 * Not measured: a cold disk cache, a real model, tools that resist, several runtimes on one journal, the memory of the
 * compiled program. Run it with `bun tests/bench/durability.bench.ts`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, openAgent } from "../../lib/agent/agent.ts";
import type { Session } from "../../lib/agent/session.ts";
import { startServer } from "../../lib/http/serve.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import { openDatabase } from "../../lib/platform/sqlite.ts";
import { spawnProcess } from "../../lib/platform/spawn.ts";
import { isAlive } from "../fixtures/alive.ts";
import { deadOwner, newSession } from "../fixtures/journal/events.ts";
import { sampleSession } from "../fixtures/journal/sample.ts";
import { createWorkspace } from "../fixtures/workspace.ts";

const SESSIONS = 200;
const MEMORY_ROUNDS = 4;
const workspace = await createWorkspace();
const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
const journalPath = join(workspace.home, "data/journal.sqlite");
const agents: Agent[] = [];

try {
  await workspace.write(".stella/tools/nothing.toml", 'name = "nothing"\ndescription = "Does nothing."\ncommand = ["/bin/true"]\n');
  await workspace.tool("tree", treeScript());
  await recovery();
  await cancelling();
  await concurrency();
  await healthBesideFlood();
  await idleMemory();
} finally {
  await Promise.all(agents.map((agent) => agent.close()));
  await workspace.remove();
}

function open(model?: string): Agent {
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, env, ...(model === undefined ? {} : { model }) });
  agents.push(agent);
  return agent;
}

/** From the wish to the closed turn of a session that was killed in the middle of a call: lease, log, fold, ends, durable. */
async function recovery(): Promise<void> {
  for (const count of [1000, 10_000, 100_000]) {
    const rounds = count === 100_000 ? 5 : 15;
    const sessions = await interrupted(count, rounds);
    const agent = open();
    const ours: number[] = [];
    const bare: number[] = [];
    for (const session of sessions) {
      bare.push(await timed(async () => readBare(session)));
      ours.push(await timed(() => agent.cancel(session)));
    }
    const per = (times: readonly number[]) => `${(median(times) / count * 1000).toFixed(2)} ms per 1,000`;
    report(`recovery, ${count} events`, ours, `${per(ours)}; bare read and parse ${ms(median(bare))}, ${per(bare)}`);
  }
}

/** Sessions of so many events whose last one began a call. Their holder is dead. */
async function interrupted(count: number, sessions: number): Promise<readonly string[]> {
  const journal = openSqliteJournal({ path: journalPath });
  const ids = Array.from({ length: sessions }, newSession);
  for (const session of ids) {
    const events = sampleSession(session, count + 12);
    const cut = events.findLastIndex((event) => event.type === "call_started" && event.seq <= count);
    const lease = await journal.acquire(session, deadOwner());
    for (let from = 0; from <= cut; from += 5000) await journal.append(lease, from, events.slice(from, Math.min(from + 5000, cut + 1)));
  }
  await journal.close();
  return ids;
}

function readBare(session: string): void {
  const database = openDatabase(journalPath, { busy_timeout_ms: 1000 });
  let last = 0;
  const page = database.prepare("SELECT seq, body FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT 500");
  for (;;) {
    const rows = page.all(session, last);
    for (const row of rows) JSON.parse(String(row["body"]));
    if (rows.length === 0) break;
    last = Number(rows[rows.length - 1]?.["seq"]);
  }
  database.close();
}

/** A call with six more processes, three of them in sessions of their own. It says when all are there. */
function treeScript(): string {
  return "for each in 1 2 3; do setsid sleep 300 & sleep 301 & done; echo ready; wait";
}

/** From the wish to the moment when the turn is closed, which is not before nothing of the tree is alive. */
async function cancelling(): Promise<void> {
  const byHand: number[] = [];
  const inside: number[] = [];
  const outside: number[] = [];
  for (let round = 0; round < 10; round++) {
    byHand.push(await killByHand());
    inside.push(await cancelInside());
    outside.push(await cancelOutside());
  }
  report("seven processes, SIGKILL by hand", byHand, "baseline: the pids are known, nobody is asked first");
  report("a turn that is stopped at once", inside, "until it is closed and nothing is alive");
  report("a turn that another runtime cancels", outside, "the holder looks for requests every 100 ms");
}

async function killByHand(): Promise<number> {
  const child: ChildProcess = spawn("sh", [
    "-c",
    "for e in 1 2 3; do setsid sleep 300 & echo $!; sleep 301 & echo $!; done; echo ready; wait",
  ], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let text = "";
  child.stdout?.on("data", (chunk) => text += String(chunk));
  while (!text.includes("ready")) await new Promise((resolve) => setTimeout(resolve, 1));
  const pids = [...text.matchAll(/\d+/g)].map(([pid]) => Number(pid));
  const exited = once(child, "exit");
  return await timed(async () => {
    for (const pid of [...pids, child.pid ?? 0]) process.kill(pid, "SIGKILL");
    await exited;
    while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 1));
  });
}

async function startTree(): Promise<
  { readonly session: Session; readonly agent: Agent; readonly now: AbortController; readonly ended: Promise<unknown> }
> {
  const agent = open(await workspace.script({ calls: [{ name: "tree", arguments: {} }] }));
  const session = await agent.create();
  const now = new AbortController();
  const ready = Promise.withResolvers<void>();
  session.watch((event) => event.type === "call_output" && ready.resolve());
  const ended = session.prompt("go", { source: "bench", now: now.signal });
  await ready.promise;
  return { session, agent, now, ended };
}

async function cancelInside(): Promise<number> {
  const { now, ended, agent } = await startTree();
  const took = await timed(async () => {
    now.abort({ reason: "cancelled", detail: "bench" });
    await ended;
  });
  await agent.close();
  return took;
}

async function cancelOutside(): Promise<number> {
  const { session, ended, agent } = await startTree();
  const other = open();
  const took = await timed(() => other.cancel(session.id));
  await ended;
  await Promise.all([agent.close(), other.close()]);
  return took;
}

/** From the recorded reply to the durable end of its one call, less the call's own time. */
async function concurrency(): Promise<void> {
  const model = await workspace.script({ calls: [{ name: "nothing", arguments: {} }] }, { text: "done" });
  const agent = open(model);
  await overhead(await agent.create());
  const alone: number[] = [];
  for (let round = 0; round < 40; round++) alone.push(await overhead(await agent.create()));
  const bareAlone: number[] = [];
  for (let round = 0; round < 40; round++) bareAlone.push(await timed(bareSpawn));
  const bareTogether: number[] = [];
  await Promise.all(Array.from({ length: SESSIONS }, async () => bareTogether.push(await timed(bareSpawn))));
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => agent.create()));
  const together = await Promise.all(sessions.map(overhead));
  report("1 session, overhead of its call", alone, "baseline");
  report(`${SESSIONS} sessions at once, overhead of each`, together, `${(median(together) / median(alone)).toFixed(0)} times that of 1`);
  report("1 bare spawn of /bin/true", bareAlone, "baseline");
  report(`${SESSIONS} bare spawns at once`, bareTogether, `${(median(bareTogether) / median(bareAlone)).toFixed(0)} times 1`);
}

async function overhead(session: Session): Promise<number> {
  const ended = Promise.withResolvers<number>();
  let sealed = 0;
  session.watch((event) => {
    if (event.type === "reply_committed") sealed ||= performance.now();
    if (event.type === "call_ended" && "duration_ms" in event) ended.resolve(performance.now() - sealed - event.duration_ms);
  });
  await session.prompt("go", { source: "bench" });
  return await ended.promise;
}

/** Each answer by a connection that is kept, as a prober's is; the first one is the connection's and does not count. */
async function healthBesideFlood(): Promise<void> {
  await workspace.tool("flood", "yes & yes 1>&2 & yes", "timeout_ms = 4000");
  const agent = open(await workspace.script({ calls: [{ name: "flood", arguments: {} }] }, { text: "done" }));
  const server = await startServer(agent, { env });
  const answer = async () => void await (await fetch(`${server.url}/healthz`)).text();
  const idle: number[] = [];
  const beside: number[] = [];
  try {
    await answer();
    for (let round = 0; round < 50; round++) {
      idle.push(await timed(answer));
      await sleep(50);
    }
    let running = true;
    const turn = (await agent.create()).prompt("go", { source: "bench" }).finally(() => running = false);
    await sleep(500);
    while (running) {
      beside.push(await timed(answer));
      await sleep(50);
    }
    await turn;
  } finally {
    await server.close(0);
  }
  report("health, nothing else going on", idle, "baseline");
  report("health beside a tool at full speed", beside, `${ms(Math.max(...beside))} at most, aim 250`);
}

/**
 * What a session with a log of 1,000 events takes while it is open and nothing happens, beside its text: by how much the
 * memory of the process grows with every 200 more of them. The first 200 fill what was there already, and do not count.
 */
async function idleMemory(): Promise<void> {
  const events = 997;
  const agent = open(await workspace.script({ text: "done" }));
  await (await agent.create()).prompt("go", { source: "bench" });
  const growth: number[] = [];
  let characters = 0;
  for (let round = 0; round <= MEMORY_ROUNDS; round++) {
    const stored = await idleSessions(events);
    characters = stored.characters;
    const before = residentBytes();
    for (const id of stored.ids) await agent.open(id);
    growth.push((residentBytes() - before) / SESSIONS);
  }
  const counted = growth.slice(1).toSorted((left, right) => left - right);
  const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;
  const [least = NaN, most = NaN] = [counted[0], counted.at(-1)];
  if (!(least > 0 && most < 3 * median(counted))) {
    throw new Error(`Cannot tell the memory of an idle session as the rounds do not agree: ${growth.map(kib).join(", ")}`);
  }
  line(
    "resident memory of an idle session",
    `${kib(median(counted))} median, ${kib(least)} to ${kib(most)}`,
    `${MEMORY_ROUNDS} rounds of ${SESSIONS} sessions of ${events} events; their text is ${kib(characters / SESSIONS)}`,
  );
}

async function idleSessions(count: number): Promise<{ readonly ids: readonly string[]; readonly characters: number }> {
  const journal = openSqliteJournal({ path: journalPath });
  const ids = Array.from({ length: SESSIONS }, newSession);
  let characters = 0;
  for (const session of ids) {
    const lease = await journal.acquire(session, deadOwner());
    const events = sampleSession(session, count).map((event) =>
      event.type === "session_opened" ? { ...event, workspace: workspace.path, model: "script:none" } : event
    );
    characters += events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
    await journal.append(lease, 0, events);
    await lease.release();
  }
  await journal.close();
  return { ids, characters };
}

/** After a collection, where the host can be told to make one. */
function residentBytes(): number {
  const { Bun: bun } = globalThis as { readonly Bun?: { gc(force: boolean): void } };
  bun?.gc(true);
  return process.memoryUsage.rss();
}

async function bareSpawn(): Promise<void> {
  const child = spawnProcess({ program: "/bin/true", args: [], cwd: workspace.path, env: {}, stdin: null });
  const drained = [child.stdout, child.stderr].map(async (pipe) => {
    while (await pipe.read() !== null);
    await pipe.close();
  });
  await Promise.all([child.exited, ...drained]);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function report(what: string, times: readonly number[], note: string): void {
  const sorted = times.toSorted((left, right) => left - right);
  line(what, `${ms(median(times))} median, ${ms(sorted[Math.floor(sorted.length * 0.95)] ?? NaN)} p95`, note);
}

function median(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[times.length >> 1] ?? NaN;
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(2)} ms`;
}

function line(what: string, value: string, note: string): void {
  console.log(`${what.padEnd(42)} ${value.padEnd(34)} ${note}`);
}
