/**
 * Every line of shell on the pages is run as it stands, but for the model (a script), the session (one that exists), a
 * server's port, and programs that are not ours, whose options and operands are compared with those that are right. A
 * line that nothing here knows how to run fails; one that cannot be run here is named with the reason.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { writeRelease } from "../fixtures/release.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, orreryCommand, runOrrery, signal, startOrrery } from "../host/orrery.ts";
import { hasTerminal, startOnTerminal } from "../host/terminal.ts";

const repository = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(repository, path), "utf8");
const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** docs/http.md and docs/sdk.md have tests of their own. */
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(repository, "docs")).filter((name) => name.endsWith(".md") && !["http.md", "sdk.md"].includes(name)).map((name) =>
    `docs/${name}`
  ),
];

const BUILD = /^docker build -t orrery(?:-sandbox)?(?: --target \w+)? \.$/;
/** Up to the image: what the engine knows. Behind it: the command in it. */
const RUN =
  /^docker run(?: (?:--rm|-it|-d|--init|--read-only|(?:--user|--tmpfs|--network|--name|-v|-w|-p|-e) (?:"[^"]*"|[^\s"-]\S*)))* orrery((?: (?:orrery|stella) .*)?)$/;

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
  mkdirSync(join(workspace.home, "programs"));
  for (const name of ["orrery", "stella"]) {
    const program = join(workspace.home, "programs", name);
    writeFileSync(program, `#!/bin/sh\nexec ${orreryCommand().map((word) => `'${word}'`).join(" ")} "$@"\n`);
    chmodSync(program, 0o755);
  }
  // Nothing is installed but here, whoever runs this.
  writeFileSync(join(workspace.home, "programs/id"), "#!/bin/sh\necho 1000\n");
  chmodSync(join(workspace.home, "programs/id"), 0o755);
  mkdirSync(join(workspace.path, "dist/release"), { recursive: true });
  for (const target of ["linux-x64", "linux-x64-baseline", "linux-arm64", "darwin-arm64", "darwin-x64"]) {
    writeRelease(join(workspace.path, "dist/release"), { version: manifest().version, target });
  }
  for (const path of ["install.sh", "dist/release/install.sh"]) cpSync(join(repository, "install.sh"), join(workspace.path, path));
  cpSync(join(repository, "compile.sh"), join(workspace.path, "compile.sh"));
}, 30_000);
afterAll(async () => {
  await workspace.remove();
}, 30_000);

/** What cannot be run here, by its beginning. Of these it is only known that what they name is there. */
const UNRUN: readonly (readonly [begins: RegExp, reason: string])[] = [
  [/^npm test$/, "it runs this test"],
  [/^(?:npm run ok|sh tests\/run\.sh \w+)$/, "it runs for minutes, and the suite that holds this test is made of it"],
  [
    /^sh compile\.sh --(?:all|target)/,
    "it fetches the engines of other machines; shipping-release.test.ts runs it with a stand-in for Bun, shipping-image.test.ts makes a release",
  ],
  [/^docker (?:build|run -d|stop|exec orrery cat)/, "no engine is here; shipping-image.test.ts builds the image and runs it"],
  [
    /^(?:systemctl|journalctl) /,
    "no systemd is here; house/shell.test.ts has the unit, and the page's change of it, verified by systemd's own program",
  ],
];

/** How a line is run, by its beginning. Null: it is not ours. */
const RULES: readonly (readonly [begins: RegExp, run: (line: string) => number | null | Promise<number | null>])[] = [
  [/^(?:dist\/)?orrery chat\b/, chat],
  [/^(?:dist\/)?orrery serve\b/, serve],
  [/^(?:dist\/)?(?:orrery|stella) /, (line) => sh(asItCanRun(line))],
  // From a release that lies where the pages have one.
  [/^(?:[A-Z_]+=\S+ )*sh (?:\S+\/)?install\.sh\b/, sh],
  // Nothing to do, where this runs.
  [/^sh \.ci\/setup\.sh$/, (line) => sh(line, repository)],
  [/^(?:npm run (?:demo|build)|sh compile\.sh)$/, (line) => sh(line, copyOfSource())],
  // Its options are read before help is given.
  [/^sh compile\.sh\b/, (line) => namesTarget(line) ? sh(`${line} --help`) : 1],
  [/^node_modules\/\.bin\/deno task orrery …$/, (line) => sh(line.replace("…", "version"), repository)],
  [/^node_modules\/\.bin\/bun test \S+$/, (line) => sh(line, repository)],
  [/^(?:sh|npm) /, (line) => knows(line) ? 0 : 1],
  [/^docker build /, (line) => BUILD.test(line) && stages().includes(/--target (\S+)/.exec(line)?.[1] ?? "slim") ? 0 : 1],
  [/^docker run /, (line) => {
    const inside = RUN.exec(line)?.[1];
    return inside === undefined ? 1 : inside === "" ? 0 : sh(asItCanRun(inside.trim()));
  }],
  // No server runs here, and it says so.
  [
    /^docker exec orrery orrery doctor --server /,
    (line) => sh(`${line.replace("docker exec orrery ", "").replace("4760", "9")}; test $? = 1`),
  ],
  [/^install -m 644 \/usr\/local\/share\/\S+ \/etc\/\S+$/, installed],
  [/^docker exec orrery cat \/data\/token$/, () => read("Dockerfile").includes('"--token-file", "/data/token"') ? 0 : 1],
  [/^(?:docker stop --time \d+ orrery|systemctl daemon-reload|systemctl enable --now orrery|journalctl -u orrery -f)$/, () => null],
  [/^export [A-Z_]+=…$/, () => null],
];

