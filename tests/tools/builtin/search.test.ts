import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import process from "node:process";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { runBuiltin } from "../../../lib/tools/builtin/catalog.ts";
import { type Folder, makeFolder } from "../folder.ts";

async function search(root: Folder, input: JsonObject, PATH = "") {
  const { is_error, text, data } = await runBuiltin("search", toInput(input), { workspace: root.at("ws"), env: { PATH } });
  return { is_error, text, data: data as JsonObject };
}

async function tree(files: Readonly<Record<string, string>>): Promise<Folder> {
  const root = await makeFolder();
  await mkdir(root.at("ws"));
  for (const [path, text] of Object.entries(files)) await root.write(`ws/${path}`, text);
  return root;
}

/** The paths that a listing shows. */
function pathsOf(text: string): readonly string[] {
  return text.split("\n\n")[0]?.split("\n") ?? [];
}

describe("search for text", () => {
  test("shows the lines with their numbers, by file", async () => {
    await using root = await tree({ "src/a.ts": "one\nconst needle = 1;\r\ntwo\n", "b.md": "a needle here\n" });
    const { is_error, text, data } = await search(root, { query: "needle" });
    expect(is_error).toBe(false);
    expect(text).toBe("b.md\n     1: a needle here\n\nsrc/a.ts\n     2: const needle = 1;\n\n2 matching lines in 2 files.");
    expect(data).toEqual({
      matches: 2,
      files: 2,
      shown: 2,
      searched: 2,
      truncated: false,
      cut_by: [],
      skipped: { large: 0, unreadable: 0, long_lines: 0 },
    });
  });

  test("takes a query as it is written, and a pattern as an expression", async () => {
    await using root = await tree({ "a.txt": "a.c\nabc\nA.C\n" });
    expect((await search(root, { query: "a.c" })).data["matches"]).toBe(1);
    expect((await search(root, { pattern: "a.c" })).data["matches"]).toBe(2);
    expect((await search(root, { query: "a.c", ignore_case: true })).data["matches"]).toBe(2);
    expect((await search(root, { pattern: "^a.c$", ignore_case: true })).data["matches"]).toBe(3);
  });

  test("looks below a path, or into one file that is ignored", async () => {
    await using root = await tree({ ".gitignore": "*.log\n", "src/a.ts": "x\n", "test/a.ts": "x\n", "b.log": "x\n" });
    expect((await search(root, { query: "x", path: "src" })).text).toContain("src/a.ts");
    expect((await search(root, { query: "x", path: "src" })).data["files"]).toBe(1);
    expect((await search(root, { query: "x", path: "b.log" })).data["files"]).toBe(1);
    expect((await search(root, { query: "x", path: "none" })).text).toContain("There is no file");
    expect((await search(root, { query: "x", path: "../" })).text).toContain("outside");
  });

  test("ranks: named after it, then as a word, then more lines, then nearer the top, then by name", async () => {
    await using root = await tree({
      "z/cart.ts": "cart\n",
      "z/y/deep.ts": "cart\ncart\n",
      "b.ts": "cart\n",
      "a.ts": "cart\n",
      "many.ts": "cartoon\n".repeat(9),
      "z/c.ts": "cart\n",
    });
    const { text } = await search(root, { query: "cart" });
    const order = text.split("\n\n").slice(0, -1).map((section) => section.split("\n")[0]);
    expect(order).toEqual(["z/cart.ts", "z/y/deep.ts", "a.ts", "b.ts", "z/c.ts", "many.ts"]);
  });

  test("is bounded in results, in lines of one file and in the length of a line, and says so in a field and in words", async () => {
    await using root = await tree({
      "a.txt": "hit\n".repeat(50),
      "b.txt": "hit\n".repeat(40),
      "wide.txt": `${"x".repeat(5000)}hit${"y".repeat(5000)}\n`,
    });
    const all = await search(root, { query: "hit" });
    expect(all.data).toMatchObject({ matches: 91, files: 3, shown: 41, truncated: true, cut_by: ["results"] });
    expect(all.text).toContain("(and 30 more in this file)");
    expect(all.text).toContain("91 matching lines in 3 files; 41 shown. Not all results are shown");
    expect(all.text.split("\n").find((line) => line.includes("xhity"))?.length).toBeLessThan(260);
    const few = await search(root, { query: "hit", limit: 25 });
    expect(few.data).toMatchObject({ matches: 91, shown: 25, truncated: true });
    expect((await search(root, { query: "hit", path: "a.txt" })).data).toMatchObject({ shown: 50, truncated: false });
  });

  test("passes over binary files, and says how many are too large", async () => {
    await using root = await tree({ "text.txt": "hit\n", "binary.bin": "hit\0\n" });
    await root.write("ws/large.txt", `hit\n${"x".repeat(4 * 1024 * 1024)}`);
    const { text, data } = await search(root, { query: "hit" });
    expect(data).toMatchObject({ matches: 1, skipped: { large: 1 } });
    expect(text).toContain("1 file of more than 4194304 bytes left out.");
  });

  test("reads bytes that are no UTF-8 as text that is well-formed", async () => {
    await using root = await tree({});
    await root.write("ws/latin1.txt", Uint8Array.from([0x68, 0x69, 0x74, 0xe9, 0x0a]));
    const { text } = await search(root, { query: "hit" });
    expect(text).toContain("hit\uFFFD");
    expect(text.isWellFormed()).toBe(true);
  });

  test("runs a pattern that would keep a backtracking engine busy for ever (P5)", async () => {
    await using root = await tree({ "a.txt": `${"a".repeat(5000)}!\n`.repeat(20) });
    expect((await search(root, { pattern: "^(a+)+$" })).data["matches"]).toBe(0);
    const large = await search(root, { pattern: "((x?){200}){5}x{900}y" });
    expect(large.is_error).toBe(false);
  });

  test("looks at the beginning of a very long line only, and says so", async () => {
    await using root = await tree({ "a.txt": `${"a".repeat(300_000)}END\n` });
    expect((await search(root, { query: "END" })).data).toMatchObject({ matches: 1, skipped: { long_lines: 0 } });
    const { text, data } = await search(root, { pattern: "E[N]D" });
    expect(data).toMatchObject({ matches: 0, skipped: { long_lines: 1 } });
    expect(text).toContain("1 line searched only in part");
  });

  test("refuses what it cannot mean, with what would be right", async () => {
    await using root = await tree({ "a.txt": "x" });
    const problem = async (input: JsonObject) => {
      const { is_error, text } = await search(root, input);
      expect(is_error).toBe(true);
      return text;
    };
    expect(await problem({})).toBe("Give query or pattern to search in files, or glob to list files.");
    expect(await problem({ query: "a", pattern: "b" })).toContain("not both");
    expect(await problem({ query: "a\nb" })).toContain("line break");
    expect(await problem({ pattern: "(" })).toContain("The pattern cannot be used");
    expect(await problem({ pattern: "(?=a)" })).toContain("RE2");
    expect(await problem({ glob: "*a*b*c*d*" })).toContain("too many wildcards");
    expect(await problem({ query: "a", path: ".git/hooks" })).toContain("There is no file");
  });
});

