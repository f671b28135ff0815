import { describe, expect, test } from "bun:test";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGate } from "../../../lib/gate/gate.ts";
import { createHooks } from "../../../lib/gate/hooks.ts";
import { PATIENCE } from "../../../lib/tools/mcp/server.ts";
import { isAlive } from "../../fixtures/supervision.ts";
import { fixture, openRoom, published, startRoom, stdio, until } from "../../fixtures/mcp/room.ts";

const LIMIT = 30_000;
const NOTHING = { value: {}, text: "{}" };

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "orrery-test-")));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("published servers", () => {
  test("the file system server reads and writes what it was given, and refuses the rest", () =>
    inFolder(async (folder) => {
      await using opened = await openRoom([published("files", "server-filesystem", folder)]);
      await writeFile(join(folder, "a.txt"), "one\ntwo\n");
      const written = await opened.call("mcp__files__write_file", { path: join(folder, "b.txt"), content: "three" });
      expect([written.result.is_error, await readFile(join(folder, "b.txt"), "utf8")]).toEqual([false, "three"]);
      const read = await opened.call("mcp__files__read_text_file", { path: join(folder, "a.txt") });
      expect([read.run.outcome, read.result.text]).toEqual([{ kind: "returned" }, "one\ntwo\n"]);
      const refused = await opened.call("mcp__files__read_text_file", { path: "/etc/passwd" });
      expect([refused.result.is_error, refused.result.text]).toEqual([true, expect.stringContaining("Access denied") as never]);
      expect(opened.notices).toEqual([]);
    }), LIMIT);

  test("the everything server answers with text, images, links, resources and data", async () => {
    await using opened = await openRoom([published("all", "server-everything", "stdio")]);
    expect((await opened.call("mcp__all__get-sum", { a: 1, b: 2 })).result).toEqual({ is_error: false, text: "The sum of 1 and 2 is 3." });
    expect((await opened.call("mcp__all__get-tiny-image")).result.text).toContain("[image left out: image/png, ");
    expect((await opened.call("mcp__all__get-resource-links", { count: 1 })).result.text).toContain("[link to ");
    expect((await opened.call("mcp__all__get-resource-reference", { resourceType: "Text", resourceId: 1 })).result.text).toContain(
      "[resource demo://",
    );
    expect((await opened.call("mcp__all__get-structured-content", { location: "Chicago" })).result.data).toHaveProperty("temperature");
    expect((await opened.call("mcp__all__get-sum", { a: "x", b: 2 })).result.is_error).toBe(true);
  }, LIMIT);
});

describe("a tool of a server", () => {
  test("gets no trust from what its server claims", async () => {
    await using opened = await openRoom([fixture("s", "schemas")]);
    const { read_only, speculation_safe, approval, origin, rule_name } = opened.tool("mcp__s__claims");
    expect({ read_only, speculation_safe, approval, origin, rule_name }).toEqual({
      read_only: false,
      speculation_safe: false,
      approval: "destructive",
      origin: { system: "mcp", scope: "workspace", path: "/w/.orrery/mcp.toml" },
      rule_name: "mcp__s__claims",
    });
  }, LIMIT);

  test("is known to rules by its own names, and to a model by an alias", async () => {
    await using opened = await openRoom([fixture("foo.bar"), fixture("foo_bar")]);
    const echoes = opened.names().filter((name) => name.includes("echo")).map((name) => [name, opened.tool(name).rule_name]);
    expect(echoes).toEqual([["mcp__foo_bar__echo", "mcp__foo_bar__echo"], [
      expect.stringMatching(/^mcp__foo_bar__echo_[0-9a-f]{12}$/) as never,
      "mcp__foo.bar__echo",
    ]]);
  }, LIMIT);

  test("needs approval unless the grant names this very server", async () => {
    await using opened = await openRoom([fixture("foo.bar"), fixture("foo_bar")]);
    const hooks = createHooks({ active: [], inert: [] }, () => Promise.reject(new Error("there are no hooks")), {
      workspace: "/",
      env: {},
      shell: "sh",
    });
    const gate = createGate({ hooks, always_allow: new Set(["mcp__foo.bar__echo"]) });
    const tools = { find: (name: string) => opened.tool(name), closest: () => [], whyNot: () => undefined };
    const ask = (name: string) => gate.authorize({ name, arguments: "{}", mode: "normal", tools }, new AbortController().signal);
    const echoes = opened.names().filter((name) => name.includes("echo"));
    const verdicts = await Promise.all(echoes.map(async (name) => [opened.tool(name).rule_name, (await ask(name)).verdict.kind]));
    expect(verdicts).toEqual([["mcp__foo_bar__echo", "ask"], ["mcp__foo.bar__echo", "allowed"]]);
  }, LIMIT);

  test("is told the digits that the model wrote", async () => {
    await using opened = await openRoom([fixture("s")]);
    const tool = opened.tool("mcp__s__raw");
    const input = { value: { a: 9007199254740992, b: 3 }, text: '{"a":9007199254740993,"b":3.0}' };
    const run = await tool.plan(input).call(new AbortController().signal);
    expect(tool.read(run, input).result.text).toContain('"arguments":{"a":9007199254740993,"b":3.0}');
  }, LIMIT);

  test("appears when the server says that it has a new one", async () => {
    await using opened = await openRoom([fixture("s")]);
    const before = opened.tool("mcp__s__echo");
    expect(opened.names()).not.toContain("mcp__s__wipe");
    await opened.call("mcp__s__grow");
    await until("the new tool is listed", () => opened.changes() === 1);
    const { approval, read_only } = opened.tool("mcp__s__wipe");
    expect({ approval, read_only }).toEqual({ approval: "destructive", read_only: false });
    expect((await before.plan(NOTHING).call(new AbortController().signal)).outcome).toEqual({ kind: "returned" });
  }, LIMIT);

  test("is not run if the server has changed it since it was offered, or has it no more", async () => {
    await using opened = await openRoom([fixture("s")]);
    const [echo, raw] = [opened.tool("mcp__s__echo"), opened.tool("mcp__s__raw")];
    await opened.call("mcp__s__morph");
    await until("the list is read again", () => opened.changes() === 1);
    const ends = await Promise.all([echo, raw].map((tool) => tool.plan(NOTHING).call(new AbortController().signal)));
    expect(ends.map(({ outcome, problem }) => [outcome.kind, problem])).toEqual([
      ["not_started", "the server has changed this tool since it was offered"],
      ["not_started", "the server no longer has this tool"],
    ]);
    expect((await opened.call("mcp__s__echo")).result.is_error).toBe(false);
  }, LIMIT);
});

