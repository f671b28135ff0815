/** What takes longer than a second shows on a terminal that it goes on. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openShell, type Out } from "../../cli/terminal.ts";
import { clearWaiting, whileWaiting } from "../../cli/waiting.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, startOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

const LIMIT_MS = 30_000;
let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

describe.skipIf(!hasTerminal)("on a terminal", () => {
  const start = (args: readonly string[]) =>
    startOnTerminal([...args, "--trust-workspace"], { cwd: workspace.path, home: workspace.home, env: { NO_COLOR: "1" } });

  test("tools says that it asks servers, and takes the line away again", async () => {
    await workspace.write(".mcp.json", JSON.stringify({ mcpServers: { slow: { command: "sleep", args: ["2"] } } }));
    const run = start(["tools"]);
    await run.waitFor("asking tool files and servers: 1 s\r\x1b[K");
    expect((await run.ended()).code).toBe(0);
  }, LIMIT_MS);

  test("tools call says what runs", async () => {
    await workspace.tool("slow", "until [ -e go ]; do sleep 0.02; done; echo done");
    const run = start(["tools", "call", "slow"]);
    await run.waitFor("running slow: 1 s\r\x1b[K");
    await workspace.write("go", "");
    const { code, shown } = await run.ended();
    expect([code, shown.includes("done")]).toEqual([0, true]);
  }, LIMIT_MS);

  test("run and chat say that a hook is waited for before the session begins", async () => {
    const hooks = { SessionStart: [{ hooks: [{ type: "command", command: "until [ -e go ]; do sleep 0.02; done" }] }] };
    await workspace.write(".orrery/settings.json", JSON.stringify({ hooks }));
    const model = await workspace.script({ text: "hello" });
    const runs = [start(["run", "--model", model, "go"]), start(["chat", "--model", model])];
    for (const run of runs) await run.waitFor("opening the session (tool files, servers, hooks): 1 s\r\x1b[K");
    await workspace.write("go", "");
    runs[1]?.type("/quit\r");
    for (const run of runs) expect((await run.ended()).code).toBe(0);
  }, LIMIT_MS);

  test("sessions cancel says that it waits for whoever drives the turn", async () => {
    await workspace.tool("stubborn", "touch began; trap '' TERM; until [ -e go ]; do sleep 0.02; done; echo done");
    const model = await workspace.script({ calls: [{ name: "stubborn", arguments: {} }] }, { text: "done" });
    const at = { cwd: workspace.path, home: workspace.home };
    const driven = startOrrery(["run", "--trust-workspace", "--mode", "yolo", "--model", model, "go"], at);
    const end = ended(driven);
    while (!existsSync(join(workspace.path, "began"))) await new Promise((resume) => setTimeout(resume, 20));
    const { stdout } = await runOrrery(["sessions", "list", "--json"], at);
    const [{ session } = { session: "" }] = (JSON.parse(stdout) as { readonly sessions: readonly { readonly session: string }[] }).sessions;
    const run = startOnTerminal(["sessions", "cancel", session, "--grace", "20"], { ...at, env: { NO_COLOR: "1" } });
    await run.waitFor("waiting for the turn to end: 1 s\r\x1b[K");
    await workspace.write("go", "");
    expect((await run.ended()).code).toBe(0);
    await end;
  }, LIMIT_MS);

  test("a turn says on a dumb terminal what it waits for, in plain lines, and nothing of what is quick", async () => {
    await workspace.tool("slow", "sleep 1.5");
    await workspace.tool("quick", "true");
    const call = (name: string) => ({ calls: [{ name, arguments: {} }] });
    const model = await workspace.script({ delay_ms: 1500, ...call("slow") }, call("quick"), { text: "done" });
    const run = startOnTerminal(["run", "--trust-workspace", "--mode", "yolo", "--model", model, "go"], {
      cwd: workspace.path,
      home: workspace.home,
      env: { TERM: "dumb" },
    });
    const { code, shown } = await run.ended();
    const progress = shown.split("\r\n").filter((line) => line.endsWith("..."));
    expect([code, progress, /[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n)/.test(shown)]).toEqual([
      0,
      ["  waiting for the model ...", "  running slow ..."],
      false,
    ]);
  }, LIMIT_MS);
});

describe("whileWaiting()", () => {
  async function heard(out: Pick<Out, "isTerminal" | "canRewrite">, work_ms: number): Promise<string> {
    let said = "";
    const err: Out = { ...openShell().err, columns: 80, ...out, write: (text) => void (said += text) };
    await whileWaiting(err, "asking", new Promise<void>((resolve) => void setTimeout(resolve, work_ms)));
    clearWaiting();
    return said.replace(/\x1b\[[0-9;]*m/g, "");
  }

  test("says nothing of what is quick, nor where nobody looks, and once where no line can be written over", async () => {
    const [quick, unseen, dumb] = await Promise.all([
      heard({ isTerminal: true, canRewrite: true }, 20),
      heard({ isTerminal: false, canRewrite: false }, 1100),
      heard({ isTerminal: true, canRewrite: false }, 2100),
    ]);
    expect([quick, unseen, dumb]).toEqual(["", "", "asking ...\n"]);
  });
});
