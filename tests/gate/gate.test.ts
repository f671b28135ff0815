import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type GatedTools, inputDigest } from "../../lib/gate/authorize.ts";
import { createGate, type RuledTool } from "../../lib/gate/gate.ts";
import type { Hook, InertHook } from "../../lib/gate/hook.ts";
import { createHooks } from "../../lib/gate/hooks.ts";
import type { Mode } from "../../lib/session/outcome.ts";
import { runHook } from "../fixtures/gate/run-hook.ts";

let workspace: string;
beforeEach(() => void (workspace = mkdtempSync(join(tmpdir(), "orrery-gate-"))));
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const never = new AbortController().signal;

function toolOf(more: Partial<RuledTool> = {}): RuledTool {
  return {
    name: "deploy",
    read_only: false,
    approval: "destructive",
    check: ({ value }) => "bad" in value ? [{ pointer: "/bad", message: "is not allowed" }] : [],
    ...more,
  };
}

function toolsOf(tool: RuledTool, whyNot: GatedTools["whyNot"] = () => undefined): GatedTools<RuledTool> {
  return { find: (name) => name === tool.name ? tool : undefined, closest: () => [], whyNot };
}

function hook(command: string, more: Partial<Hook> = {}): Hook {
  return { event: "PreToolUse", matcher: null, command, timeout_ms: 10_000, scope: "user", where: "test", ...more };
}

interface Setting {
  readonly hooks?: readonly Hook[];
  readonly inert?: readonly InertHook[];
  readonly allow?: readonly string[];
}

function gateOf({ hooks = [], inert = [], allow = [] }: Setting) {
  const context = { workspace, env: { PATH: process.env["PATH"] ?? "" }, shell: "/bin/bash" };
  return createGate({ hooks: createHooks({ active: hooks, inert }, runHook, context), always_allow: new Set(allow) });
}

async function ask(setting: Setting, mode: Mode = "normal", tool = toolOf(), text = "{}", name = tool.name) {
  return (await gateOf(setting).authorize({ name, arguments: text, mode, tools: toolsOf(tool) }, never)).verdict;
}

const reached = () => existsSync(join(workspace, "reached"));
const witness = hook("touch reached");

describe("gate.allowsUnasked()", () => {
  const unasked = (setting: Setting, mode: Mode, tool: RuledTool, text = "{}") =>
    gateOf(setting).allowsUnasked({ name: tool.name, arguments: text, mode, tools: toolsOf(tool) });

  test("gives the input that authorize() would allow, and only where that asks nobody", async () => {
    const modes: readonly Mode[] = ["normal", "auto-accept", "architect", "yolo", "plan", "headless"];
    for (const mode of modes) {
      for (const approval of ["never", "destructive", "always"] as const) {
        for (const allow of [[], ["deploy"]]) {
          for (const text of ['{"b":1.0,"a":2}', '{"bad":1}', "[]"]) {
            const tool = toolOf({ approval, read_only: true });
            const verdict = await ask({ allow }, mode, tool, text);
            const expected = verdict.kind === "allowed" ? verdict.input : null;
            const question = gateOf({ allow }).question({ name: tool.name, arguments: text, mode, tools: toolsOf(tool) });
            expect([mode, approval, allow, text, question]).toEqual([mode, approval, allow, text, verdict.kind === "ask" ? verdict : null]);
            expect([mode, approval, allow, text, unasked({ allow }, mode, tool, text)]).toEqual([mode, approval, allow, text, expected]);
          }
        }
      }
    }
  });

  test("allows nothing that a hook has a say in, that is not there, or that cannot be weighed", () => {
    const tool = toolOf({ approval: "never", read_only: true });
    const alias = { ...tool, name: "mcp__foo_bar__run_1a2b", rule_name: "mcp__foo.bar__run" };
    const faulty = {
      ...tool,
      check: () => {
        throw new Error("a fault of the schema");
      },
    };
    expect(unasked({}, "yolo", tool)).toEqual({ value: {}, text: "{}" });
    expect(unasked({ hooks: [hook("true")] }, "yolo", tool)).toBeNull();
    expect(unasked({ hooks: [hook("true", { event: "PostToolUse" })] }, "yolo", tool)).toBeNull();
    expect(unasked({ hooks: [hook("true", { matcher: "mcp__foo.bar__*" })] }, "yolo", alias)).toBeNull();
    expect(unasked({ inert: [{ hook: hook("true"), reason: "not trusted" }] }, "yolo", tool)).toBeNull();
    expect(gateOf({}).allowsUnasked({ name: "other", arguments: "{}", mode: "yolo", tools: toolsOf(tool) })).toBeNull();
    expect(unasked({}, "yolo", faulty)).toBeNull();
    const asking = toolOf({ approval: "always", read_only: false });
    const question = (setting: Setting) =>
      gateOf(setting).question({ name: asking.name, arguments: "{}", mode: "normal", tools: toolsOf(asking) });
    expect([question({})?.kind, question({ hooks: [hook("true")] })]).toEqual(["ask", null]);
  });
});

