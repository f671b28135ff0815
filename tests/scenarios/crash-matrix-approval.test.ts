/**
 * `kill -9` of a server at every event of a session with Stella and Nanocoder tools that change something, an approval, a
 * hook and a session that works for it; then another server takes it up. Promises P1 to P4.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiProblem } from "../../lib/http/client-request.ts";
import { isKnown, parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { isAlive } from "../fixtures/alive.ts";
import { endServing, type Serving, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

let workspace: TestWorkspace;
let args: readonly string[];

const LEAVE = "echo $$ >> pids; printf '%s\\n'";
/** Tools that change something: a hook looks at each call, and leaves a line with what it was told. */
const HOOKED = ["change", "careful", "note"] as const;
const HOOK = "echo $$ >> pids; echo $(cat) >> hooked; sleep 0.03";
const NANOCODER = `---
name: note
description: Leaves a line.
approval: never
read_only: false
parameters:
  id:
    type: string
    required: true
---
${LEAVE} {{ id }} >> effects; sleep 0.05; echo done
`;

beforeAll(async () => {
  workspace = await createWorkspace();
  await workspace.tool("look", "echo $$ >> pids; sleep 0.03; echo seen", "read_only = true");
  for (const [name, manifest] of [["change", ""], ["careful", 'approval = "always"']] as const) {
    await workspace.tool(name, `${LEAVE} "$STELLA_INPUT_ID" >> effects; sleep 0.05; echo done`, manifest);
  }
  await workspace.write(".nanocoder/tools/note.md", NANOCODER);
  await mkdir(join(workspace.home, "config"));
  const hooks = HOOKED.map((matcher) => ({ matcher, hooks: [{ type: "command", command: HOOK }] }));
  await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify({ hooks: { PreToolUse: hooks } }));
  const call = (name: string, input: object = {}) => ({ name, arguments: input });
  const model = await workspace.script(
    { calls: [call("look"), call("delegate", { description: "look", prompt: "Look." })] },
    { text: "Further.", calls: [call("change", { id: "a" }), call("careful", { id: "b" }), call("note", { id: "c" })] },
    { text: "All done." },
  );
  args = ["--trust-workspace", "--mode", "auto-accept", "--model", model];
});

afterEach(endServing);
afterAll(() => workspace.remove());

const where = (at: number) => `killed at event ${at}`;

function linesOf(name: string): readonly string[] {
  const path = join(workspace.path, name);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter((line) => line !== "") : [];
}

async function logOf(server: Serving, session: string): Promise<readonly SessionEvent[]> {
  const { events } = await server.client.events(session, { limit: 1000 });
  return events.map((event) => parseEvent(event)).filter(isKnown);
}

/** Says yes to whatever is asked, until the signal. */
async function sayYes(server: Serving, session: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const { call } of (await server.client.state(session)).approvals) {
        await server.client.answer(session, call, { decision: "allow" });
      }
    } catch (error) {
      // Nobody waits for the answer yet, or the server was killed.
      if (!(error instanceof ApiProblem) && !signal.aborted) await sleep(1);
    }
    await sleep(5);
  }
}

/** Plays until the event of this number is told or the turn ends, answering what is asked. */
async function playUntil(server: Serving, session: string, until: number): Promise<void> {
  const done = new AbortController();
  const answers = sayYes(server, session, done.signal);
  for await (const event of server.client.follow(session, { signal: done.signal })) {
    if ("seq" in event && (event.seq >= until || event.type === "turn_ended")) break;
  }
  if (until !== Infinity) await server.end("SIGKILL");
  done.abort();
  await answers;
}

/** P4: without a restart. */
async function untilGone(at: number): Promise<void> {
  const deadline = performance.now() + 2000;
  const alive = () => linesOf("pids").map(Number).filter(isAlive);
  while (alive().length > 0 && performance.now() < deadline) await sleep(10);
  expect([where(at), alive()]).toEqual([where(at), []]);
}

function check(at: number, before: readonly SessionEvent[], events: readonly SessionEvent[]): void {
  const see = (value: unknown) => expect([where(at), value]);
  see(events.map((event) => event.seq)).toEqual([where(at), events.map((_event, index) => index + 1)]);
  see(events.slice(0, before.length)).toEqual([where(at), [...before]]);
  see(events.at(-1)).toMatchObject([where(at), { type: "turn_ended", reason: "completed" }]);
  const requested = events.flatMap((event) => event.type === "reply_committed" ? event.calls.map((call) => call.call) : []);
  const ends = events.flatMap((event) => event.type === "call_ended" ? [event] : []);
  see(ends.map((end) => end.call).toSorted()).toEqual([where(at), requested.toSorted()]);
  const starts = events.flatMap((event) => event.type === "call_started" ? [event.call] : []);
  see(starts.length).toEqual([where(at), new Set(starts).size]);
  const running = new Set(before.flatMap((event) => event.type === "call_started" ? [event.call] : []));
  for (const event of before) if (event.type === "call_ended") running.delete(event.call);
  const unknown = ends.filter((end) => end.outcome.kind === "unknown");
  see(unknown.map((end) => end.call).toSorted()).toEqual([where(at), [...running].toSorted()]);
  for (const end of unknown) see(end.result.text).toEqual([where(at), expect.stringContaining("it was not run again")]);
  const asked = events.flatMap((event) => event.type === "approval_requested" ? [event.call] : []);
  const granted = events.flatMap((event) => event.type === "approval_answered" && event.decision === "allow" ? [event.call] : []);
  see(granted).toEqual([where(at), asked]);
  see(asked.length).toEqual([where(at), 1]);
  const effects = linesOf("effects");
  see(effects.toSorted()).toEqual([where(at), [...new Set(effects)].toSorted()]);
  if (unknown.length === 0) see(effects.toSorted()).toEqual([where(at), ["a", "b", "c"]]);
  checkHooks(at, events);
}

/** No call of these starts before its hook has seen it. A hook whose runtime was killed runs again. */
function checkHooks(at: number, events: readonly SessionEvent[]): void {
  const seen = linesOf("hooked").map((line) => (JSON.parse(line) as { readonly tool: { readonly name: string } }).tool.name);
  const started = events.flatMap((event) => event.type === "call_started" ? [event.name] : []);
  for (const name of HOOKED) {
    const runs = seen.filter((each) => each === name).length;
    expect([where(at), name, started.includes(name), runs >= 1, runs <= 3]).toEqual([where(at), name, true, true, true]);
  }
}

test("kill -9 of the server at every event: another takes the session up, asks what was not answered, and nothing runs twice", async () => {
  let server = await startServing(workspace, args);
  let last = Infinity;
  const seen = new Set<string>();
  for (let at = 2; at <= last; at++) {
    for (const name of ["effects", "hooked", "pids"]) rmSync(join(workspace.path, name), { force: true });
    const { session } = await server.client.create({});
    await server.client.prompt(session, "go");
    await playUntil(server, session, at);
    await untilGone(at);
    server = await startServing(workspace, args);
    const before = await logOf(server, session);
    seen.add(before.at(-1)?.type ?? "");
    if (before.at(-1)?.type === "turn_ended") last = Math.min(last, at);
    else if (before.some((event) => event.type === "prompted")) {
      await server.client.resume(session);
      await playUntil(server, session, Infinity);
    } else continue;
    check(at, before, await logOf(server, session));
    if (at > 80) throw new Error("the session does not end");
  }
  expect([seen.has("approval_requested"), seen.has("call_started") || seen.has("call_spawned")]).toEqual([true, true]);
}, 400_000);
