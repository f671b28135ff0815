import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expandSplit, headOf, interpretedArgv, readEnvCommand, readShebang } from "../../lib/platform/shebang.ts";

const argvOf = (line: string) => {
  const shebang = readShebang(line);
  return shebang === null ? null : interpretedArgv(shebang, "/p", ["a"]);
};

describe("a first line", () => {
  test("is an interpreter and at most one argument", () => {
    expect(argvOf("#!/bin/sh\n")).toEqual(["/bin/sh", "/p", "a"]);
    expect(argvOf("#! \t/bin/sh  -e  -u \t\nx")).toEqual(["/bin/sh", "-e  -u", "/p", "a"]);
    expect(argvOf("#!/usr/bin/env -S python3 -u")).toEqual(["/usr/bin/env", "-S python3 -u", "/p", "a"]);
    expect(argvOf("#!bin/x\n")).toEqual(["bin/x", "/p", "a"]);
    expect(argvOf("#!x\n")).toEqual(["./x", "/p", "a"]);
    expect(["", "#", " #!/bin/sh", "\u00ef\u00bb\u00bf#!/bin/sh", "#!\n/bin/sh"].map(argvOf)).toEqual([null, null, null, null, null]);
    expect(readShebang("#!/bin/sh\r\n")).toEqual({ interpreter: "/bin/sh\r", argument: null, endsWithCr: true });
  });

  test("is read as the system reads it", () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "orrery-shebang-")));
    try {
      const print = join(root, "print");
      const script = join(root, "script");
      writeFileSync(print, '#!/bin/sh\nfor each; do printf "%s\\n" "$each"; done\n');
      chmodSync(print, 0o755);
      for (const line of [`#!${print}`, `#! ${print}  -a  b \t`, `#!${print} é`, "#!print -x", "#!./print"]) {
        writeFileSync(script, `${line}\n`);
        chmodSync(script, 0o755);
        const { stdout, error } = spawnSync(script, ["last"], { cwd: root, encoding: "utf8" });
        expect(error).toBeUndefined();
        const shebang = readShebang(headOf(script));
        const [, ...args] = shebang === null ? [] : interpretedArgv(shebang, script, ["last"]);
        expect({ line, printed: stdout.trimEnd().split("\n") }).toEqual({ line, printed: [...args] });
      }
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  test("is unknown of what cannot be read", () => {
    expect([headOf("/nowhere/x"), headOf("/"), headOf("/dev/null")]).toEqual(["", "", ""]);
  });
});

describe("what env starts", () => {
  const commands: readonly (readonly [readonly string[], readonly string[]])[] = [
    [["-S", "printf %s a"], ["printf", "%s", "a"]],
    [["-Sprintf %s", "a"], ["printf", "%s", "a"]],
    [["-iS A=1 printf '%s' \"a b\" c\\_d \"e\\_f\" 'g\\_h'"], ["printf", "%s", "a b", "c", "d", "e f", "g\\_h"]],
    [["-S", "printf x\\c y"], ["printf", "x"]],
    [["-S", "printf %s a\\tb"], ["printf", "%s", "a\tb"]],
    [["-S-u HOME printf x"], ["printf", "x"]],
    [["--split-string=printf x", "-S"], ["printf", "x", "-S"]],
    [["-u", "HOME", "A=b c", "printf", "-S", "x"], ["printf", "-S", "x"]],
    [["-S", "-S 'printf x'"], ["printf", "x"]],
    [["-S", "printf x # y"], ["printf", "x"]],
    [["-S", "-C / printf x"], ["printf", "x"]],
    [["-S"], []],
    [["A=1"], []],
  ];

  test("is found behind its options, and what -S takes apart", () => {
    expect(commands.map(([words]) => readEnvCommand(words).argv)).toEqual(commands.map(([, argv]) => argv));
    expect(readEnvCommand(["-S", "PATH=/x -C /y z"])).toEqual({ path: "/x", folder: "/y", argv: ["z"] });
  });

  test("is what the system's env starts", () => {
    for (const [words, argv] of commands.filter(([, { length }]) => length > 0)) {
      const run = (args: readonly string[]) => spawnSync("/usr/bin/env", args, { encoding: "utf8" });
      const [theirs, ours] = [run(words), run(argv)];
      expect({ words, stdout: theirs.stdout }).toEqual({ words, stdout: ours.stdout });
      expect(ours.stdout).not.toBe("");
    }
  });

  test("is not looked for without end", () => {
    expect(expandSplit([`${"-S".repeat(50_000)}x`])).toBeNull();
    expect(readEnvCommand([`${"-S".repeat(50_000)}x`]).argv).toEqual([]);
  });
});
