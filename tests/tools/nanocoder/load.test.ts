import { describe, expect, test } from "bun:test";
import { mkdir, rm, symlink } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { workspaceProgramOf } from "../../../lib/gate/program-place.ts";
import { withLostNames } from "../../../lib/tools/lost-names.ts";
import { type LoadContext, loadMarkdownTools, validateMarkdownTools } from "../../../lib/tools/nanocoder/load.ts";
import type { ToolFolder } from "../../../lib/tools/tool-folder.ts";
import { createToolbox } from "../../../lib/tools/toolbox.ts";
import { processorTime } from "../../fixtures/processor-time.ts";
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

  test("says of every other file that it is not read, hidden ones too", async () => {
    await using root = await makeFolder();
    for (const name of ["a.md", "B.MD", ".md", "c.md~", "c.markdown", "run.sh", "wordcount.toml", ".gitignore", "deep/d.md", "bin/x.sh"]) {
      await root.write(`.nanocoder/tools/${name}`, tool("a"));
    }
    const wanted = [".gitignore", ".md", "B.MD", "c.markdown", "c.md~", "deep", "run.sh", "wordcount.toml"];
    const { notices } = (await toolboxOf(root)).box;
    const told = notices.filter(({ code }) => code === "ignored_file").map(({ text }) => text.slice(root.at(".nanocoder/tools/").length));
    expect(told.map((text) => text.slice(0, text.indexOf(": ")))).toEqual(wanted);
    const files = await validateMarkdownTools(folders(root), { workspace: root.path });
    const checked = files.flatMap(({ path, diagnostics }) =>
      diagnostics.map(({ code, remedy }) => [code, relative(root.at(".nanocoder/tools"), path), remedy])
    );
    expect(checked.map(([code, path]) => `${code} ${path}`)).toEqual(wanted.map((name) => `ignored_file ${name}`));
    expect(checked.every(([, , remedy]) => remedy !== "")).toBe(true);
  });

  test("names a hundred of them to a session, and all to whoever checks", async () => {
    await using root = await makeFolder();
    await Promise.all(Array.from({ length: 150 }, (_, index) => root.write(`.nanocoder/tools/${index}.txt`, "")));
    expect((await validateMarkdownTools(folders(root), { workspace: root.path })).length).toBe(150);
    const { notices } = (await toolboxOf(root)).box;
    expect([notices.length, notices.at(-1)?.text.startsWith(`${root.at(".nanocoder/tools")}: More than 100`)]).toEqual([101, true]);
  });

  test("finds nothing where there is nothing", async () => {
    await using root = await makeFolder();
    expect(await toolboxOf(root)).toMatchObject({ shown: [], box: { notices: [] } });
  });
});

