import { describe, expect, test } from "bun:test";
import { cmdArguments, isCmd, personalDirectory, quoteForCmd, shellCommand } from "../../../lib/tools/nanocoder/windows.ts";

describe("cmd.exe", () => {
  test("gets values in double quotes, embedded ones doubled", () => {
    expect(quoteForCmd('a & b | "c" ^ > <!x!')).toEqual({ kind: "quoted", text: '"a & b | ""c"" ^ > <!x!"' });
    expect(quoteForCmd("")).toEqual({ kind: "quoted", text: '""' });
  });

  test("gets no value that it would expand or split", () => {
    for (const value of ["%PATH%", "a\nb", "a\rb", "a\0b"]) expect(quoteForCmd(value).kind).toBe("refused");
  });

  test("is told to change nothing", () => {
    expect(cmdArguments('dir "x"')).toEqual(["/d", "/v:off", "/s", "/c", '"dir "x""']);
    for (const shell of ["cmd", "CMD.EXE", "C:\\Windows\\System32\\cmd.exe", "/mnt/c/cmd.exe"]) expect(isCmd(shell)).toBe(true);
    for (const shell of ["/bin/sh", "cmdx", "pwsh.exe"]) expect(isCmd(shell)).toBe(false);
  });
});

test("a shell that is named is that shell on every platform; else it is the platform's", () => {
  const windows = { platform: "win32", env: {}, hasBash: false };
  expect(shellCommand("bash", "x", windows)).toEqual(["/bin/bash", "-c", "x"]);
  expect(shellCommand(null, "x", windows)).toEqual(["cmd.exe", "/d", "/v:off", "/s", "/c", '"x"']);
  expect(shellCommand(null, "x", { ...windows, env: { ComSpec: "C:\\cmd.exe" } })[0]).toBe("C:\\cmd.exe");
  expect(shellCommand(null, "x", { ...windows, env: { ComSpec: "C:\\sh.exe" } })).toEqual(["C:\\sh.exe", "-c", "x"]);
  expect(shellCommand(null, "x", { platform: "linux", env: {}, hasBash: true })[0]).toBe("/bin/bash");
  expect(shellCommand(null, "x", { platform: "linux", env: {}, hasBash: false })[0]).toBe("/bin/sh");
});

test("the personal folder is where Nanocoder has it on each platform", () => {
  expect(personalDirectory("linux", {}, "/home/me")).toBe("/home/me/.config/nanocoder/tools");
  expect(personalDirectory("linux", { XDG_CONFIG_HOME: "/x" }, "/home/me")).toBe("/x/nanocoder/tools");
  expect(personalDirectory("darwin", { XDG_CONFIG_HOME: "/x" }, "/Users/me")).toBe("/Users/me/Library/Preferences/nanocoder/tools");
  expect(personalDirectory("win32", { APPDATA: "C:\\A" }, "C:\\me")).toBe("C:\\A\\nanocoder\\tools");
  expect(personalDirectory("win32", {}, "C:\\me")).toBe("C:\\me\\AppData\\Roaming\\nanocoder\\tools");
  expect(personalDirectory("linux", { NANOCODER_CONFIG_DIR: "/n" }, null)).toBe("/n/tools");
  expect(personalDirectory("linux", {}, null)).toBe(null);
});
