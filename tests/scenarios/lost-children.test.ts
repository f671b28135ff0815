/**
 * What sessions that work for a call have used when their runtime is killed is in the end of that call, by whatever way
 * it gets one: a spend limit holds across a crash, and nothing is counted twice.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chatReply, type FixtureEndpoint, startEndpoint } from "../fixtures/endpoint.ts";
import { endServing, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint;

const call = (name: string, input: object = {}) => ({ name, arguments: JSON.stringify(input) });
const handOn = [{ calls: [call("task_create", { subject: "x" })] }, { calls: [call("task_assign", { id: "t1", briefing: "x" })] }];

beforeEach(async () => {
  workspace = await createWorkspace();
  await workspace.tool("hold", "echo > held; exec sleep 300");
  // A parent, its child and the child's child; each reply costs one dollar, and after the fifth the limit is reached.
  const replies = [...handOn, ...handOn, { calls: [call("hold")] }];
  endpoint = await startEndpoint((_request, position) => chatReply(replies[position] ?? { text: "done" }));
  await workspace.write("../home/prices.json", JSON.stringify({ "local/m": { input: 100_000, output: 0 } }));
  const limits = { spend_usd: 4.5, prices: join(workspace.home, "prices.json") };
  await workspace.write("../home/config/settings.json", JSON.stringify({ limits }));
});

afterEach(async () => {
  await endServing();
  await endpoint.close();
  await workspace.remove();
});

const start = () => ({ cwd: workspace.path, home: workspace.home });
const model = () => ["--trust-workspace", "--mode", "yolo", "--model", "local/m", "--base-url", endpoint.url];

async function ask(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await runOrrery(args, start());
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** The sessions of a runtime that was killed while the innermost worked, outermost first. */
async function crash(): Promise<readonly string[]> {
  const runtime = startOrrery(["run", ...model(), "go"], start());
  const end = ended(runtime);
  for (let looks = 0; !existsSync(join(workspace.path, "held")); looks++) {
    if (looks > 2000) throw new Error("The innermost session called nothing");
    await sleep(10);
  }
  signal(runtime, "SIGKILL");
  await end;
  const { sessions } = await ask("sessions", "list", "--json") as { sessions: { session: string; opened_at: string }[] };
  return sessions.toSorted((left, right) => left.opened_at < right.opened_at ? -1 : 1).map(({ session }) => session);
}

async function costsOf(sessions: readonly string[]): Promise<readonly unknown[]> {
  const shown = await Promise.all(sessions.map((session) => ask("sessions", "show", session, "--json")));
  return shown.map(({ usage }) => (usage as { cost_usd?: number }).cost_usd);
}

const resume = (session = "") => ask("sessions", "resume", session, ...model(), "--output-format", "json");
const cancel = (session = "") => ask("sessions", "cancel", session, "--json");

describe("what lost sessions have used for a call", () => {
  test("counts at a resume: the spend limit stops the turn", async () => {
    const sessions = await crash();
    expect(await resume(sessions[0])).toMatchObject({
      status: "stopped",
      reason: expect.stringContaining("spend limit of 4.5 USD reached"),
    });
    expect([endpoint.requests.length, await costsOf(sessions)]).toEqual([5, [5, 3, 1]]);
  }, 60_000);

  test("counts once when they were closed before", async () => {
    const sessions = await crash();
    await cancel(sessions[2]);
    await cancel(sessions[1]);
    expect(await resume(sessions[0])).toMatchObject({ status: "stopped" });
    expect([endpoint.requests.length, await costsOf(sessions)]).toEqual([5, [5, 3, 1]]);
  }, 60_000);

  test("is not counted for a fork of them too, which stays open", async () => {
    const [parent, child] = await crash();
    const { session: fork } = await ask("sessions", "fork", child ?? "", "--json");
    await cancel(parent);
    expect(await costsOf([parent ?? ""])).toEqual([5]);
    expect(await ask("sessions", "show", String(fork), "--json")).toMatchObject({ status: "interrupted" });
  }, 60_000);

  test("counts at a cancel from another process, and over HTTP", async () => {
    const sessions = await crash();
    expect(await cancel(sessions[1])).toMatchObject({ by: "us" });
    expect(await costsOf(sessions)).toEqual([2, 3, 1]);
    const server = await startServing(workspace, model());
    await server.client.cancel(sessions[0] ?? "");
    expect(await costsOf(sessions)).toEqual([5, 3, 1]);
  }, 60_000);
});
