import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Hook, type HookRunner, unmatchedHooks } from "../../lib/gate/hook.ts";
import { createHooks, type HookSet } from "../../lib/gate/hooks.ts";
import { canonicalText, type JsonObject } from "../../lib/session/json.ts";
import { runHook } from "../fixtures/gate/run-hook.ts";

let workspace: string;
beforeEach(() => void (workspace = mkdtempSync(join(tmpdir(), "orrery-hooks-"))));
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const never = new AbortController().signal;

function hook(command: string, more: Partial<Hook> = {}): Hook {
  return { event: "PreToolUse", matcher: null, command, timeout_ms: 10_000, scope: "user", where: "test", ...more };
}

function hooksOf(
  active: readonly Hook[],
  inert: HookSet["inert"] = [],
  run: HookRunner = runHook,
  env: Readonly<Record<string, string>> = {},
) {
  return createHooks({ active, inert }, run, { workspace, env: { PATH: process.env["PATH"] ?? "", ...env }, shell: "/bin/bash" });
}

function callOf(text: string, name = "deploy") {
  return { name, read_only: false, input: { value: JSON.parse(text) as JsonObject, text: canonicalText(text) } };
}

const before = async (hooks: readonly Hook[], text = "{}", signal = never) => await hooksOf(hooks).beforeCall(callOf(text), signal);
const read = (name: string) => readFileSync(join(workspace, name), "utf8");

