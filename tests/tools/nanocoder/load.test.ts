import { describe, expect, test } from "bun:test";
import { mkdir, symlink } from "node:fs/promises";
import { relative } from "node:path";
import { type LoadContext, loadMarkdownTools, type ToolFolder, validateMarkdownTools } from "../../../lib/tools/nanocoder/load.ts";
import { createToolbox } from "../../../lib/tools/toolbox.ts";
import { type Folder, makeFolder } from "../folder.ts";

const TRUSTED = { kind: "trusted" } as const;

function tool(name: string, more = ""): string {
  return `---\nname: ${name}\ndescription: Does ${name}\n${more}---\necho ${name}\n`;
}

function folders(root: Folder): readonly ToolFolder[] {
  return [
    { path: root.at(".nanocoder/tools"), scope: "workspace", family: "nanocoder" },
    { path: root.at("home/tools"), scope: "user", family: "nanocoder" },
  ];
}

async function toolboxOf(root: Folder, trust: LoadContext["trust"] = TRUSTED) {
  const { candidates, notices } = await loadMarkdownTools(folders(root), { workspace: root.path, trust });
  const box = createToolbox(candidates, { notices });
  return { box, shown: box.listings.map(({ name, status, origin }) => `${name} ${status} ${relative(root.path, origin.path ?? "")}`) };
}

describe("loading", () => {
  test("takes flat .md files in the order of their names, whatever else lies there", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/b.md", tool("same"));
    await root.write(".nanocoder/tools/a.md", tool("same"));
    await root.write(".nanocoder/tools/c.MD", tool("c"));
    await root.write(".nanocoder/tools/d.txt", tool("d"));
    await root.write(".nanocoder/tools/deep/e.md", tool("e"));
    await root.write("elsewhere.md", tool("linked"));
    await symlink(root.at("elsewhere.md"), root.at(".nanocoder/tools/f.md"));
    await mkdir(root.at(".nanocoder/tools/g.md"));
    const { shown, box } = await toolboxOf(root);
    expect(shown).toEqual([
      "linked offered .nanocoder/tools/f.md",
      "same offered .nanocoder/tools/a.md",
      "same shadowed .nanocoder/tools/b.md",
      "null broken .nanocoder/tools/g.md",
    ]);
    expect(box.find("same")).toMatchObject({
      origin: { system: "nanocoder", scope: "workspace" },
      approval: "always",
      speculation_safe: false,
    });
  });

  test("lets a project's tool win over a personal one, and a broken one hide nothing", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/a.md", tool("a"));
    await root.write("home/tools/a.md", tool("a"));
    await root.write(".nanocoder/tools/b.md", "---\nname: b\n---\necho b");
    await root.write("home/tools/b.md", tool("b"));
    const { shown, box } = await toolboxOf(root);
    expect(shown).toEqual([
      "a offered .nanocoder/tools/a.md",
      "a shadowed home/tools/a.md",
      "b broken .nanocoder/tools/b.md",
      "b offered home/tools/b.md",
    ]);
    expect(box.listings.find(({ status }) => status === "broken")?.reason).toBe(
      'line 2, column 1: "description" is missing. Say in a sentence what the tool does.',
    );
  });

  test("keeps a project's tools inert until it is trusted, and a person's own not", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/a.md", tool("a"));
    await root.write("home/tools/a.md", tool("a"));
    const { shown } = await toolboxOf(root, { kind: "untrusted", reason: "run orrery trust" });
    expect(shown).toEqual(["a untrusted .nanocoder/tools/a.md", "a offered home/tools/a.md"]);
  });

  test("refuses the name of a built-in", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/a.md", tool("read_file"));
    expect((await toolboxOf(root)).shown).toEqual(["read_file broken .nanocoder/tools/a.md"]);
  });

  test("says what lies there and is not loaded", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/a.ts", "export {};");
    await root.write(".nanocoder/tools/b.js", "");
    await root.write(".nanocoder/skills/deploy/tools/push.md", tool("push"));
    await root.write(".nanocoder/skills/deploy/commands/x.md", "x");
    await root.write(".nanocoder/skills/group/inner/tools/pull.md", tool("pull"));
    const { notices } = (await toolboxOf(root)).box;
    expect(notices.map(({ level, code, text }) => `${level} ${code} ${relative(root.path, text.slice(0, text.indexOf(": ")))}`)).toEqual([
      "info reserved_extension .nanocoder/tools/a.ts",
      "info reserved_extension .nanocoder/tools/b.js",
      "info skill_tools .nanocoder/skills/deploy/tools/push.md",
      "info skill_tools .nanocoder/skills/group/inner/tools/pull.md",
    ]);
  });

  test("finds nothing where there is nothing", async () => {
    await using root = await makeFolder();
    expect(await toolboxOf(root)).toMatchObject({ shown: [], box: { notices: [] } });
  });
});

describe("validating", () => {
  test("reports every file with all there is to say, and duplicates too", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/a.md", tool("a"));
    await root.write(".nanocoder/tools/b.md", tool("a", "timeout: 1\n"));
    await root.write(".nanocoder/tools/c.md", tool("c", "approval: maybe\nshell: zsh\n"));
    await root.write("home/tools/a.md", tool("a"));
    const files = await validateMarkdownTools(folders(root), { workspace: root.path });
    expect(
      files.map(({ path, tool: name, diagnostics }) => [
        relative(root.path, path),
        name,
        diagnostics.map(({ severity, code, line }) => `${severity} ${code} ${line}`),
      ]),
    ).toEqual([
      [".nanocoder/tools/a.md", "a", []],
      [".nanocoder/tools/b.md", "a", ["warning unknown_key 4", "warning duplicate_name undefined"]],
      [".nanocoder/tools/c.md", "c", ["error wrong_type 4", "error wrong_type 5"]],
      ["home/tools/a.md", "a", ["warning shadowed_name undefined"]],
    ]);
  });
});

test("hostile files are read in bounded time", async () => {
  await using root = await makeFolder();
  const many = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join("\n");
  await root.write(".nanocoder/tools/keys.md", `---\n${many}\n---\nx`);
  await root.write(
    ".nanocoder/tools/nested.md",
    `---\nname: n\ndescription: d\nparameters: {a: {type: string}}\n---\n${"$(".repeat(50_000)}{{ a }}`,
  );
  await root.write(
    ".nanocoder/tools/tags.md",
    `---\nname: m\ndescription: d\nparameters: {a: {type: string}}\n---\n${'cat <<E "$(x {{ a }} "'.repeat(5000)}`,
  );
  await root.write(
    ".nanocoder/tools/sections.md",
    `---\nname: o\ndescription: d\nparameters: {a: {type: string}, b: {type: string}}\n---\n${
      "{{# a }}\"{{/ a }}{{# b }}'{{/ b }}$(".repeat(200)
    }`,
  );
  await root.write(".nanocoder/tools/braces.md", `---\nname: p\ndescription: d\n---\n${"{{".repeat(50_000)}${"{{ a ".repeat(10_000)}`);
  const started = performance.now();
  const files = await validateMarkdownTools(folders(root), { workspace: root.path });
  expect(performance.now() - started).toBeLessThan(5000);
  expect(files).toHaveLength(5);
  expect(Math.max(...files.map(({ diagnostics }) => diagnostics.length))).toBeLessThan(300);
});
