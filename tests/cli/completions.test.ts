/** Completions in the shells themselves, each by its own machinery. A shell that is not installed is skipped by name. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { everyCommand, readReference } from "../../cli/reference.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { orreryCommand, runOrrery } from "../host/orrery.ts";
import { hasTerminal } from "../host/terminal.ts";

const has = (shell: string) => spawnSync("sh", ["-c", `command -v ${shell}`]).status === 0;
const names = readReference().commands.map(({ path }) => path.split(" ")[1] ?? "");

let workspace: TestWorkspace;
let folder: string;
let session: string;
let env: Record<string, string>;

beforeAll(async () => {
  workspace = await createWorkspace();
  folder = await mkdtemp(join(tmpdir(), "orrery-completions-"));
  const start = { cwd: workspace.path, home: workspace.home };
  const model = await workspace.script({ text: "done" });
  const { stdout } = await runOrrery(["run", "--model", model, "--output-format", "json", "go"], start);
  session = (JSON.parse(stdout) as { readonly session: string }).session;
  await mkdir(join(workspace.path, "myfolder"));
  await mkdir(join(folder, "bin"));
  const line = orreryCommand().map((word) => `'${word}'`).join(" ");
  for (const program of ["orrery", "stella"]) {
    await writeFile(join(folder, "bin", program), `#!/bin/sh\nexec ${line} "$@"\n`);
    await chmod(join(folder, "bin", program), 0o755);
    for (const [shell, file] of [["bash", `${program}.bash`], ["zsh", `_${program}`], ["fish", `${program}.fish`]] as const) {
      const printed = await runOrrery(["completions", shell, ...(program === "orrery" ? [] : ["--name", program])], start);
      expect(printed).toMatchObject({ code: 0, stderr: "" });
      await writeFile(join(folder, file), printed.stdout);
    }
  }
  env = {
    PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`,
    HOME: workspace.home,
    ORRERY_HOME: workspace.home,
    TERM: "xterm",
    DENO_NO_UPDATE_CHECK: "1",
  };
}, 30_000);
afterAll(async () => {
  await workspace.remove();
  await rm(folder, { recursive: true, force: true });
});

test("the names of tools come without what they take, and nothing is started for them", async () => {
  const project = await createWorkspace();
  try {
    const start = { cwd: project.path, home: project.home, env: { ORRERY_TRUST_WORKSPACE: "1" } };
    await project.tool(
      "shout",
      "cat",
      '[input_schema]\ntype = "object"\n[input_schema.properties.loud]\ntype = "object"\ndefault = { name = "of_a_default" }',
    );
    const touch = { command: "touch", args: [join(project.path, "started")] };
    await project.write(".mcp.json", JSON.stringify({ mcpServers: { of_a_server: touch } }));
    await project.write(".orrery/tools/asked.ts", 'import { writeFileSync } from "node:fs"; writeFileSync("started", "");');
    const { code, stdout, stderr } = await runOrrery(["__names", "tools"], start);
    const offered = stdout.trim().split("\n");
    expect([code, stderr, offered.filter((name) => ["shout", "read_file", "of_a_server", "of_a_default"].includes(name))]).toEqual([
      0,
      "",
      ["read_file", "shout"],
    ]);
    expect(existsSync(join(project.path, "started"))).toBe(false);
  } finally {
    await project.remove();
  }
});

/** What a line is completed to, in every shell. The line ends where the cursor is. */
const cases: readonly (readonly [line: string, offers: () => readonly string[], not: readonly string[]])[] = [
  ["orrery ", () => names, ["list"]],
  ["orrery to", () => ["tools"], ["trust"]],
  ["orrery tools ", () => ["list", "call", "create"], ["fork"]],
  ["orrery sessions --help sh", () => ["show"], []],
  ["orrery tools --val", () => ["--validate"], []],
  ["orrery tools call --inp", () => ["--input"], []],
  ["orrery run --mo", () => ["--mode", "--model"], ["--json"]],
  ["orrery run --mode pl", () => ["plan"], ["headless"]],
  ["orrery run -o ", () => ["text", "json", "stream-json"], []],
  ["orrery completions ", () => ["bash", "zsh", "fish"], []],
  ["orrery man to", () => ["tools", "tools-call"], ["run"]],
  ["stella sessions sh", () => ["show"], ["run"]],
  ["stella tools call read_", () => ["read_file"], []],
  ["orrery run --workspace my", () => ["myfolder/"], []],
  ["orrery tools call read_", () => ["read_file"], []],
  ["orrery sessions show ", () => [session], []],
];