describe("hooks before a call", () => {
  test("get the payload with the numbers as written, in the workspace, and then end of file", async () => {
    expect((await before([hook("cat > payload; pwd > where")], '{"n": 9007199254740993, "x": 3.0}')).kind).toBe("passed");
    expect(read("payload")).toBe(
      `{"event":"PreToolUse","cwd":${
        JSON.stringify(workspace)
      },"tool":{"name":"deploy","input":{"n":9007199254740993,"x":3.0},"read_only":false}}`,
    );
    expect(read("where").trim()).toBe(workspace);
  });

  test("read no profile, and the message of an objection is exactly its own", async () => {
    const noise = join(workspace, "noise.sh");
    writeFileSync(noise, "echo noise; echo noise >&2\n");
    for (const name of [".bashrc", ".bash_profile", ".profile"]) writeFileSync(join(workspace, name), "echo noise; echo noise >&2\n");
    const hooks = hooksOf([hook("echo no >&2; exit 1")], [], runHook, { HOME: workspace, BASH_ENV: noise, ENV: noise });
    expect(await hooks.beforeCall(callOf("{}"), never)).toEqual({ kind: "refused", reason: "no" });
  });

  test("object whatever the environment makes of a shell's words", async () => {
    const evil = {
      SHELLOPTS: "noexec",
      BASHOPTS: "extdebug",
      "BASH_FUNC_exit%%": "() {  :\n}",
      "BASH_FUNC_echo%%": "() {  :\n}",
      exit: "() { :; }",
      PS4: "$(exit 0)",
    };
    for (const [name, value] of Object.entries(evil)) {
      const hooks = hooksOf([hook("echo no >&2; exit 1")], [], runHook, { [name]: value });
      expect([name, await hooks.beforeCall(callOf("{}"), never)]).toEqual([name, { kind: "refused", reason: "no" }]);
    }
    await hooksOf([hook("env > environment")], [], runHook, { ...evil, OTHER: "1" }).beforeCall(callOf("{}"), never);
    expect(Object.keys(evil).filter((name) => read("environment").includes(`${name}=`))).toEqual([]);
    expect(read("environment")).toContain("OTHER=1");
  });

  test("run one after the other, and the first objection ends it", async () => {
    const result = await before([
      hook("sleep 0.2; echo 1 >> order"),
      hook("echo 2 >> order; echo stop >&2; exit 3"),
      hook("echo 3 >> order"),
    ]);
    expect(result).toEqual({ kind: "refused", reason: "stop" });
    expect(read("order")).toBe("1\n2\n");
  });

  test("refuse without a verdict, and say why there is none", async () => {
    const reasonOf = async (each: Hook, signal = never) => {
      const result = await before([each, hook("touch reached")], "{}", signal);
      return result.kind === "refused" ? result.reason : "passed";
    };
    expect(await reasonOf(hook("sleep 8; exit 1", { timeout_ms: 500 }))).toBe(
      'The PreToolUse hook test gave no verdict, so "deploy" was not run: it timed out after 500 ms',
    );
    expect(await reasonOf(hook("./guard.sh"))).toContain("it could not start (exit status 127)");
    expect(await reasonOf(hook("kill -SEGV $$"))).toContain("it was killed by SIGSEGV");
    expect(await reasonOf(hook(`echo '{"action":"maybe"}'`))).toContain("its decision is malformed");
    expect(await reasonOf(hook("true"), AbortSignal.abort())).toContain("it was cancelled");
    expect(await reasonOf(hook("exit 5"))).toContain("gave no reason");
    expect(existsSync(join(workspace, "reached"))).toBe(false);
  });

  test("refuse when they cannot be run at all", async () => {
    const broken = hooksOf([hook("true")], [], () => Promise.reject(new Error("no worker")));
    expect(await broken.beforeCall(callOf("{}"), never)).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("it could not be run: no worker"),
    });
    const noShell = createHooks({ active: [hook("true")], inert: [] }, runHook, { workspace, env: {}, shell: join(workspace, "no-shell") });
    expect(await noShell.beforeCall(callOf("{}"), never)).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("it could not start: "),
    });
  });

  test("each have their own clock: twelve calls at once all get the hook's own verdict", async () => {
    const hooks = hooksOf([hook("sleep 0.3; echo mine >&2; exit 1", { timeout_ms: 5000 })]);
    const results = await Promise.all(Array.from({ length: 12 }, () => hooks.beforeCall(callOf("{}"), never)));
    expect(results.filter((result) => result.kind === "refused" && result.reason === "mine").length).toBe(12);
  }, 20_000);

  test("need not read what they get, however much it is", async () => {
    expect((await before([hook("exit 0")], JSON.stringify({ text: "x".repeat(2_000_000) }))).kind).toBe("passed");
  });

  test("survive a megabyte of output that is no text", async () => {
    expect((await before([hook("head -c 1000000 /dev/zero | tr '\\0' '\\377'")])).kind).toBe("passed");
    const refused = await before([hook("head -c 1000000 /dev/zero | tr '\\0' '\\377' >&2; exit 1")]);
    expect(refused.kind === "refused" && refused.reason.isWellFormed() && refused.reason.length < 4200).toBe(true);
  });

  test("see what those before them changed", async () => {
    const change = (text: string) => `echo '{"action":"modify","payload":{"input":${text}}}'`;
    const result = await before([hook(change('{"n":1.0}')), hook("cat > second"), hook(change('{"n":2.0}'))], '{"n":0}');
    expect(result).toMatchObject({ kind: "passed", changed: true, input: { text: '{"n":2.0}' } });
    expect(JSON.parse(read("second")).tool.input).toEqual({ n: 1 });
    expect(result.kind === "passed" ? result.notices.map(({ code }) => code) : []).toEqual(["hook_changed_input", "hook_changed_input"]);
  });

  test("keep the input when a change says nothing, and say so", async () => {
    const result = await before([hook(`echo '{"action":"modify"}'`)], '{"n":0}');
    expect(result).toMatchObject({ kind: "passed", changed: false, input: { text: '{"n":0}' }, notices: [{ code: "hook_ignored" }] });
  });

  test("of the user have the last word over what a project's hook changed", async () => {
    const change = (text: string) => `echo '{"action":"modify","payload":{"input":${text}}}'`;
    const guard = hook("if grep -q evil; then echo evil is refused >&2; exit 1; fi");
    const rewriter = hook(change('{"target":"evil"}'), { scope: "project" });
    expect(await before([guard, rewriter], '{"target":"good"}')).toEqual({ kind: "refused", reason: "evil is refused" });
    const stubborn = hook(change('{"target":"good"}'));
    expect(await before([stubborn, rewriter])).toMatchObject({ kind: "refused", reason: expect.stringContaining("do not agree") });
    const counting = hook("echo x >> count");
    expect((await before([counting, rewriter])).kind).toBe("passed");
    expect(read("count")).toBe("x\nx\n");
  });

  test("that want approval do not keep a later one from objecting", async () => {
    const wants = hook(`echo '{"action":"require_approval","reason":"costly"}'`);
    expect(await before([wants, hook(`echo '{"action":"allow"}'`)])).toMatchObject({ kind: "passed", wanted_approval: "costly" });
    expect(await before([wants, hook("echo no >&2; exit 1")])).toEqual({ kind: "refused", reason: "no" });
  });

  test("objecting beat one that allows, in either order", async () => {
    const [allow, deny] = [hook(`echo '{"action":"allow"}'`), hook(`echo '{"action":"deny","reason":"mine"}'`, { scope: "organisation" })];
    expect(await before([allow, deny])).toEqual({ kind: "refused", reason: "mine" });
    expect(await before([deny, allow])).toEqual({ kind: "refused", reason: "mine" });
  });
});