describe("search by name", () => {
  const files = { "a.ts": "", "a.js": "", "src/b.ts": "", "src/deep/c.ts": "", ".github/ci.yml": "", "app/(group)/[id].ts": "" };

  test("lists files by glob: a bare one in any folder, one with a slash from the top or from the path", async () => {
    await using root = await tree(files);
    const list = async (glob: string, path = ".") => pathsOf((await search(root, { glob, path })).text);
    expect(await list("*.ts")).toEqual(["a.ts", "src/b.ts", "app/(group)/[id].ts", "src/deep/c.ts"]);
    expect(await list("/*.ts")).toEqual(["a.ts"]);
    expect(await list("src/*.ts")).toEqual(["src/b.ts"]);
    expect(await list("src/**/*.ts")).toEqual(["src/b.ts", "src/deep/c.ts"]);
    expect(await list("deep/*.ts", "src")).toEqual(["src/deep/c.ts"]);
    expect(await list("src/deep/*.ts", "src")).toEqual(["src/deep/c.ts"]);
    expect(await list("*.{js,yml}")).toEqual(["a.js", ".github/ci.yml"]);
    expect(await list("app/(group)/*")).toEqual(["app/(group)/[id].ts"]);
    expect(await list("!*.ts")).toEqual(["a.js", ".github/ci.yml"]);
    expect(await list("src/")).toEqual(["src/b.ts", "src/deep/c.ts"]);
  });

  test("says how many there are beside those it shows", async () => {
    await using root = await tree(files);
    const { text, data } = await search(root, { glob: "**", limit: 2 });
    expect(data).toEqual({ files: 6, shown: 2, truncated: true, cut_by: ["results"], skipped: { unreadable: 0 } });
    expect(text).toContain("6 files. Not all results are shown");
    expect((await search(root, { glob: "*.py" })).text).toBe("No files match.");
  });

  test("narrows a search for text", async () => {
    await using root = await tree({ "a.ts": "x\n", "a.js": "x\n" });
    expect((await search(root, { query: "x", glob: "*.js" })).data).toMatchObject({ files: 1, searched: 1 });
  });
});

