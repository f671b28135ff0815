import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { livenessOf, ownIdentity, parseStat, processStartTime } from "../../lib/platform/identity.ts";

const nobody = 2 ** 22 + 1;

describe("processStartTime()", () => {
  test("is the same each time for a process that runs, and another's for another", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    await once(child, "spawn");
    const pid = child.pid ?? nobody;
    const start = processStartTime(pid);
    expect(start).not.toBe(null);
    expect(processStartTime(pid)).toBe(start);
    expect(processStartTime(process.pid)).toBe(ownIdentity().start_time);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(processStartTime(pid)).toBe(null);
  });

  test("is null for what cannot be a process", () => {
    for (const pid of [nobody, 0, -1, 1.5, NaN, Infinity]) expect(processStartTime(pid)).toBe(null);
  });
});

describe("parseStat()", () => {
  const rest = "1 10 10 0 -1 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 3133440 359 184";

  test("finds field 22 behind a name with spaces, parentheses and line breaks", () => {
    for (const name of ["cat", "a b", "((x)", ") R 1 2", "x) S (y", "tmux: server", "a\nb) Z"]) {
      expect(parseStat(`42 (${name}) S ${rest}\n`)).toEqual({ start_time: "987654", zombie: false });
    }
  });

  test("knows a zombie, and refuses what is not such a line", () => {
    expect(parseStat(`42 (cat) Z ${rest}`)).toEqual({ start_time: "987654", zombie: true });
    for (const text of ["", "42", "42 (cat) S 1 2", `42 (cat) S ${"x ".repeat(30)}`]) expect(parseStat(text)).toBe(null);
  });
});

describe("livenessOf()", () => {
  test("tells a living process from a dead one and from another that has its pid now", () => {
    const own = ownIdentity();
    expect(livenessOf(own)).toBe("alive");
    expect(livenessOf({ ...own, start_time: "1" })).toBe("dead");
    expect(livenessOf({ ...own, pid: nobody })).toBe("dead");
  });

  test("does not judge a process of another place, or one whose start is not known", () => {
    const own = ownIdentity();
    expect(livenessOf({ ...own, place: `${own.place}x` })).toBe("unknown");
    expect(livenessOf({ ...own, pid: nobody, place: "" })).toBe("unknown");
    expect(livenessOf({ ...own, start_time: "" })).toBe("unknown");
  });

  test.skipIf(process.platform !== "linux")("counts a zombie as dead", async () => {
    // The shell's child ends when it is told to; the program that replaces the shell never waits for it.
    const script = "exec 3<&0; sh -c 'read line' <&3 & echo $!; exec sleep 60";
    const child = spawn("/bin/sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore"] });
    const [printed] = await once(child.stdout, "data") as [Uint8Array];
    const pid = Number(new TextDecoder().decode(printed));
    const seen = { ...ownIdentity(), pid, start_time: processStartTime(pid) ?? "" };
    expect(livenessOf(seen)).toBe("alive");
    child.stdin.end();
    while (livenessOf(seen) === "alive") await new Promise((resolve) => setTimeout(resolve, 5));
    expect(processStartTime(pid)).toBe(seen.start_time);
    expect(livenessOf(seen)).toBe("dead");
    child.kill("SIGKILL");
    await once(child, "exit");
  });
});

describe("ownIdentity()", () => {
  test("names this process and the same place to every process beside it", async () => {
    expect(ownIdentity().pid).toBe(process.pid);
    expect(ownIdentity()).toBe(ownIdentity());
    expect(ownIdentity().place).toMatch(/^[^/]+\/.+$/);
  });
});
