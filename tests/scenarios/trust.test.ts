/** What a workspace could start is inert until a person says otherwise, and never in silence. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type FixtureEndpoint, startScriptEndpoint } from "../fixtures/endpoint.ts";
import { parseScript } from "../../lib/model/script.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;
beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
  await workspace.tool("mark", "touch canary; echo ran");
});
afterEach(async () => {
  await endpoint?.close();
  await workspace.remove();
});

const orrery = (...args: readonly string[]) => runOrrery(args, { cwd: workspace.path, home: workspace.home });
const ran = () => existsSync(join(workspace.path, "canary"));
const callMark = async () => (await orrery("tools", "call", "mark")).code;
const CALL = { calls: [{ name: "mark", arguments: {} }] };

async function projectSettings(settings: object): Promise<void> {
  await workspace.write(".orrery/settings.json", JSON.stringify(settings));
}

describe("orrery trust", () => {
  test("shows what becomes active and records it; a changed byte takes it back; so does --forget", async () => {
    await projectSettings({ hooks: { Stop: [{ hooks: [{ type: "command", command: "./done.sh" }] }] } });
    expect(await callMark()).toBe(4);
    const { code, stdout, stderr } = await orrery("trust");
    expect([code, stderr.includes(workspace.path)]).toEqual([0, true]);
    for (const words of [".stella/tools/mark.toml", ".orrery/settings.json#hooks", "Stop: ./done.sh"]) expect(stdout).toContain(words);
    expect([await callMark(), ran()]).toEqual([0, true]);

    await appendFile(join(workspace.path, ".stella/tools/mark.toml"), "\n");
    const changed = await orrery("tools", "call", "mark");
    expect([changed.code, changed.stdout.includes("has changed since")]).toEqual([4, true]);
    const again = await orrery("trust", workspace.path);
    expect([again.code, again.stdout.includes("tool, changed")]).toEqual([0, true]);
    expect(await callMark()).toBe(0);
    expect((await orrery("trust", "--forget")).code).toBe(0);
    expect(await callMark()).toBe(4);
  });

  test("prints one object with --json", async () => {
    const report = async (...args: readonly string[]) => JSON.parse((await orrery("trust", "--json", ...args)).stdout) as object;
    expect(await report("--forget")).toMatchObject({
      schema_version: 1,
      workspace: workspace.path,
      trusted: false,
      reason: "never_trusted",
      inert: [".stella/tools/mark.toml"],
    });
    expect(await report()).toEqual({
      schema_version: 1,
      workspace: workspace.path,
      trusted: true,
      by: "grant",
      entries: [{ kind: "tool", name: ".stella/tools/mark.toml", digest: expect.any(String) }],
      inert: [],
    });
  });

  test("refuses what it cannot read, naming it, and a folder that is not there", async () => {
    await mkdir(join(workspace.path, ".mcp.json"));
    const { code, stderr } = await orrery("trust");
    expect([code, stderr.includes(".mcp.json")]).toEqual([1, true]);
    expect(await callMark()).toBe(4);
    expect((await orrery("trust", join(workspace.path, "missing"))).code).toBe(2);
  });

  test("says where it cannot keep its record", async () => {
    await writeFile(join(workspace.home, "data"), "a file where a folder must be");
    const { code, stderr } = await orrery("trust");
    expect([code, stderr.includes(join(workspace.home, "data")), stderr.includes("    at ")]).toEqual([1, true, false]);
  });
});

describe("a run in a workspace that is not trusted", () => {
  test("names what is inert and the command, on standard error, in json, and to the model", async () => {
    endpoint = await startScriptEndpoint(parseScript(JSON.stringify({ replies: [CALL, { text: "done" }] })));
    const args = ["run", "--model", "local/test", "--base-url", endpoint.url, "--output-format", "json", "go"];
    const { code, stdout, stderr } = await orrery(...args);
    const command = `orrery trust ${workspace.path}`;
    expect([code, ran()]).toEqual([0, false]);
    for (const words of [command, ".stella/tools/mark.toml"]) {
      expect(stderr).toContain(words);
      expect(JSON.stringify(endpoint.requests[0]?.body["messages"])).toContain(words);
    }
    const { inert, calls, session } = JSON.parse(stdout) as { inert: object; calls: readonly object[]; session: string };
    expect(inert).toEqual({ reason: "this workspace is not trusted", names: [".stella/tools/mark.toml"], command });
    expect(calls).toMatchObject([{ name: "mark", is_error: true, outcome: { kind: "not_started" } }]);
    const later = await orrery("run", "--model", await workspace.script({ text: "x" }), "--session", session, "go on");
    expect(later.stderr).toContain(command);
  });

  test("has no such key, and says nothing, once it is trusted", async () => {
    await orrery("trust");
    const { stdout, stderr } = await orrery(
      "run",
      "--model",
      await workspace.script(CALL, { text: "done" }),
      "--output-format",
      "json",
      "go",
    );
    expect([Object.keys(JSON.parse(stdout) as object).includes("inert"), stderr, ran()]).toEqual([false, "", true]);
  });

  test("a guard that may not run refuses what it covers", async () => {
    await projectSettings({ hooks: { PreToolUse: [{ matcher: "ba*", hooks: [{ type: "command", command: "touch canary" }] }] } });
    const { code, stdout } = await orrery("tools", "call", "bash", "--input", '{"command":"touch canary"}');
    expect([code, stdout.includes("guarded"), ran()]).toEqual([4, true, false]);
  });

  describe.skipIf(!hasTerminal)("on a terminal", () => {
    for (const [answer, does] of [["y", true], ["n", false]] as const) {
      test(`is asked about once, and "${answer}" counts`, async () => {
        const model = await workspace.script(CALL, { text: "done" });
        const start = { cwd: workspace.path, home: workspace.home };
        const run = startOnTerminal(["run", "--model", model, "go"], start);
        await run.waitFor("[y/N]");
        expect(run.shown()).toContain(".stella/tools/mark.toml");
        run.type(`${answer}\n`);
        const { code, shown } = await run.ended();
        expect([code, ran(), shown.split("[y/N]").length]).toEqual([0, does, 2]);
        expect(await callMark()).toBe(does ? 0 : 4);
        if (does) expect((await startOnTerminal(["run", "--model", model, "go"], start).ended()).shown).not.toContain("[y/N]");
      });
    }
  });
});

describe("orrery config", () => {
  const read = async (...args: readonly string[]) => {
    const { code, stdout } = await orrery("config", "--json", ...args);
    return {
      code,
      report: JSON.parse(stdout) as {
        schema_version: number;
        trusted: boolean;
        settings: readonly { key: string; value: unknown; source: object; inert?: string }[];
      },
    };
  };

  test("shows what counts and where each value comes from", async () => {
    await mkdir(join(workspace.home, "config"), { recursive: true });
    await writeFile(join(workspace.home, "config/settings.json"), '{\n  "model": "local/a",\n  "tools": { "bash": "off" }\n}\n');
    await projectSettings({ model: "local/b", alwaysAllow: ["mark"], disabledTools: ["search"] });
    const { code, report } = await read("--mode", "plan");
    expect([code, report.schema_version, report.trusted]).toEqual([0, 1, false]);
    const of = (key: string) => report.settings.filter((row) => row.key === key);
    expect(of("model")).toEqual([{
      key: "model",
      value: "local/a",
      source: { scope: "user", key: "model", path: join(workspace.home, "config/settings.json"), line: 2, column: expect.any(Number) },
    }]);
    expect(of("mode")).toMatchObject([{ value: "plan", source: { scope: "flag" } }]);
    expect(of("limits.max_steps")).toMatchObject([{ value: 200, source: { scope: "default" } }]);
    expect(of("tools.bash")).toMatchObject([{ value: "off", source: { scope: "user" } }]);
    // What a project denies counts even so, what it grants does not.
    expect([of("disabledTools").length, of("alwaysAllow").length]).toEqual([1, 0]);
    expect(of("model").length).toBe(1);
    const trusted = await read("--trust-workspace");
    expect(trusted.report.settings.find(({ key }) => key === "model")).toMatchObject({ value: "local/b", source: { scope: "project" } });

    const plain = await orrery("config");
    expect(plain.stdout).toContain("model = local/a\n");
    expect(plain.stdout).toContain(join(workspace.home, "config/settings.json:2:"));
    expect((await orrery("config", "--no-origin")).stdout).not.toContain("settings.json");
  });

  test("a setting that is wrong is exit 5 with its place", async () => {
    await mkdir(join(workspace.home, "config"), { recursive: true });
    await writeFile(join(workspace.home, "config/settings.json"), '{\n  "mode": "careful"\n}\n');
    for (const args of [["config"], ["tools"], ["tools", "--validate"], ["tools", "call", "mark"]]) {
      const { code, stderr } = await orrery(...args);
      expect([args, code, stderr.includes("settings.json:2:")]).toEqual([args, 5, true]);
    }
  });
});

test("sessions fork begins a session of its own that can go on", async () => {
  const model = await workspace.script({ text: "first" }, { text: "second" });
  const { stdout } = await orrery("run", "--model", model, "--output-format", "json", "one");
  const { session } = JSON.parse(stdout) as { session: string };
  const forked = await orrery("sessions", "fork", session);
  expect(forked.code).toBe(0);
  const id = forked.stdout.trim();
  expect(id).not.toBe(session);
  const second = await orrery("run", "--model", model, "--session", id, "two");
  expect([second.code, second.stdout]).toEqual([0, "second\n"]);
  const { turns } = JSON.parse((await orrery("sessions", "show", session, "--json")).stdout) as { turns: number };
  expect(turns).toBe(1);
  const refused = await orrery("sessions", "fork", session, "--at", "9999");
  expect([refused.code, refused.stderr.includes("numbered 1 to")]).toEqual([2, true]);
});