describe("search leaves out", () => {
  test("what ignore files say: nested, anchored, for folders only, and taken back", async () => {
    await using root = await tree({
      ".gitignore": "*.log\n/top\nbuild/\n!keep.log\n# comment\n\\#literal\n",
      ".ignore": "secret.txt\n",
      "keep.log": "",
      "a.log": "",
      "top": "",
      "sub/top": "",
      "build/out.js": "",
      "sub/build/out.js": "",
      "src/build": "",
      "#literal": "",
      "secret.txt": "",
      "sub/.gitignore": "!a.log\n/only-here\nb/c\n",
      "sub/a.log": "",
      "sub/only-here": "",
      "sub/deep/only-here": "",
      "sub/deep/b/c": "",
      "sub/b/c": "",
    });
    const { text } = await search(root, { glob: "**" });
    expect(pathsOf(text)).toEqual([
      ".gitignore",
      ".ignore",
      "keep.log",
      "src/build",
      "sub/.gitignore",
      "sub/a.log",
      "sub/top",
      "sub/deep/only-here",
      "sub/deep/b/c",
    ]);
  });

  test("what is ignored, unless its folder is asked for by name", async () => {
    await using root = await tree({
      ".gitignore": "node_modules/\n",
      "node_modules/x/a.js": "hit\n",
      "node_modules/x/.gitignore": "*.map\n",
      "node_modules/x/a.map": "hit",
    });
    expect((await search(root, { query: "hit" })).data["files"]).toBe(0);
    expect(pathsOf((await search(root, { query: "hit", path: "node_modules/x" })).text)[0]).toBe("node_modules/x/a.js");
    expect((await search(root, { query: "hit", path: "node_modules" })).data["files"]).toBe(1);
  });

  test(".git, always, and what git's own list of the copy says", async () => {
    await using root = await tree({
      ".git/config": "hit\n",
      ".git/info/exclude": "mine.txt\n",
      "sub/.git": "hit\n",
      "mine.txt": "hit\n",
      ".gitignore": "!.git\n",
    });
    expect((await search(root, { query: "hit" })).data["files"]).toBe(0);
    expect((await search(root, { query: "hit", path: ".git" })).is_error).toBe(true);
    expect((await search(root, { query: "hit", path: "sub/.git" })).is_error).toBe(true);
  });

  test("links, wherever they lead", async () => {
    await using root = await tree({ "dir/a.txt": "hit\n" });
    await root.write("outside/secret.txt", "hit\n");
    await symlink(root.at("outside"), root.at("ws/out"));
    await symlink(root.at("outside/secret.txt"), root.at("ws/out.txt"));
    await symlink(".", root.at("ws/loop"));
    await symlink("dir", root.at("ws/same"));
    await symlink(root.at("outside/secret.txt"), root.at("ws/.gitignore"));
    expect((await search(root, { query: "hit" })).data).toMatchObject({ files: 1, searched: 1 });
    expect((await search(root, { query: "hit", path: "out" })).text).toContain("outside");
    expect((await search(root, { query: "hit", path: "same" })).text).toContain("dir/a.txt");
  });

  test("nothing by a rule that would take for ever to match (P5)", async () => {
    await using root = await tree({ ".gitignore": `${"*a".repeat(30)}b\n*.log\n`, ["a".repeat(200)]: "hit\n", "b.log": "hit\n" });
    expect((await search(root, { query: "hit" })).data["files"]).toBe(1);
  });
});