describe("every command on a page does what a command does that is understood", () => {
  for (const page of PAGES) {
    for (const line of linesOf(read(page))) {
      const reason = UNRUN.find(([begins]) => begins.test(line))?.[1];
      const needs = /^npm /.test(line) && !has("npm") ? "npm" : /orrery chat/.test(line) && !hasTerminal ? "util-linux script" : null;
      const remark = reason !== undefined ? ` (not run: ${reason})` : needs !== null ? ` (needs ${needs})` : "";
      test.skipIf(needs !== null)(`${page}: ${line}${remark}`, async () => {
        const rule = RULES.find(([begins]) => begins.test(line));
        expect([line, rule !== undefined]).toEqual([line, true]);
        expect([line, await rule?.[1](line) ?? 0]).toEqual([line, 0]);
      }, /^(?:npm|sh) /.test(line) ? 180_000 : 30_000);
    }
  }
});

test("every package that the image installs is one of Debian's", () => {
  const names =
    /apt-get install -y --no-install-recommends ([^&]+?) &&/.exec(read("Dockerfile").replaceAll("\\\n", ""))?.[1]?.trim().split(/\s+/) ??
      [];
  expect(names).toContain("ripgrep");
  const { stdout = "" } = spawnSync("apt-cache", ["show", "--no-all-versions", "base-files", ...names], { encoding: "utf8" });
  const known = new Set([...(stdout ?? "").matchAll(/^Package: (.+)$/gm)].map(([, name = ""]) => name));
  // Without the lists of a Debian nothing is known.
  if (known.has("base-files")) expect(names.filter((name) => !known.has(name))).toEqual([]);
}, 30_000);

test("the page of tools has the dialects side by side, as the tools themselves have it", async () => {
  const project = await createWorkspace();
  try {
    const start = { cwd: project.path, home: project.home, env: { ORRERY_TRUST_WORKSPACE: "1" } };
    await project.write(".orrery/tools/one.toml", 'name = "in_stella"\ndescription = "A tool."\ncommand = ["true"]\n');
    await project.write(".orrery/tools/two.md", "---\nname: in_nanocoder\ndescription: A tool.\n---\ntrue\n");
    await project.write(
      ".orrery/tools/three.ts",
      'import { tool } from "orrery";\nexport const one = tool({ name: "in_typescript", description: "A tool.", parameters: { type: "object" }, execute: () => 1 });\n',
    );
    await project.write(
      ".orrery/tools/four.py",
      'from stella_sdk import tool\n\n@tool\ndef in_python() -> int:\n    """A tool."""\n    return 1\n',
    );
    const { stdout } = await runOrrery(["tools", "--json"], start);
    const { tools } = JSON.parse(stdout) as { readonly tools: readonly { name: string; approval: string; origin: { scope: string } }[] };
    const page = read("docs/tools.md");
    const row = (title: string) =>
      page.split("\n").find((line) => line.startsWith(`| ${title} `))?.split("|").slice(2, -1).map((cell) => cell.trim()) ?? [];
    const dialects = page.split("\n").find((line) =>
      line.startsWith("| ") && line.includes("Nanocoder")
    )?.split("|").slice(2, -1).map((cell) => cell.trim()) ?? [];
    expect(dialects).toEqual(["Stella", "Nanocoder", "TypeScript", "Python", "MCP"]);
    for (const [index, dialect] of dialects.slice(0, has("python3") ? 4 : 3).entries()) {
      const found = tools.find(({ name }) =>
        name === `in_${dialect.toLowerCase()}`
      );
      expect([dialect, `\`${found?.approval}\``]).toEqual([dialect, row("`approval`, unless it says")[index] ?? ""]);
    }
    const builtins = tools.filter(({ origin }) => origin.scope === "builtin").map(({ name }) => name);
    const told = page.split("## Built-ins")[1] ?? "";
    expect([builtins.length, builtins.filter((name) => !told.includes(`\`${name}\``))]).toEqual([18, []]);
  } finally {
    await project.remove();
  }
}, 30_000);