describe("a user's tool in a workspace that is not trusted", () => {
  const trust = { kind: "untrusted", reason: "the workspace is not trusted" } as const;
  const body = (name: string, script: string, more = "") =>
    `---\nname: ${name}\ndescription: d\nparameters: {a: {type: string}}\n${more}---\n${script}\n`;

  async function inertIn(root: Folder, scripts: readonly (readonly [script: string, more?: string])[]) {
    for (const [index, [script, more]] of scripts.entries()) await root.write(`home/tools/t${index}.md`, body(`t${index}`, script, more));
    const context: LoadContext = {
      workspace: root.at("ws"),
      trust,
      env: { PATH: "/usr/bin:/bin", HERE: root.at("ws") },
      workspacePart: (script, { cwd, path }) => {
        const word = workspaceProgramOf(script, { workspace: root.at("ws"), cwd: resolve(root.at("ws"), cwd), path });
        return word === null ? null : `its script, by "${word}",`;
      },
    };
    const { candidates } = await loadMarkdownTools([{ path: root.at("home/tools"), scope: "user", family: "nanocoder" }], context);
    return candidates.map((candidate) => candidate.kind === "tool" ? candidate.untrusted ?? null : "broken");
  }

  test("is inert if its script runs what lies there, wherever it stands in the script", async () => {
    await using root = await makeFolder();
    await root.write("ws/scripts/x.sh", "touch canary");
    await root.write("ws/tool", "");
    const reasons = await inertIn(root, [
      ["./scripts/x.sh {{ a }}"],
      ["set -e\n\nif true; then\n  bash scripts/x.sh\nfi"],
      ["echo {{ a }} | ./later.sh"],
      ["result=$(./scripts/x.sh)"],
      ["{{# a }}sh ./x.sh{{/ a }}"],
      ["{{^ a }}sh ./x.sh{{/ a }}"],
      ["./{{ a }}"],
      ["../x.sh", "cwd: scripts\n"],
      ["python3 check.py"],
      ["tool {{ a }}", 'env: {PATH: "${HERE}:/bin"}\n'],
    ]);
    expect(reasons.map((reason) => reason?.endsWith("may lead into the workspace, and the workspace is not trusted"))).toEqual(
      reasons.map(() => true),
    );
    expect(reasons[0]).toContain('its script, by "./scripts/x.sh", may lead');
  });

  test("works if its script runs only what is the machine's or the user's", async () => {
    await using root = await makeFolder();
    await root.write("ws/scripts/x.sh", "");
    const own = root.at("home/bin/own.sh");
    const scripts = [
      "kubectl get pods -n {{ a }}",
      `${own} {{ a }}`,
      "ls ./later",
      "{{ a }}",
      "cat <<E\n{{ a }}\nE",
      `sh ${own}`,
      "grep -r {{ a }} src/x.sh",
    ];
    expect(await inertIn(root, scripts.map((script) => [script] as const))).toEqual(scripts.map(() => null));
  });

  test("is inert if its file is a link into it", async () => {
    await using root = await makeFolder();
    await root.write("ws/evil.md", body("evil", "echo evil"));
    await root.write("home/tools/a.md", body("a", "echo a"));
    await symlink(root.at("ws/evil.md"), root.at("home/tools/b.md"));
    const inert = "its file may lead into the workspace, and the workspace is not trusted";
    expect(await inertIn(root, [])).toEqual([null, inert]);
    await rm(root.at("home/tools"), { recursive: true });
    await root.write("ws/own/c.md", body("c", "echo c"));
    await symlink(root.at("ws/own"), root.at("home/tools"));
    expect(await inertIn(root, [])).toEqual([inert]);
  });

  test("works where the user's own folder lies in it", async () => {
    await using root = await makeFolder();
    await root.write("ws/home/tools/a.md", body("a", "echo a"));
    const context: LoadContext = { workspace: root.at("ws"), trust };
    const { candidates } = await loadMarkdownTools([{ path: root.at("ws/home/tools"), scope: "user", family: "nanocoder" }], context);
    expect(candidates.map((candidate) => candidate.kind === "tool" ? candidate.untrusted ?? null : "broken")).toEqual([null]);
  });
});

describe("validating", () => {
  test("reports every file with all there is to say, and duplicates too", async () => {
    await using root = await makeFolder();
    await root.write(".nanocoder/tools/a.md", tool("a"));
    await root.write(".nanocoder/tools/b.md", tool("a", "timeout: 1\n"));
    await root.write(".nanocoder/tools/c.md", tool("c", "approval: maybe\nshell: zsh\n"));
    await root.write(".nanocoder/tools/d.md", tool("a", "approval: maybe\n"));
    await root.write("home/tools/a.md", tool("a"));
    const checked = await validateMarkdownTools(folders(root), { workspace: root.path });
    const files = withLostNames(checked, folders(root).map(({ path }) => path));
    expect(
      files.map(({ path, tool: name, diagnostics }) => [
        relative(root.path, path),
        name,
        diagnostics.map(({ severity, code, line }) => `${severity} ${code} ${line}`),
      ]),
    ).toEqual([
      [".nanocoder/tools/a.md", "a", []],
      [".nanocoder/tools/b.md", "a", ["warning duplicate_name 2", "warning unknown_key 4"]],
      [".nanocoder/tools/c.md", "c", ["error wrong_type 4", "error wrong_type 5"]],
      [".nanocoder/tools/d.md", "a", ["warning duplicate_name 2", "error wrong_type 4"]],
      ["home/tools/a.md", "a", ["warning shadowed_name 2"]],
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
  const started = processorTime();
  const files = await validateMarkdownTools(folders(root), { workspace: root.path });
  expect(processorTime() - started).toBeLessThan(20_000);
  expect(files).toHaveLength(5);
  expect(Math.max(...files.map(({ diagnostics }) => diagnostics.length))).toBeLessThan(300);
}, 30_000);