const ripgrep = (process.env["PATH"] ?? "").split(":").find((folder) => existsSync(`${folder}/rg`)) ?? null;

describe("search with ripgrep", () => {
  /** More files than ripgrep is worth starting for. */
  async function large(): Promise<Folder> {
    const root = await tree({
      ".gitignore": "ignored/\n",
      "ignored/a.txt": "needle\n",
      "-h": "--pre=x\n",
      "dash/--pre=x": "needle --pre=x\n",
    });
    const words = ["needle", "Needle", "NEEDLES", "other", "fo(o", "a\0needle", "\uFFFD", "nee\u212Ale", "Straße", "STRASSE", "--pre=x"];
    for (let index = 0; index < 260; index++) {
      await root.write(
        `ws/d${index % 7}/f${index}.txt`,
        `line ${index}\n${words[index % words.length] ?? ""} ${words[index % 5] ?? ""}\r\nlast`,
      );
    }
    await root.write("ws/d0/latin1.txt", Uint8Array.from([0x6e, 0x65, 0x65, 0x64, 0x6c, 0x65, 0xff, 0xfe]));
    await root.write("ws/d0/utf16.txt", Uint8Array.from([0xff, 0xfe, 0x6e, 0, 0x65, 0]));
    return root;
  }

  test.skipIf(ripgrep === null)("gives the answers that it gives without", async () => {
    await using root = await large();
    const inputs: readonly JsonObject[] = [
      { query: "needle" },
      { query: "needle", ignore_case: true },
      { query: "NEEK", ignore_case: true },
      { query: "straße", ignore_case: true },
      { query: "\uFFFD" },
      { query: "fo(o" },
      { query: "nowhere" },
      { query: "--pre=x" },
      { query: "-e" },
      { pattern: "need\\w+" },
      { pattern: "(?i)needle" },
      { pattern: "fo\\(o|other" },
      { pattern: "line 1\\d+$" },
      { pattern: "l.st", ignore_case: true },
      { query: "needle", glob: "d1/*", limit: 3 },
      { query: "needle", path: "d2" },
    ];
    for (const input of inputs) {
      const [without, withRipgrep] = [await search(root, input), await search(root, input, ripgrep ?? "")];
      expect([input, withRipgrep]).toEqual([input, without]);
    }
  }, 30_000);

  test("starts it, and takes its word only for which files to look at", async () => {
    await using root = await large();
    await root.write("bin/rg", `#!/bin/sh\necho "$@" > "${root.at("called")}"\nprintf './d0/f0.txt\\0./d4/f11.txt\\0'\n`, 0o755);
    const { data } = await search(root, { query: "needle" }, root.at("bin"));
    expect(existsSync(root.at("called"))).toBe(true);
    expect(data).toMatchObject({ files: 2 });
  });

  test("does without one that fails, and without one that is no program", async () => {
    await using root = await large();
    const without = await search(root, { query: "needle" });
    await root.write("failing/rg", "#!/bin/sh\nprintf './d0/f0.txt\\0'\nexit 2\n", 0o755);
    await root.write("broken/rg", "#!/does/not/exist\n", 0o755);
    await root.write("plain/rg", "no program\n", 0o644);
    await mkdir(root.at("folder/rg"), { recursive: true });
    for (const folder of ["failing", "broken", "plain", "folder"]) {
      expect((await search(root, { query: "needle" }, root.at(folder))).data).toEqual(without.data);
    }
  }, 20_000);

  test("never takes one from the workspace, by path, by link or by a relative PATH (R1)", async () => {
    await using root = await large();
    const script = `#!/bin/sh\ntouch "${root.at("canary")}"\n`;
    await root.write("ws/bin/rg", script, 0o755);
    await mkdir(root.at("links"));
    await symlink(root.at("ws/bin/rg"), root.at("links/rg"));
    await mkdir(root.at("ws/linked"));
    await root.write("evil/rg", script, 0o755);
    await symlink(root.at("evil/rg"), root.at("ws/linked/rg"));
    const PATH = [root.at("ws/bin"), root.at("links"), root.at("ws/linked"), "bin", ".", ""].join(":");
    expect((await search(root, { query: "needle" }, PATH)).data["matches"]).toBeGreaterThan(0);
    expect(existsSync(root.at("canary"))).toBe(false);
  });

  test("takes a query and a path that look like options for what they are (case 28)", async () => {
    await using root = await large();
    const program = await root.write("x.sh", `#!/bin/sh\ntouch "${root.at("canary")}"\n`, 0o755);
    for (const PATH of ["", ripgrep ?? ""]) {
      expect((await search(root, { query: `--pre=${program}`, path: "-h" }, PATH)).data).toMatchObject({ matches: 0, searched: 1 });
      expect((await search(root, { query: `--pre=${program}` }, PATH)).data).toMatchObject({ matches: 0 });
      expect((await search(root, { query: "--pre=x", path: "-h" }, PATH)).text).toContain("-h\n     1: --pre=x");
      expect((await search(root, { pattern: "--pre=x" }, PATH)).text).toContain("dash/--pre=x");
    }
    expect(existsSync(root.at("canary"))).toBe(false);
  });

  test.skipIf(ripgrep === null)("reads no configuration, of the user or of the project", async () => {
    await using root = await large();
    const config = await root.write("ws/.ripgreprc", "--invert-match\n");
    const before = process.env["RIPGREP_CONFIG_PATH"];
    process.env["RIPGREP_CONFIG_PATH"] = config;
    try {
      expect((await search(root, { query: "needle" }, ripgrep ?? "")).data).toEqual((await search(root, { query: "needle" })).data);
    } finally {
      if (before === undefined) delete process.env["RIPGREP_CONFIG_PATH"];
      else process.env["RIPGREP_CONFIG_PATH"] = before;
    }
  });
});

test("search counts what it could not read", async () => {
  await using root = await tree({ "a.txt": "hit\n" });
  // Folder in folder until the path is longer than the system takes.
  const dig =
    'cd "$1"; n=$(printf "d%.0s" $(seq 200)); for i in $(seq 30); do mkdir "$n" && cd -P "$n" || break; done 2>/dev/null; echo hit > f';
  execFileSync("sh", ["-c", dig, "sh", root.at("ws")], { stdio: "ignore" });
  try {
    const { text, data } = await search(root, { query: "hit" });
    expect(data).toMatchObject({ matches: 1, skipped: { unreadable: 1 } });
    expect(text).toContain("1 file or folder could not be read.");
  } finally {
    execFileSync("rm", ["-rf", root.at("ws")]);
  }
});