test("a name that no command has is refused", async () => {
  for (const name of ["a b", "$(true)", ""]) {
    const { code, stdout, stderr } = await runOrrery(["completions", "bash", "--name", name], { home: workspace.home });
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("as it is no name of a command")]);
  }
});

describe.skipIf(!has("bash"))("in bash (if it is here)", () => {
  for (const [line, offers, not] of cases) {
    test(`"${line}" is completed`, () => expectOffers(inBash(line), offers(), not));
  }

  test("a value behind an equals sign is completed", () => expectOffers(inBash("orrery run --mode=pl"), ["plan"], []));

  test("the scripts are taken by bash without a word, and again", () => {
    const both = `source '${folder}/orrery.bash'; source '${folder}/stella.bash'`;
    const twice = spawnSync("bash", ["--norc", "-uc", `${both}; ${both}`], {
      encoding: "utf8",
      env,
    });
    expect([twice.status, twice.stdout, twice.stderr]).toEqual([0, "", ""]);
  });
});

describe.skipIf(!has("fish"))("in fish (if it is here)", () => {
  for (const [line, offers, not] of cases) {
    test(`"${line}" is completed`, () => expectOffers(inFish(line), offers(), not), 20_000);
  }
});

/** Two sessions, the newer one first: their ids say the opposite to who sorts them. */
async function twoSessions(): Promise<{ readonly home: TestWorkspace; readonly newestFirst: readonly string[] }> {
  const home = await createWorkspace();
  const model = await home.script({ text: "done" }, { text: "done" });
  for (const _ of [1, 2]) await runOrrery(["run", "--model", model, "go"], { cwd: home.path, home: home.home });
  const { stdout } = await runOrrery(["sessions", "list", "--json"], { cwd: home.path, home: home.home });
  const { sessions } = JSON.parse(stdout) as { readonly sessions: readonly { readonly session: string }[] };
  return { home, newestFirst: sessions.map((each) => each.session) };
}

test.skipIf(!has("fish"))("fish keeps the order of sessions, and sorts the rest as it does (needs fish)", () => {
  const script = `source '${folder}/orrery.fish'; complete -c orrery`;
  const { stdout } = spawnSync("fish", ["--no-config", "-c", script], { encoding: "utf8", env });
  const isKept = (line: string) => /^complete (?:-k|--keep-order) /.test(line);
  const lines = stdout.split("\n").filter((line) => line.startsWith("complete "));
  const ofSessions = lines.filter((line) => line.includes("(__orrery_sessions)"));
  expect([ofSessions.length > 3, ofSessions.filter((line) => !isKept(line))]).toEqual([true, []]);
  expect(lines.filter((line) => isKept(line) && !ofSessions.includes(line))).toEqual([]);
});

test.skipIf(!has("bash"))("bash is asked to keep the order of sessions (needs bash)", () => {
  const asked = (line: string) => {
    const script = `compopt() { echo "$*"; }; source '${folder}/orrery.bash'; COMP_WORDS=(${line} ''); COMP_CWORD=3; _orrery`;
    return spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8", env }).stdout;
  };
  expect([asked("orrery sessions show"), asked("orrery tools call")]).toEqual(["-o nosort\n", ""]);
});

