/** Some editors begin every file with U+FEFF: whatever a user writes may have it, and means the same. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readOrCreateToken } from "../../lib/http/token.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

const MARK = "\ufeff";
let workspace: TestWorkspace;

beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

async function configure(name: string, text: string): Promise<string> {
  const file = join(workspace.home, "config", name);
  await mkdir(join(workspace.home, "config"), { recursive: true });
  await writeFile(file, MARK + text);
  return file;
}

const run = (args: readonly string[], input = "") =>
  runOrrery([...args, "--trust-workspace"], { cwd: workspace.path, home: workspace.home, input });

test("a script, a prompt on standard input, settings and a table of prices", async () => {
  const model = `script:${await configure("script.json", JSON.stringify({ replies: [{ text: "done", usage: { input_tokens: 1 } }] }))}`;
  await configure("prices.json", JSON.stringify({ [model]: { input: 1, output: 1 } }));
  await configure("settings.json", JSON.stringify({ model, mode: "yolo", limits: { spend_usd: 1, prices: "prices.json" } }));
  const { code, stdout, stderr } = await run(["run", "-o", "json", "--events"], `${MARK}go`);
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    text: "done",
    events: expect.arrayContaining([expect.objectContaining({ text: "go" })]) as object[],
  });
});

test("tools of every format, and files that name MCP servers", async () => {
  const write = (path: string, text: string) => workspace.write(path, MARK + text);
  await workspace.tool("stella_tool", "echo hi");
  await write(".stella/tools/stella_tool.toml", 'name = "stella_tool"\ndescription = "A tool."\ncommand = ["bin/stella_tool"]\n');
  await write(".nanocoder/tools/nano.md", "---\nname: nano\ndescription: A tool.\n---\n\necho hi\n");
  await write(
    ".orrery/tools/code.ts",
    `import { tool } from "orrery";
     import * as v from "valibot";
     export const code = tool({ name: "code", description: "A tool.", parameters: v.object({}), execute: () => "hi" });`,
  );
  await write(".orrery/mcp.toml", '[servers.one]\ncmd = "nothing"\ndisabled = true\n');
  await write(".mcp.json", JSON.stringify({ mcpServers: { two: { command: "nothing", disabled: true } } }));
  const { code, stdout } = await run(["tools", "--json"]);
  const found = JSON.parse(stdout) as Record<
    "tools" | "servers",
    readonly { readonly name: string; readonly status?: string; readonly state?: string }[]
  >;
  const own = found.tools.filter(({ name }) => ["stella_tool", "nano", "code"].includes(name));
  expect([code, own.map(({ status }) => status)]).toEqual([0, ["offered", "offered", "offered"]]);
  expect(found.servers.map(({ name, state }) => [name, state])).toEqual([["one", "disabled"], ["two", "disabled"]]);
});

test("an input on standard input, and the token of a server", async () => {
  const file = await configure("token", `${"k".repeat(43)}\n`);
  await chmod(file, 0o600);
  expect(readOrCreateToken(file)).toBe("k".repeat(43));
  await workspace.write("a.txt", "hello\n");
  const read = await run(["tools", "call", "read_file", "--input", "-"], `${MARK}{"path":"a.txt"}`);
  expect([read.code, read.stdout]).toEqual([0, expect.stringContaining("hello")]);
});
