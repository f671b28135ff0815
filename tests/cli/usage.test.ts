/** Pins what a line that cannot be understood gives: exit 2, a sentence on standard error, nothing on standard output. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runOrrery } from "../host/orrery.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "orrery-usage-"));
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

describe("the command line refuses", () => {
  const wrong: readonly (readonly [title: string, args: readonly string[], says: string])[] = [
    ["a command it does not know, and proposes one", ["sesions", "list"], "sessions"],
    ["an option it does not know", ["run", "--bogus", "x"], "--bogus"],
    ["a second prompt", ["run", "two", "words"], '"words"'],
    ["a step limit of none", ["run", "--max-steps", "0", "x"], "whole number from 1"],
    ["a step limit that is no number", ["run", "--max-steps", "1e3", "x"], "whole number from 1"],
    ["a timeout that no timer can hold", ["run", "--timeout", "99999999", "x"], "seconds"],
    ["a mode that is not one", ["run", "--mode", "careful", "x"], "careful"],
    ["an output format that is not one", ["run", "--output-format", "xml", "x"], "xml"],
    ["events in an output that has no place for them", ["run", "--events", "x"], "--output-format json"],
    ["an empty argument as a prompt", ["run", " \n "], "empty prompt"],
    ["an empty prompt on standard input", ["run", "-"], "standard input has no text"],
    ["no prompt at all", ["run"], "standard input has no text"],
    ["a session without its id", ["sessions", "show"], "id"],
    ["a call without the tool's name", ["tools", "call"], "name"],
    ["a folder to list", ["tools", "./mytools"], "--validate ./mytools"],
    ["a folder to check that is not there", ["tools", "--validate", "./missing"], "does not exist"],
    ["a folder to check whose name is empty", ["tools", "--validate", ""], "must not be empty"],
    ["a format of tools that is not one", ["tools", "create", "hello", "--format", "xml"], "xml"],
    ["an event to fork at that none has as its number", ["sessions", "fork", "ses_1", "--at", "0"], "whole number from 1"],
  ];
  for (const [title, args, says] of wrong) {
    test(title, async () => {
      const { code, stdout, stderr } = await runOrrery(args, { home });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(says);
      expect(stderr.startsWith("orrery: Cannot ")).toBe(true);
    });
  }

  const named: readonly (readonly string[])[] = [
    ["run", "--workspace", "", "x"],
    ["run", "--workspace=", "x"],
    ["run", "--model", "", "x"],
    ["run", "--base-url", "", "x"],
    ["run", "--session", "", "x"],
    ["serve", "--workspace", ""],
    ["serve", "--host", ""],
    ["serve", "--token-file", ""],
    ["serve", "--allowed-host", ""],
    ["tools", "create", "x", "--workspace", ""],
    ["tools", "create", ""],
    ["tools", "call", ""],
    ["trust", ""],
    ["doctor", "--server", ""],
    ["man", "--output", ""],
    ["sessions", "import", ""],
    ["sessions", "show", ""],
    ["sessions", "resume", ""],
  ];
  for (const args of named) {
    test(`nothing at all where something is named: ${args.map((arg) => arg || '""').join(" ")}`, async () => {
      const { code, stdout, stderr } = await runOrrery(args, { home });
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(/^orrery: Cannot .*must not be empty: say which/)]);
    });
  }

  test("an empty prompt with the keys that json always has", async () => {
    const { code, stdout } = await runOrrery(["run", "--output-format", "json"], { home, input: "\n" });
    expect(code).toBe(2);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(Object.keys(report)).toEqual(
      ["schema_version", "status", "text", "session", "model", "steps", "calls", "usage", "speculation", "reason"],
    );
    expect(report).toMatchObject({ schema_version: 1, status: "failed", session: null });
  });
});

describe("a line that cannot be read is answered with where it says what is right", () => {
  const lines: readonly (readonly [args: readonly string[], help: string])[] = [
    [["frob"], "orrery --help"],
    [["--bogus"], "orrery --help"],
    [["-V", "x"], "orrery version --help"],
    [["help", "frob"], "orrery --help"],
    [["rnu", "x"], "orrery --help"],
    [["run", "--bogus"], "orrery run --help"],
    [["run", "-z"], "orrery run --help"],
    [["run", "a", "b", "c"], "orrery run --help"],
    [["run", "--timeout"], "orrery run --help"],
    [["run", "--timeout", "soon", "x"], "orrery run --help"],
    [["run", "--output-format", "xml", "x"], "orrery run --help"],
    [["tools", "--bogus"], "orrery tools --help"],
    [["tools", "create"], "orrery tools create --help"],
    [["sessions", "frob"], "orrery sessions --help"],
    [["sessions", "show"], "orrery sessions show --help"],
    [["completions", "ksh"], "orrery completions --help"],
    [["demo", "x"], "orrery demo --help"],
  ];
  for (const [args, help] of lines) {
    test(args.join(" "), async () => {
      const { code, stdout, stderr } = await runOrrery(args, { home });
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(/^orrery: Cannot read the command line: .+\n$/)]);
      expect(stderr.endsWith(` (see ${help})\n`)).toBe(true);
    });
  }

  test("a mode that is not one with those there are, and none of them is proposed, as it may let more run", async () => {
    for (const word of ["foo", "yol", "yoloo", "plane"]) {
      const { stderr } = await runOrrery(["run", "--mode", word, "x"], { home });
      expect(stderr).toContain(`--mode cannot be "${word}", only normal, auto-accept, architect, yolo, plan, headless`);
      expect(stderr).not.toContain("did you mean");
    }
  });

  test("a prompt without quotes with what it lacks", async () => {
    expect((await runOrrery(["run", "count", "the", "words"], { home })).stderr).toContain("a prompt of several words goes in quotes");
  });
});

describe("who asked for JSON gets it, whatever goes wrong", () => {
  const printed = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runOrrery(args, { home });
    return {
      code,
      output: stdout === "" ? null : JSON.parse(stdout) as Record<string, unknown>,
      said: stderr.replace(/^orrery: /, "").trim(),
    };
  };

  const objects: readonly (readonly [title: string, args: readonly string[]])[] = [
    ["an unknown command", ["sesions", "list", "--json"]],
    ["an unknown option", ["tools", "--bogus", "--json"]],
    ["a value that does not parse", ["sessions", "list", "--json", "--limit", "0"]],
    ["a missing argument", ["sessions", "show", "--json"]],
    ["an argument too many", ["version", "--json", "x"]],
    ["a session that is not there", ["sessions", "show", "--json", "ses_1"]],
    ["a folder that is not there", ["tools", "--validate", "./missing", "--json"]],
    ["a workspace that is not there", ["config", "--json", "--workspace", "./missing"]],
  ];
  for (const [title, args] of objects) {
    test(title, async () => {
      const { code, output, said } = await printed(...args);
      expect({ code, output }).toEqual({ code: 2, output: { schema_version: 1, error: { kind: "usage", message: said } } });
      expect(said).toContain("Cannot ");
    });
  }

  test("a run's object has the same keys, also if the line cannot be read", async () => {
    for (const format of [["-o", "json"], ["--output-format=json"], ["--outputFormat", "json"]]) {
      const { code, output, said } = await printed("run", ...format, "--bogus", "x");
      expect(code).toBe(2);
      expect(Object.keys(output ?? {})).toEqual(
        ["schema_version", "status", "text", "session", "model", "steps", "calls", "usage", "speculation", "reason"],
      );
      expect(output).toMatchObject({ status: "failed", reason: said });
    }
    expect((await printed("sessions", "resume", "ses_1", "-o", "json", "--mode", "x")).output).toMatchObject({ status: "failed" });
  });

  test("a stream of lines ends with one of type error, before and after it began", async () => {
    for (
      const args of [
        ["run", "-o", "stream-json", "--bogus", "x"],
        ["run", "-o", "stream-json", "--session", "ses_1", "x"],
        ["sessions", "resume", "-o", "stream-json", "ses_1"],
        ["sessions", "events"],
        ["sessions", "events", "ses_1"],
      ]
    ) {
      const { code, output, said } = await printed(...args);
      expect({ code, output }).toEqual({ code: 2, output: { type: "error", kind: "usage", message: said } });
    }
  });

  test("settings that cannot be read are of kind configuration", async () => {
    const { code, output } = await printed("run", "-o", "stream-json", "--model", "nonsense", "x");
    expect({ code, output }).toMatchObject({ code: 5, output: { type: "error", kind: "configuration" } });
  });

  test("what stands behind -- is no option", async () => {
    expect(await printed("run", "--bogus", "--", "--json")).toMatchObject({ code: 2, output: null });
  });
});

describe("the command line explains itself", () => {
  test("with help for every command, on standard output", async () => {
    for (
      const args of [
        ["--help"],
        ["-h"],
        ["help"],
        ["run", "-h"],
        ["tools", "--help"],
        ["sessions", "--help"],
        ["tools", "list", "--help"],
        ["tools", "call", "--help"],
        [
          "sessions",
          "events",
          "--help",
        ],
        ["trust", "--help"],
        ["config", "--help"],
        ["demo", "--help"],
      ]
    ) {
      const { code, stdout, stderr } = await runOrrery(args, { home });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain("USAGE");
    }
  }, 30_000);

  test("with a version in one line, and as JSON", async () => {
    const plain = await runOrrery(["version"], { home });
    expect(plain.stdout).toMatch(/^orrery \d+\.\d+\.\d+ \(\S+, (?:bun|deno) .+\)\n$/);
    for (const word of ["--version", "-v", "-V"]) expect((await runOrrery([word], { home })).stdout).toBe(plain.stdout);
    expect((await runOrrery(["-V", "--json"], { home })).stdout).toBe((await runOrrery(["version", "--json"], { home })).stdout);
    const { stdout } = await runOrrery(["version", "--json"], { home });
    expect(JSON.parse(stdout)).toMatchObject({ schema_version: 1, version: plain.stdout.split(" ")[1] });
  });

  test("with the help of a command also by help before it", async () => {
    for (const command of [["run"], ["tools"], ["tools", "create"], ["help"]]) {
      const [asked, usual] = await Promise.all([["help", ...command], [...command, "--help"]].map((args) => runOrrery(args, { home })));
      expect([command, asked]).toEqual([command, usual]);
    }
  }, 30_000);

  test("and has the licences of what it holds, or says where they are", async () => {
    const { code, stdout, stderr } = await runOrrery(["version", "--licenses"], { home });
    if (code === 0) expect(stdout).toMatch(/\nhono \d[\d.]* \(MIT\)/);
    else expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining("each package in node_modules has its own")]);
  });

  test("in colours that every terminal understands: no parameter is left empty", async () => {
    for (const args of [["--help"], ["run", "--help"]]) {
      const { stdout } = await runOrrery(args, { home, env: { FORCE_COLOR: "1" } });
      const codes = [...stdout.matchAll(/\x1b\[([^a-zA-Z]*)m/g)].map(([, code = ""]) => code);
      expect([codes.length > 0, codes.filter((code) => !/^\d+(?:;\d+)*$/.test(code))]).toEqual([true, []]);
    }
  });

  test("without colours unless a terminal or FORCE_COLOR wants them", async () => {
    expect((await runOrrery(["--help"], { home })).stdout).not.toContain("\x1b[");
    expect((await runOrrery(["--help"], { home, env: { FORCE_COLOR: "1" } })).stdout).toContain("\x1b[");
    expect((await runOrrery(["--help"], { home, env: { FORCE_COLOR: "1", NO_COLOR: "1" } })).stdout).not.toContain("\x1b[");
  });
});

test("a slip of the fingers is told of the command that is near, and another word of none", async () => {
  const said = async (word: string) => (await runOrrery([word], { home })).stderr;
  for (const [word, near] of [["rnu", "run"], ["sesions", "sessions"], ["cofnig", "config"], ["demoo", "demo"]] as const) {
    expect(await said(word)).toContain(`did you mean \`${near}\`?`);
  }
  for (const word of ["nope", "frob", "foo"]) expect(await said(word)).not.toContain("did you mean");
}, 30_000);