describe.skipIf(!has("zsh") || !hasTerminal)("in zsh (if it is here, and script)", () => {
  test("sessions are listed with the newest first", async () => {
    const { home, newestFirst } = await twoSessions();
    try {
      const [, older = ""] = newestFirst;
      const shown = await inZsh("orrery sessions show \t", older, { ...env, ORRERY_HOME: home.home });
      expect(newestFirst.map((each) => shown.indexOf(each)).toSorted((a, b) => a - b)).toEqual(
        newestFirst.map((each) => shown.indexOf(each)),
      );
    } finally {
      await home.remove();
    }
  }, 30_000);

  for (
    const [line, whole] of [
      ["orrery too", "orrery tools"],
      ["orrery tools cal", "orrery tools call"],
      ["orrery run --mode pla", "orrery run --mode plan"],
      ["orrery man sessions-sh", "orrery man sessions-show"],
      ["stella tools cal", "stella tools call"],
    ] as const
  ) {
    test(`"${line}" becomes "${whole}"`, async () => {
      expect(await inZsh(line, whole)).toContain(whole);
    }, 20_000);
  }

  test("a session is completed", async () => {
    expect(await inZsh("orrery sessions show ses", session)).toContain(session);
  }, 20_000);

  test("the script names no function that it does not define", () => {
    const load = `autoload -Uz compinit; compinit -u -D; source '${folder}/_orrery'; whence -w ${
      everyCommand(readReference()).map(({ path }) => `_${path.replaceAll(" ", "_")}`).join(" ")
    }`;
    const { status, stdout, stderr } = spawnSync("zsh", ["-f", "-c", load], { encoding: "utf8", env });
    expect({ status, stderr, none: stdout.includes(": none") }).toEqual({ status: 0, stderr: "", none: false });
  });
});

function expectOffers(offered: readonly string[], wanted: readonly string[], not: readonly string[]): void {
  expect(wanted.filter((each) => !offered.includes(each) && !offered.includes(each.replace(/\/$/, "")))).toEqual([]);
  expect(offered.filter((each) => not.includes(each))).toEqual([]);
}

/** Bash breaks a line into words itself, at equals signs too, and asks the function. */
function inBash(line: string): readonly string[] {
  const words = line.split(/ |(?<==)|(?==)/);
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const program = words[0] ?? "";
  const script = `source '${folder}/orrery.bash'; source '${folder}/stella.bash'; COMP_WORDS=(${quoted}); COMP_CWORD=${
    words.length - 1
  }; _${program}; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8", env, cwd: workspace.path }).stdout.trim().split("\n");
}

function inFish(line: string): readonly string[] {
  const { stdout } = spawnSync("fish", [
    "--no-config",
    "-c",
    `source '${folder}/orrery.fish'; source '${folder}/stella.fish'; complete -C '${line}'`,
  ], {
    encoding: "utf8",
    env,
    cwd: workspace.path,
  });
  return stdout.trim().split("\n").map((each) => each.split("\t")[0] ?? "");
}

/** Zsh completes only for a person, so one is played on a terminal. */
async function inZsh(line: string, expected: string, environment = env): Promise<string> {
  const child = spawn("script", ["-qec", "zsh -f -i", "/dev/null"], {
    env: { ...environment, SHELL: "/bin/sh" },
    cwd: workspace.path,
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  const wait = (text: string) =>
    new Promise<void>((settle) => {
      const look = (chunk = "") => {
        // Zsh writes in bold what it completed with.
        shown = `${shown}${chunk}`.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");
        if (!shown.includes(text)) return;
        child.stdout.off("data", look);
        settle();
      };
      child.stdout.setEncoding("utf8").on("data", look);
      look();
    });
  const ended = new Promise<void>((settle) => void child.once("close", () => settle()));
  const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
  child.stdin.write(
    `PS1=''; fpath=('${folder}' $fpath); autoload -Uz compinit; compinit -u -D; unsetopt zle_bracketed_paste; print -r -- rea''dy\n`,
  );
  await Promise.race([wait("ready"), ended]);
  shown = "";
  child.stdin.write(`${line}\t`);
  await Promise.race([wait(expected), ended]);
  child.stdin.end("\x15exit\n");
  await ended;
  clearTimeout(timer);
  return shown;
}
