/**
 * What the MCP room costs: loading the client, connecting, one call, and ten servers of which one hangs. The baselines
 * do the least: start the same program, and send a line to it and wait for one.
 * Run: `bun tests/bench/mcp.bench.ts` or `deno run -A tests/bench/mcp.bench.ts`.
 *
 * Not measured: servers over a network.
 */
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import process from "node:process";
import type { Conversation } from "../../lib/session/launch.ts";
import { createConversations } from "../fixtures/mcp/conversation.ts";
import { fixture, openRoom } from "../fixtures/mcp/room.ts";

const STARTS = 10;
const CALLS = 2000;
const GOAL_MS = 10_000;
const LIMITS = { line_bytes: 1e6, window_bytes: 1e6, queue_bytes: 1e6, stderr_bytes: 1e4 };
const env = { PATH: process.env["PATH"] ?? "" };
await using conversations = createConversations();
const talks: Conversation[] = [];

const loading = performance.now();
await import("@modelcontextprotocol/client");
console.log(`loading the client, once: ${(performance.now() - loading).toFixed(0)} ms`);

const bareStart = await sample(STARTS, async () => {
  const first = Promise.withResolvers<void>();
  const conversation = talk("console.log('here'); process.stdin.on('end', () => process.exit()).resume()", first.resolve);
  await first.promise;
  return conversation;
});
const roomStart = await sample(STARTS, () => openRoom([fixture("s")]));
console.log(`connecting one server: ${show(roomStart)}; a bare process to its first line ${show(bareStart)}`);

const bareCall = await sampleCalls(await echo());
await using room = await openRoom([fixture("s")]);
const ours = await sampleCalls(async () => void await room.call("mcp__s__echo", { text: "hello" }));
console.log(`one call: ${show(ours)}; a bare line there and back ${show(bareCall)}`);

const began = performance.now();
await using ten = await openRoom([fixture("mute", "mute"), ...Array.from({ length: 9 }, (_, index) => fixture(`s${index}`))], {
  patience: { connect: GOAL_MS },
});
const ready = performance.now() - began;
const good = ten.room.status().filter(({ state }) => state === "ready").length;
console.log(`ten servers of which one hangs: ready after ${ready.toFixed(0)} ms with ${good} (goal ${GOAL_MS} ms with 9)`);
for (const conversation of talks) conversation.close();
if (ready > GOAL_MS || good !== 9) throw new Error("A hanging server keeps the others");

interface Ending {
  close?(): void;
  [Symbol.asyncDispose]?(): PromiseLike<void>;
}

async function sample(rounds: number, work: () => Promise<Ending>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const opened = await work();
    times.push(performance.now() - start);
    opened.close?.();
    await opened[Symbol.asyncDispose]?.();
  }
  return times;
}

async function sampleCalls(call: () => Promise<void>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = -100; round < CALLS; round++) {
    const start = performance.now();
    await call();
    if (round >= 0) times.push(performance.now() - start);
  }
  return times;
}

/** The least that a call needs: a line to a process that sends it back. */
async function echo(): Promise<() => Promise<void>> {
  const program =
    "const lines = require('node:readline').createInterface({ input: process.stdin }); lines.on('line', (line) => console.log(line));";
  let next = Promise.withResolvers<void>();
  const conversation = talk(program, () => next.resolve());
  return async () => {
    next = Promise.withResolvers();
    await conversation.send('{"method":"tools/call","params":{"text":"hello"}}');
    await next.promise;
  };
}

function talk(program: string, onLine: () => void): Conversation {
  const conversation = conversations.open({
    call: randomUUID(),
    launch: { argv: ["node", "-e", program], cwd: tmpdir(), env },
    onLine,
    ...LIMITS,
  });
  talks.push(conversation);
  return conversation;
}

function show(times: readonly number[]): string {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);
  return `median ${at(0.5)} ms, p95 ${at(0.95)} ms`;
}