describe("a server's process", () => {
  test("sees the base of the environment and nothing else of ours", async () => {
    const secrets = { ANTHROPIC_API_KEY: "canary1", SERVER_TOKEN: "canary2", FOO: "keep", HOME: "/home/u" };
    await using opened = await openRoom([fixture("s")], { env: secrets });
    const { result } = await opened.call("mcp__s__environment");
    const seen = JSON.parse(result.text) as Record<string, string>;
    expect(Object.keys(seen).sort()).toEqual(["HOME", "ORRERY_CALL", "ORRERY_LINEAGE", "PATH"]);
  }, LIMIT);

  test("is gone when the room is closed, with everything it had started", () =>
    inFolder(async (folder) => {
      const server = fixture("s", "wrapper");
      const script = `node "${
        server.transport.kind === "stdio" ? server.transport.args[0] : ""
      }" wrapper <&0 & echo $! > ${folder}/pid; wait`;
      await using opened = await openRoom([server, stdio("wrapped", "sh", "-c", `exec 3<&0; ${script.replace("<&0", "<&3")}`)]);
      expect((await opened.call("mcp__wrapped__echo")).result.is_error).toBe(false);
      const inner = Number(await readFile(join(folder, "pid"), "utf8"));
      expect([opened.conversations.alive().length, isAlive(inner)]).toEqual([2, true]);
      await opened.room.close();
      expect([opened.conversations.alive().length, isAlive(inner)]).toEqual([0, false]);
      expect(opened.room.status().map(({ state }) => state)).toEqual(["closed", "closed"]);
    }), LIMIT);

  test("is gone when it does not end by itself", async () => {
    await using opened = startRoom([fixture("s", "deaf")]);
    await until("it is started", () => opened.conversations.alive().length === 1);
    await opened.room.close();
    await opened.room.ready;
    expect(opened.conversations.alive()).toEqual([]);
  }, LIMIT);
});

describe("a room", () => {
  test("has ten seconds for its servers", () => {
    expect(PATIENCE.connect).toBe(10_000);
  });

  test("of ten servers of which one hangs is ready within its time, with nine", async () => {
    const nine = Array.from({ length: 9 }, (_, index) => fixture(`s${index}`));
    await using opened = await openRoom([fixture("mute", "mute"), ...nine], { patience: { connect: 5000 } });
    expect(opened.room.status().filter(({ state, tools }) => state === "ready" && tools > 0)).toHaveLength(9);
    expect(opened.notices.map(({ level, text }) => [level, text])).toEqual([
      ["warning", expect.stringContaining('The MCP server "mute" cannot be used') as never],
    ]);
  }, LIMIT);

  test("that is closed while its servers are starting leaves nothing", async () => {
    await using opened = startRoom([fixture("a"), fixture("b", "mute"), fixture("c", "exit")]);
    await opened.room.close();
    await opened.room.ready;
    expect(opened.conversations.alive()).toEqual([]);
    expect(opened.notices).toEqual([]);
  }, LIMIT);

  test("says which variable a server lacks, and starts nothing for it", async () => {
    await using opened = await openRoom([stdio("s", "${NO_SUCH_PROGRAM}")]);
    expect(opened.notices.map(({ text }) => text)).toEqual([
      'The MCP server "s" (/w/.orrery/mcp.toml) cannot be used: NO_SUCH_PROGRAM is not set, or not for tools to see',
    ]);
    expect(opened.conversations.opened).toEqual([]);
  }, LIMIT);

  test("without servers is ready at once", async () => {
    await using opened = await openRoom([]);
    expect(opened.room.candidates()).toEqual([]);
  });
});
