/** `orrery run` and `orrery sessions`, as a stranger uses them: the whole program as a process, a real endpoint. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type FixtureEndpoint, startScriptEndpoint } from "../fixtures/endpoint.ts";
import { parseScript } from "../../lib/model/script.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;

beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
});

afterEach(async () => {
  await endpoint?.close();
  await workspace.remove();
});

async function serve(...replies: readonly object[]): Promise<string> {
  endpoint = await startScriptEndpoint(parseScript(JSON.stringify({ replies })));
  return endpoint.url;
}

function run(...args: readonly string[]) {
  return runOrrery(["run", ...args], { cwd: workspace.path, home: workspace.home });
}

const COUNT = { calls: [{ name: "count", arguments: { path: "notes.txt" } }] };

async function withTool(): Promise<void> {
  await workspace.write("notes.txt", "one two three\n");
  await workspace.tool("count", 'wc -w < "$STELLA_INPUT_PATH" | tr -d " \\n"');
}

describe("orrery run", () => {
  test("does the main job against any OpenAI-compatible server", async () => {
    await withTool();
    const url = await serve({ calls: [{ name: "read_file", arguments: { path: "notes.txt" } }] }, COUNT, {
      text: "It has {{result count}} words.",
    });
    const { code, stdout, stderr } = await run("--trust-workspace", "--model", "local/test", "--base-url", url, "How many words?");
    expect([code, stdout, stderr.includes("Error")]).toEqual([0, "It has 3 words.\n", false]);
    expect(stderr).toContain("read_file");
    expect(stderr).toContain("count");
    expect(endpoint?.requests[0]?.body["model"]).toBe("test");
  });

  test("prints one JSON object with every key, and the events if asked", async () => {
    await withTool();
    const url = await serve(COUNT, { text: "3" });
    const { code, stdout } = await run(
      "--trust-workspace",
      "--model",
      "local/test",
      "--base-url",
      url,
      "--output-format",
      "json",
      "--events",
      "go",
    );
    const report = JSON.parse(stdout) as Record<string, unknown> & { calls: unknown[]; events: { type: string; seq: number }[] };
    expect(code).toBe(0);
    expect(report).toMatchObject({
      schema_version: 1,
      status: "completed",
      text: "3",
      model: "local/test",
      steps: 2,
      speculation: { saved_ms: 0, wasted: 0, wasted_ms: 0 },
    });
    expect(report.calls).toMatchObject([{ name: "count", is_error: false, outcome: { kind: "exited", code: 0 } }]);
    expect(report.events.map((event) => event.seq)).toEqual(report.events.map((_event, index) => index + 1));
    expect(report.events.at(-1)?.type).toBe("turn_ended");
  });

  test("streams JSON lines, durable ones numbered without a gap", async () => {
    await withTool();
    const url = await serve(COUNT, { text: ["a", "b"] });
    const { code, stdout } = await run(
      "--trust-workspace",
      "--model",
      "local/test",
      "--base-url",
      url,
      "--output-format",
      "stream-json",
      "go",
    );
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as { type: string; seq?: number });
    expect(code).toBe(0);
    const seqs = lines.flatMap((line) => line.seq === undefined ? [] : [line.seq]);
    expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
    expect(lines.some((line) => line.type === "text_delta" && line.seq === undefined)).toBe(true);
  });

  test("goes on with a session that exists, and lists, shows and prints it", async () => {
    const url = await serve({ text: "first" }, { text: "second" });
    const model = ["--model", "local/test", "--base-url", url];
    const first = JSON.parse((await run(...model, "--output-format", "json", "one")).stdout) as { session: string };
    const second = await run(...model, "--session", first.session, "two");
    expect([second.code, second.stdout]).toEqual([0, "second\n"]);
    const start = { cwd: workspace.path, home: workspace.home };
    const list = JSON.parse((await runOrrery(["sessions", "list", "--json"], start)).stdout) as {
      sessions: { session: string; turns: number }[];
    };
    expect(list.sessions).toMatchObject([{ session: first.session, turns: 2, status: "idle" }]);
    const shown = await runOrrery(["sessions", "show", first.session], start);
    expect(shown.stdout).toContain("two");
    const events = (await runOrrery(["sessions", "events", first.session], start)).stdout.trimEnd().split("\n").map((line) =>
      JSON.parse(line) as { seq: number }
    );
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
    const later = (await runOrrery(["sessions", "events", first.session, "--after", "3"], start)).stdout.trimEnd().split("\n");
    expect(JSON.parse(later[0] ?? "")).toMatchObject({ seq: 4 });
  });

  test("reads the prompt from standard input", async () => {
    const url = await serve({ text: "ok" });
    const { code } = await runOrrery(["run", "--model", "local/test", "--base-url", url, "-"], {
      cwd: workspace.path,
      home: workspace.home,
      input: "from stdin\n",
    });
    expect(code).toBe(0);
    expect(JSON.stringify(endpoint?.requests[0]?.body["messages"])).toContain("from stdin");
  });

  test("names what is inert in an untrusted workspace and does not run it", async () => {
    await workspace.tool("mark", "touch canary");
    const url = await serve({ calls: [{ name: "mark", arguments: {} }] }, { text: "done" });
    const { code, stderr } = await run("--model", "local/test", "--base-url", url, "go");
    expect(code).toBe(0);
    expect(stderr).toContain("--trust-workspace");
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  });

  test("ends with 3 at the step cap, with 4 if a call needed an approval, with 124 at the wall clock", async () => {
    await workspace.tool("again", "echo again");
    await workspace.tool("danger", "echo danger", 'approval = "always"');
    await workspace.tool("forever", "exec sleep 600");
    const again = { calls: [{ name: "again", arguments: {} }] };
    const trusted = ["--trust-workspace", "--model"];
    expect((await run(...trusted, await workspace.script(again, again, again), "--max-steps", "2", "go")).code).toBe(3);
    const denied = await run(
      ...trusted,
      await workspace.script({ calls: [{ name: "danger", arguments: {} }] }, { text: "ok" }),
      "--output-format",
      "json",
      "go",
    );
    expect([denied.code, JSON.parse(denied.stdout)]).toMatchObject([4, {
      status: "completed",
      text: "ok",
      calls: [{ name: "danger", is_error: true }],
    }]);
    const late = await run(
      ...trusted,
      await workspace.script({ calls: [{ name: "forever", arguments: {} }] }),
      "--timeout",
      "1",
      "--output-format",
      "json",
      "go",
    );
    expect([late.code, JSON.parse(late.stdout)]).toMatchObject([124, {
      status: "stopped",
      calls: [{ name: "forever", outcome: { kind: "cancelled" } }],
    }]);
  });
});

describe("orrery demo", () => {
  test("plays the main job without a key or a network", async () => {
    const { code, stdout, stderr } = await runOrrery(["demo"], { cwd: workspace.path, home: workspace.home });
    expect([code, stderr.includes("wordcount"), stderr.includes("read_file")]).toEqual([0, true, true]);
    expect(stdout).toMatch(/The tool says: \d+/);
  });

  test("fails, and names the call, if one of its calls did not work", async () => {
    // What the tool needs is not on the PATH.
    const { code, stdout, stderr } = await runOrrery(["demo"], {
      cwd: workspace.path,
      home: workspace.home,
      env: { PATH: workspace.path },
    });
    expect([code, stdout]).toEqual([1, expect.stringContaining("It is about orreries")]);
    expect(stderr).toMatch(/^orrery: The demo did not work, as wordcount failed: .* doctor looks at what calls need$/m);
  });

  test("says how to go on as it was started itself", async () => {
    const start = { cwd: workspace.path, home: workspace.home };
    const { stderr } = await runOrrery(["demo"], start);
    const [, line = "", id = ""] = /^ {2}(.* sessions show (ses_\S+))$/m.exec(stderr) ?? [];
    const env = { PATH: "/usr/bin:/bin", HOME: workspace.home, ORRERY_HOME: workspace.home, DENO_NO_UPDATE_CHECK: "1" };
    const shown = spawnSync("/bin/sh", ["-c", line], { cwd: workspace.path, env, encoding: "utf8" });
    expect([shown.status, shown.stdout]).toEqual([0, expect.stringContaining(id)]);
  });

  test("says how to play it again, also where a folder has a space in its name", async () => {
    const TMPDIR = join(workspace.home, "my folder");
    mkdirSync(TMPDIR);
    const { stderr } = await runOrrery(["demo"], { cwd: workspace.path, home: workspace.home, env: { TMPDIR } });
    const line = /^ {2}(.* run --workspace .*)$/m.exec(stderr)?.[1] ?? "";
    const env = { PATH: "/usr/bin:/bin", HOME: workspace.home, ORRERY_HOME: workspace.home, DENO_NO_UPDATE_CHECK: "1" };
    const again = spawnSync("/bin/sh", ["-c", line], { cwd: workspace.path, env, encoding: "utf8" });
    expect([again.status, again.stdout]).toEqual([0, expect.stringMatching(/The tool says: \d+/)]);
  });
});

describe("two runtimes on one session", () => {
  test("case 48: started at the same moment, one runs and the other says who holds it; the log stays whole", async () => {
    await workspace.tool("slow", "sleep 0.2; echo ok");
    const first = await workspace.script({ text: "opened" });
    const { session } = JSON.parse((await run("--model", first, "--output-format", "json", "one")).stdout) as { session: string };
    for (let round = 0; round < 10; round++) {
      const step = { calls: [{ name: "slow", arguments: { round } }] };
      const model = await workspace.script(...Array.from({ length: 2 + 2 * round }, () => step), { text: "done" });
      const args = ["--trust-workspace", "--model", model, "--session", session, "--max-steps", "1", `round ${round}`];
      const ends = await Promise.all([run(...args), run(...args)]);
      const codes = ends.map(({ code }) => code).sort();
      expect([round, codes]).toEqual([round, [1, 3]]);
      expect(ends.find(({ code }) => code === 1)?.stderr).toMatch(/has it open: process \d+/);
    }
    const { stdout } = await runOrrery(["sessions", "events", session], { cwd: workspace.path, home: workspace.home });
    const seqs = stdout.trimEnd().split("\n").map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
  }, 60_000);
});