describe("matchers", () => {
  const hooks = hooksOf.bind(null);
  test("decide which calls a hook is for", async () => {
    const set = hooks([hook("exit 1", { matcher: "mcp__github__*" }), hook("true", { event: "PostToolUse", matcher: "task_assign" })], [{
      hook: hook("true", { matcher: "bash" }),
      reason: "not trusted",
    }]);
    expect(["mcp__github__x", "task_assign", "bash", "notmcp__github__x", "Task_Assign", "read_file"].map((name) => set.covers(name)))
      .toEqual([true, true, true, false, false, false]);
    expect([set.silencedGuard("bash")?.reason, set.silencedGuard("mcp__github__x")]).toEqual(["not trusted", undefined]);
    expect((await set.beforeCall(callOf("{}", "mcp__github__x"), never)).kind).toBe("refused");
    expect((await set.beforeCall(callOf("{}", "mcp__github"), never)).kind).toBe("passed");
  });

  test("that fit no known tool are found, those of other events are not looked at", () => {
    const matchers = ["mcp__github", "", "Task_Assign", "task_*"].map((matcher) => hook("true", { matcher }));
    const found = unmatchedHooks([...matchers, hook("true"), hook("true", { event: "Stop", matcher: "x" })], [
      "mcp__github__x",
      "task_assign",
    ]);
    expect(found.map(({ matcher }) => matcher)).toEqual(["mcp__github", "", "Task_Assign"]);
  });
});

describe("hooks after a call", () => {
  test("get the result and whether it is an error, and cannot change it", async () => {
    const set = hooksOf([
      hook("cat > told", { event: "PostToolUse" }),
      hook(`echo '{"action":"deny","reason":"late"}'`, { event: "PostToolUse" }),
      hook("exit 3", { event: "PostToolUse" }),
      hook("sleep 9", { event: "PostToolUse", timeout_ms: 300 }),
    ]);
    const notices = await set.afterCall(callOf('{"n":1.0}'), { text: "boom\n", is_error: true }, never);
    expect(read("told")).toContain(
      '"tool":{"name":"deploy","input":{"n":1.0},"read_only":false},"toolResult":"boom\\n","toolIsError":true}',
    );
    expect(notices.map(({ code }) => code)).toEqual(["hook_failed", "hook_failed", "hook_failed"]);
    expect(notices[2]?.text).toContain("timed out");
  });
});

describe("hooks after a call of a turn that is to stop now", () => {
  test("are told all the same, and get a few seconds for it", async () => {
    const set = hooksOf([hook("cat > told", { event: "PostToolUse" }), hook("sleep 30", { event: "PostToolUse", timeout_ms: 60_000 })]);
    const notices = await set.afterCall(callOf("{}"), { text: "x", is_error: true }, AbortSignal.abort());
    expect(read("told")).toContain('"toolResult":"x"');
    expect(notices.map(({ text }) => text.includes("cancelled"))).toEqual([true]);
  }, 30_000);
});

describe("hooks at the start of a session", () => {
  test("add what they print, bounded, and those that fail add nothing", async () => {
    const event = "SessionStart";
    const set = hooksOf([
      hook("cat > start; echo 'be brief'", { event }),
      hook("echo secret; exit 1", { event }),
      hook("head -c 9000 /dev/zero | tr '\\0' x", { event }),
    ]);
    const { text, notices } = await set.atSessionStart(never);
    expect(text.startsWith("be brief\n\nxxx")).toBe(true);
    expect([text.length <= 4000, text.includes("omitted"), text.includes("secret")]).toEqual([true, true, false]);
    expect(notices.map(({ code }) => code)).toEqual(["hook_failed"]);
    expect(read("start")).toBe(JSON.stringify({ event, cwd: workspace }));
  });

  test("may add 4000 characters of any alphabet", async () => {
    const print = (count: number) => hook(`printf 'я%.0s' $(seq ${count})`, { event: "SessionStart" });
    const { text } = await hooksOf([print(4000)]).atSessionStart(never);
    expect(text).toBe("я".repeat(4000));
    const { text: cut } = await hooksOf([print(4001)]).atSessionStart(never);
    expect([cut.length <= 4000, cut.length > 3800, cut.includes("omitted")]).toEqual([true, true, true]);
  });
});

describe("hooks at the end of a turn", () => {
  const event = "Stop";
  const deny = hook(`cat > final; echo '{"action":"deny","reason":"tests fail"}'`, { event });

  test("hold it open by a decision, three times, and the last one is told", async () => {
    const set = hooksOf([deny]);
    const texts = [];
    for (const consultation of [1, 2, 3, 4]) texts.push((await set.atStop("done", consultation, never)).text);
    expect(texts).toEqual([
      "[stop hook] tests fail",
      "[stop hook] tests fail",
      "[stop hook] tests fail This is the last time that a hook holds this turn open.",
      null,
    ]);
    expect(JSON.parse(read("final"))).toEqual({ event, cwd: workspace, finalText: "done" });
  });

  test("do not hold it open by failing", async () => {
    const { text, notices } = await hooksOf([hook("echo no >&2; exit 1", { event }), hook("sleep 9", { event, timeout_ms: 300 })]).atStop(
      "done",
      1,
      never,
    );
    expect([text, notices.length]).toEqual([null, 2]);
  });
});