test("the script on the page of tools does what the manifest above it promises, and no page has another", async () => {
  const scripts = PAGES.flatMap((page) =>
    blocksOf(read(page)).filter((block) => block.startsWith("#!")).map((script) => [page, script] as const)
  );
  expect(scripts.map(([page]) => page)).toEqual(["docs/tools.md"]);
  const [, manifest = ""] = /^```toml\n([\s\S]*?)^```/m.exec(read("docs/tools.md")) ?? [];
  const [, program = ""] = /^command = \["(\S+)"\]$/m.exec(manifest) ?? [];
  const project = await createWorkspace();
  try {
    await project.write(".stella/tools/wordcount.toml", manifest);
    await project.write("three.txt", "one two three\n");
    chmodSync(await project.write(program, scripts[0]?.[1] ?? ""), 0o755);
    const args = ["tools", "call", "wordcount", "--trust-workspace", "--input", '{"path":"three.txt"}'];
    const { code, stdout } = await runOrrery(args, { cwd: project.path, home: project.home });
    expect([code, stdout.trim()]).toEqual([0, "3"]);
  } finally {
    await project.remove();
  }
}, 30_000);

function blocksOf(text: string): readonly string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block);
}

/** Of blocks, and what prose says of building and installing. */
function linesOf(text: string): readonly string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "");
  const inline = [
    ...prose.matchAll(
      /`((?:sh \S*(?:compile|install|setup|tests\/run)\.sh|docker build|npm (?:test|run)|node_modules\/\.bin\/\w+)\b[^`]*)`/g,
    ),
  ].map(([, line = ""]) => line);
  const blocks = [...blocksOf(text).filter((block) => !block.startsWith("#!")), ...new Set(inline)];
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

/** On a terminal, to say the least that is to be said in a conversation. */
async function chat(line: string): Promise<number | null> {
  const run = startOnTerminal(wordsOf(line), { cwd: workspace.path, home: workspace.home });
  await run.next("> ");
  run.type("/help\r");
  await run.next("/quit");
  run.type("/quit\r");
  return (await run.ended()).code;
}

/** Until it listens and has answered. */
async function serve(line: string): Promise<number | null> {
  const child = startOrrery([...wordsOf(line), "--port", "0", "--json"], { cwd: workspace.path, home: workspace.home });
  const end = ended(child);
  const { url } = JSON.parse(
    await new Promise<string>((settle, fail) => {
      child.stdout?.setEncoding("utf8").once("data", settle);
      child.once("close", () => fail(new Error("it ended before it listened")));
    }),
  ) as { readonly url: string };
  expect((await fetch(url)).status).toBe(200);
  signal(child, "SIGTERM");
  return (await end).code;
}

/** The arguments; but for the model and the session, as they stand. */
function wordsOf(line: string): readonly string[] {
  return asItCanRun(line).split(" ").slice(1).map((word) => word.replace(/^"(.*)"$/, "$1"));
}

let copied: string | null = null;

/** What a fresh clone has after `sh .ci/setup.sh`: a build must not change the repository that this runs in. */
function copyOfSource(): string {
  if (copied !== null) return copied;
  const copy = join(workspace.home, "source");
  const listed = execFileSync("git", ["-C", repository, "ls-files", "-co", "--exclude-standard", "-z"], { encoding: "utf8" }).split("\0");
  for (const path of listed.filter((each) => each !== "" && existsSync(join(repository, each)))) {
    cpSync(join(repository, path), join(copy, path));
  }
  const modules = [join(repository, "node_modules"), join(copy, "node_modules")] as const;
  if (spawnSync("cp", ["-al", ...modules]).status !== 0) {
    rmSync(modules[1], { recursive: true, force: true });
    execFileSync("cp", ["-a", ...modules]);
  }
  return copied = copy;
}

function sh(line: string, cwd = workspace.path): number | null {
  const { status, stderr } = spawnSync("sh", ["-c", line], {
    cwd,
    encoding: "utf8",
    input: "",
    env: {
      PATH: `${join(workspace.home, "programs")}:${process.env["PATH"] ?? ""}`,
      HOME: workspace.home,
      ORRERY_HOME: workspace.home,
      MANPAGER: "cat",
      DENO_NO_UPDATE_CHECK: "1",
    },
  });
  if (status !== 0) console.log(`${line}\n${stderr}`);
  return status;
}

/** In a root of its own, into which install.sh has put what it puts there as root. */
function installed(line: string): number | null {
  const root = join(workspace.home, "root");
  mkdirSync(join(root, "etc/systemd/system"), { recursive: true });
  return sh(`INSTALL_DIR='${root}/usr/local/bin' sh install.sh --from dist/release && ${line.replaceAll(/ (?=\/)/g, ` ${root}`)}`);
}

/** Scripts and tasks are there. */
function knows(line: string): boolean {
  const [program = "", verb = "", name = ""] = line.split(" ");
  if (program === "sh") return read(verb).startsWith("#!");
  return Object.hasOwn(manifest().scripts, verb === "run" ? name : verb);
}

function manifest() {
  return JSON.parse(read("package.json")) as { readonly version: string; readonly scripts: Readonly<Record<string, string>> };
}

/** Or none. */
function namesTarget(line: string): boolean {
  const target = /--target[ =](\S+)/.exec(line)?.[1];
  const targets = /^targets="(.*)"$/m.exec(read("compile.sh"))?.[1] ?? "";
  return target === undefined || targets.split(" ").includes(target);
}

function stages(): readonly string[] {
  return [...read("Dockerfile").matchAll(/^FROM \S+ AS (\w+)$/gm)].map(([, name = ""]) => name);
}
