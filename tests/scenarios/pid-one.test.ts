/**
 * The program as the first process of a container (`unshare --pid`): what a tool left hidden ends with its call, and what
 * strangers put beside it (`docker exec`) is left alone. Promise P4.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listPids, type ProcessStat, readStat } from "../../lib/platform/proc.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, signal, signalHeard, startOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

const unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const permitted = spawnSync(unshare[0] ?? "", [...unshare.slice(1), "true"]).status === 0;
const NAMELESS = "env -i /bin/sh -c 'echo $$ > PLACE; exec sleep 300'";

let workspace: TestWorkspace;

beforeEach(async () => {
  workspace = await createWorkspace();
});

afterEach(() => workspace.remove());

interface Report {
  readonly status: string;
  readonly events: readonly { readonly type: string; readonly reaped?: readonly { readonly command: string }[] }[];
}

const start = () => ({ cwd: workspace.path, home: workspace.home, through: unshare });
const args = (
  model: string,
) => ["run", "--trust-workspace", "--mode", "yolo", "--output-format", "json", "--events", "--model", model, "go"];
const call = (name: string) => ({ name, arguments: {} });

/** The PID 1 of the container that this process began, as it is seen from here. */
function firstOf(pid: number | undefined): ProcessStat | undefined {
  return listPids().map(readStat).find((stat) => stat?.ppid === pid) ?? undefined;
}

/** Not of what PID 1 was before it became this program. */
function hearsTerm(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${caught}`) & (1n << 14n)) !== 0n;
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`It did not come to this: ${what}`);
    await sleep(10);
  }
}

describe.skipIf(!permitted)("as PID 1 (skipped where unshare is not permitted)", () => {
  test("a process that dropped its mark, its session and its parent ends with its call, and is told as reaped", async () => {
    await workspace.tool("escape", `setsid ${NAMELESS.replace("PLACE", "hidden")} & while [ ! -s hidden ]; do sleep 0.01; done`);
    await workspace.tool("look", "kill -0 $(cat hidden) 2>/dev/null && touch survived; echo looked");
    const model = await workspace.script({ calls: [call("escape")] }, { calls: [call("look")] }, { text: "done" });
    const ending = await runOrrery(args(model), start());
    const { status, events } = JSON.parse(ending.stdout) as Report;
    expect([ending.code, status]).toEqual([0, "completed"]);
    expect([existsSync(join(workspace.path, "hidden")), existsSync(join(workspace.path, "survived"))]).toEqual([true, false]);
    const [escaped] = events.filter((event) => event.type === "call_ended");
    expect(escaped?.reaped?.map(({ command }) => command)).toEqual(["sleep"]);
  }, 30_000);

  test("what was put into the container meanwhile goes on, and its zombies are collected", async () => {
    await workspace.tool("wait", "touch running; while [ ! -s stranger ]; do sleep 0.01; done");
    await workspace.tool(
      "look",
      "kill -0 $(cat stranger) && echo alive > seen; while ls /proc/[0-9]*/stat | xargs grep -l ' Z 1 '; do sleep 0.05; done; touch collected",
    );
    const model = await workspace.script({ calls: [call("wait")] }, { calls: [call("look")] }, { text: "done" });
    const child = startOrrery(args(model), start());
    const end = ended(child);
    await until("the tool runs", () => existsSync(join(workspace.path, "running")));
    const enter = ["--target", String(firstOf(child.pid)?.pid), "--user", "--pid", "--mount", "--preserve-credentials", "sh", "-c"];
    const orphans = `cd ${workspace.path}; setsid ${NAMELESS.replace("PLACE", "stranger")} & setsid sleep 0.05 & true`;
    expect(spawnSync("nsenter", [...enter, orphans], { stdio: "ignore" }).status).toBe(0);
    expect((await end).code).toBe(0);
    expect(readFileSync(join(workspace.path, "seen"), "utf8")).toBe("alive\n");
    expect(existsSync(join(workspace.path, "collected"))).toBe(true);
  }, 30_000);

  for (const [input, more] of [["a terminal", []], ["a file", ["sh", "-c", 'exec "$@" < go', "sh"]]] as const) {
    test.skipIf(!hasTerminal)(
      `Ctrl-C at a terminal (skipped where there is no util-linux script) counts once, with ${input} as input`,
      async () => {
        await workspace.tool("wait", "touch running; until [ -e go-on ]; do sleep 0.02; done; touch finished");
        await workspace.write("go", "go");
        const model = await workspace.script({ calls: [call("wait")] }, { text: "never" });
        const run = startOnTerminal(["run", "--trust-workspace", "--mode", "yolo", "--model", model, more.length === 0 ? "go" : "-"], {
          cwd: workspace.path,
          home: workspace.home,
          through: [...unshare, ...more],
        });
        await until("the tool runs", () => existsSync(join(workspace.path, "running")));
        run.type("\x03");
        await run.waitFor("Stopping at the next safe point");
        await workspace.write("go-on", "");
        const { code } = await run.ended();
        expect([code, existsSync(join(workspace.path, "finished"))]).toEqual([130, true]);
        const { stdout } = await runOrrery(["sessions", "list", "--json"], { cwd: workspace.path, home: workspace.home });
        expect((JSON.parse(stdout) as { sessions: object[] }).sessions).toMatchObject([{ status: "idle" }]);
      },
      30_000,
    );
  }

  for (const [name, code] of [["SIGTERM", 143], ["SIGINT", 130]] as const) {
    test(`${name} reaches the run, each time, and the exit code is its own`, async () => {
      await workspace.tool("wait", "touch running; exec sleep 300");
      const child = startOrrery(args(await workspace.script({ calls: [call("wait")] }, { text: "done" })), start());
      const end = ended(child);
      await until("the tool runs", () => existsSync(join(workspace.path, "running")));
      const init = firstOf(child.pid);
      if (init === undefined) throw new Error("there is no PID 1");
      // The first lets the tool finish, the second ends it.
      await signalHeard(child, name, init.pid);
      process.kill(init.pid, name);
      expect((await end).code).toBe(code);
      signal(child, "SIGKILL");
    }, 30_000);
  }

  test("SIGTERM counts from the moment it is listened for, before there is anything beneath", async () => {
    await workspace.tool("wait", "exec sleep 300");
    const child = startOrrery(args(await workspace.script({ calls: [call("wait")] }, { text: "done" })), start());
    const end = ended(child);
    await until("PID 1 listens", () => hearsTerm(firstOf(child.pid)?.pid));
    process.kill(firstOf(child.pid)?.pid ?? 0, "SIGTERM");
    expect((await end).code).toBe(143);
  }, 30_000);
});