describe("gate.authorize()", () => {
  test("runs no hook for a call that is refused without it", async () => {
    const hooks = [witness];
    expect(await ask({ hooks }, "yolo", toolOf(), "{}", "other")).toMatchObject({ kind: "denied", by: "unknown_tool" });
    expect(await ask({ hooks }, "yolo", toolOf(), "{")).toMatchObject({ kind: "denied", by: "malformed" });
    expect(await ask({ hooks }, "yolo", toolOf(), '{"bad":1}')).toMatchObject({ kind: "denied", by: "schema" });
    expect(await ask({ hooks }, "plan")).toMatchObject({ kind: "denied", by: "mode" });
    expect(await ask({ hooks, inert: [{ hook: witness, reason: "not trusted" }] }, "yolo")).toMatchObject({ kind: "denied", by: "trust" });
    expect(reached()).toBe(false);
  });

  test("asks the hooks of every call that could run, in every mode in which it can, before it asks a person", async () => {
    const deny = { hooks: [hook("echo no >&2; exit 1")], allow: ["deploy"] };
    for (const mode of ["normal", "auto-accept", "architect", "yolo"] as const) {
      for (const approval of ["never", "always", "destructive"] as const) {
        expect([mode, approval, await ask(deny, mode, toolOf({ approval }))]).toEqual([mode, approval, {
          kind: "denied",
          by: "hook",
          reason: "no",
        }]);
      }
    }
    expect(await ask(deny, "plan", toolOf({ approval: "never", read_only: true }))).toMatchObject({ by: "hook" });
    expect(await ask(deny, "headless", toolOf({ approval: "never" }))).toMatchObject({ by: "hook" });
  }, 20_000);

  test("takes no hook's allow for a person's", async () => {
    expect(await ask({ hooks: [hook(`echo '{"action":"allow"}'`)] })).toMatchObject({
      kind: "ask",
      reason: '"deploy" needs approval in mode normal',
    });
  });

  test("skips the prompt of a mode for what is always allowed, and nothing else", async () => {
    const allow = ["deploy"];
    expect(await ask({ allow })).toMatchObject({ kind: "allowed", by: "always_allow" });
    expect(await ask({ allow }, "normal", toolOf({ approval: "always" }))).toMatchObject({ kind: "allowed", by: "always_allow" });
    expect(await ask({ allow }, "auto-accept")).toMatchObject({ kind: "allowed", by: "mode" });
    expect(await ask({ allow }, "plan")).toMatchObject({ kind: "denied", by: "mode" });
    expect(await ask({ allow, hooks: [hook(`echo '{"action":"require_approval","reason":"costly"}'`)] }, "yolo")).toMatchObject({
      kind: "ask",
      reason: "costly",
    });
  });

  test("grants by the raw name of an MCP tool, and by no name that two of them share", async () => {
    const alias = toolOf({ name: "mcp__foo_bar__run_1a2b", rule_name: "mcp__foo.bar__run" });
    expect(await ask({ allow: ["mcp__foo.bar__run"] }, "normal", alias)).toMatchObject({ kind: "allowed" });
    expect(await ask({ allow: ["mcp__foo_bar__run", "mcp__foo_bar__run_1a2b"] }, "normal", alias)).toMatchObject({ kind: "ask" });
    expect(await ask({ allow: ["mcp__a__b__c"] }, "normal", toolOf({ rule_name: "mcp__a__b__c", rule_ambiguous: true }))).toMatchObject({
      kind: "ask",
    });
    expect(await ask({ hooks: [hook("exit 1", { matcher: "mcp__foo.bar__*" })] }, "yolo", alias)).toMatchObject({ by: "hook" });
  });

  test("lets exactly the input run that the hooks left, and binds a person's answer to it", async () => {
    const hooks = [hook(`echo '{"action":"modify","payload":{"input":{"n":2.0}}}'`)];
    expect(await ask({ hooks }, "yolo")).toEqual({ kind: "allowed", by: "hook", input: { value: { n: 2 }, text: '{"n":2.0}' } });
    const verdict = await ask({ hooks }, "normal");
    expect(verdict).toMatchObject({
      kind: "ask",
      input: { text: '{"n":2.0}' },
      input_digest: inputDigest({ value: {}, text: '{"n":2.0}' }),
    });
  });

  test("checks what a hook made of the input against the schema again", async () => {
    const verdict = await ask({ hooks: [hook(`echo '{"action":"modify","payload":{"input":{"bad":1}}}'`)] }, "yolo");
    expect(verdict).toEqual({
      kind: "denied",
      by: "schema",
      reason: 'A hook changed the input of "deploy" to one that does not fit its schema. It was not run:\n- /bad: is not allowed',
    });
  });

  test("says which guard may not run, and lets calls through that it does not cover", async () => {
    const inert = [{ hook: hook("true", { matcher: "dep*", scope: "project" }), reason: "this workspace is not trusted" }];
    expect(await ask({ inert }, "yolo")).toEqual({
      kind: "denied",
      by: "trust",
      reason: '"deploy" was not run: it is guarded by the hook test, which may not run here (this workspace is not trusted).',
    });
    expect(await ask({ inert }, "yolo", toolOf({ name: "read" }))).toMatchObject({ kind: "allowed" });
  });

  test("refuses whatever goes wrong in it", async () => {
    const broken = toolOf({
      check: () => {
        throw new Error("bug");
      },
    });
    expect(await ask({}, "yolo", broken)).toEqual({
      kind: "denied",
      by: "schema",
      reason: "This call could not be checked, so it was not run: bug",
    });
    const tools = {
      ...toolsOf(toolOf()),
      find: () => {
        throw new Error("bug");
      },
    };
    expect((await gateOf({}).authorize({ name: "x", arguments: "{}", mode: "yolo", tools }, never)).verdict).toMatchObject({
      kind: "denied",
    });
  });

  test("gives the reason of a tool that is known and may not be called", async () => {
    const tools = toolsOf(toolOf({ name: "other" }), () => ({ by: "switch", reason: "off" }));
    expect((await gateOf({}).authorize({ name: "deploy", arguments: "{}", mode: "yolo", tools }, never)).verdict).toEqual({
      kind: "denied",
      by: "switch",
      reason: "off",
    });
  });
});
