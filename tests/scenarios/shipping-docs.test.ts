/**
 * Every line of shell on the pages a user reads first is run as it stands, but for the model (a script), the session
 * (one that exists) and programs that are not ours. A line that nothing here knows how to run fails.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { orreryCommand, runOrrery } from "../host/orrery.ts";

const repository = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(repository, path), "utf8");
const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** docs/http.md and docs/sdk.md have tests of their own. */
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/install.md",
  "docs/containment.md",
  "docs/models.md",
  "docs/speculation.md",
  "docs/hooks.md",
];

let workspace: TestWorkspace;
let model: string;
let session: string;

beforeAll(async () => {
  workspace = await createWorkspace();
  for (const path of [".stella/tools/wordcount.toml", "scripts/wordcount.sh", "README.md"]) {
    cpSync(join(repository, path), join(workspace.path, path), { recursive: true });
  }
  await workspace.write("task.md", "Count.\n");
  model = await workspace.script({ text: "done" }, { text: "done" });
  mkdirSync(join(workspace.home, "config"));
  mkdirSync(join(workspace.home, ".local/share/bash-completion/completions"), { recursive: true });
  writeFileSync(join(workspace.home, "config/settings.json"), JSON.stringify({ model, trust: "all" }));
  const { stdout } = await runOrrery(["run", "--output-format", "json", "go"], { cwd: workspace.path, home: workspace.home });
  session = (JSON.parse(stdout) as { readonly session: string }).session;
  mkdirSync(join(workspace.home, "bin"));
  for (const name of ["orrery", "stella"]) {
    const program = join(workspace.home, "bin", name);
    writeFileSync(program, `#!/bin/sh\nexec ${orreryCommand().map((word) => `'${word}'`).join(" ")} "$@"\n`);
    chmodSync(program, 0o755);
  }
});
afterAll(async () => {
  await workspace.remove();
});

/** How a line is run, by its beginning. Null: it is not ours. */
const RULES: readonly (readonly [begins: RegExp, run: (line: string) => number | null])[] = [
  [/^(?:dist\/)?orrery (?:chat|serve)\b/, (line) => sh(`${line.replace(/^dist\//, "")} --help`)],
  [/^(?:dist\/)?(?:orrery|stella) /, (line) => sh(asItCanRun(line))],
  // Their options are read before help is given.
  [
    /^(?:[A-Z_]+=\S+ )*sh \S*(?:compile|install)\.sh/,
    (line) => sh(`${line.replace(/\S*(compile|install)\.sh/, `'${repository}/$1.sh'`)} --help`),
  ],
  [/^(?:sh|npm|node_modules\/\.bin\/\w+) /, (line) => knows(line) ? 0 : 1],
  [/^docker build /, (line) => stages().includes(/--target (\w+)/.exec(line)?.[1] ?? "slim") ? 0 : 1],
  [/^docker run /, (line) => {
    const inside = / orrery ((?:orrery|stella) .*)$/.exec(line)?.[1];
    return inside === undefined ? null : sh(asItCanRun(inside));
  }],
  // No server runs here, and it says so.
  [
    /^docker exec orrery orrery doctor --server /,
    (line) => sh(`${line.replace("docker exec orrery ", "").replace("4760", "9")}; test $? = 1`),
  ],
  [/^install -m 644 docs\/orrery\.service /, () => read("docs/orrery.service").includes("[Service]") ? 0 : 1],
  [/^(?:docker (?:exec orrery cat|stop)|systemctl|journalctl|export) /, () => null],
];

describe("every command on a page does what a command does that is understood", () => {
  for (const page of PAGES) {
    for (const line of linesOf(read(page))) {
      test(`${page}: ${line}`, () => {
        const rule = RULES.find(([begins]) => begins.test(line));
        expect([line, rule !== undefined]).toEqual([line, true]);
        expect([line, rule?.[1](line) ?? 0]).toEqual([line, 0]);
      }, 20_000);
    }
  }
});

function linesOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.split("\n")).map((line) => line.replace(/\s+#.*$/, "").trim()).filter((line) => line !== "");
}

function asItCanRun(line: string): string {
  return line.replace(/^dist\//, "")
    .replace(/--model \S+/, `--model ${model}`)
    .replace(/ --base-url \S+/, "")
    .replace(/ses_…|\bID\b/, session)
    .replace(/\| jq .*$/, (filter) => has("jq") ? filter : "")
    .replace(/\| man .*$/, (viewer) => has("man") ? viewer : "");
}

function sh(line: string): number | null {
  const { status, stderr } = spawnSync("sh", ["-c", line], {
    cwd: workspace.path,
    encoding: "utf8",
    input: "",
    env: {
      PATH: `${join(workspace.home, "bin")}:${process.env["PATH"] ?? ""}`,
      HOME: workspace.home,
      ORRERY_HOME: workspace.home,
      MANPAGER: "cat",
      DENO_NO_UPDATE_CHECK: "1",
    },
  });
  if (status !== 0) console.log(`${line}\n${stderr}`);
  return status;
}

/** Scripts and tasks are there; running them from a test would run this test. */
function knows(line: string): boolean {
  const [program = "", verb = "", name = ""] = line.split(" ");
  if (program === "sh") return read(verb).startsWith("#!");
  if (program !== "npm") return read(line.split(" ").at(-1) ?? "").length > 0;
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  return Object.hasOwn(scripts, verb === "run" ? name : verb);
}

function stages(): readonly string[] {
  return [...read("Dockerfile").matchAll(/^FROM \S+ AS (\w+)$/gm)].map(([, name = ""]) => name);
}
