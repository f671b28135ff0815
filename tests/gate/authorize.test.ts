import { describe, expect, test } from "bun:test";
import { type GatedTool, inputDigest } from "../../lib/gate/authorize.ts";
import { createGate } from "../../lib/gate/gate.ts";
import { createHooks } from "../../lib/gate/hooks.ts";
import { leaveOf, type Policy } from "../../lib/gate/mode.ts";
import type { Mode } from "../../lib/session/outcome.ts";

function toolOf(
  approval: Policy,
  read_only: boolean,
  problems: readonly { pointer: string; message: string; leads?: true }[] = [],
): GatedTool {
  return { name: "look", approval, read_only, check: () => problems };
}

const noHooks = createHooks({ active: [], inert: [] }, () => Promise.reject(new Error("There is no hook to run")), {
  workspace: "/",
  env: {},
  shell: "/bin/sh",
});
const gate = createGate({ hooks: noHooks, always_allow: new Set() });

async function ask(tool: GatedTool | undefined, text: string, mode: Mode = "normal", name = "look") {
  const tools = { find: (wanted: string) => wanted === tool?.name ? tool : undefined, closest: () => ["look"], whyNot: () => undefined };
  return (await gate.authorize({ name, arguments: text, mode, tools }, new AbortController().signal)).verdict;
}

describe("a gate without hooks", () => {
  test("allows the canonical input of what was asked", async () => {
    expect(await ask(toolOf("never", true), '{ "b":1.0, "a":2 }')).toEqual({
      kind: "allowed",
      by: "policy",
      input: { value: { a: 2, b: 1 }, text: '{"a":2,"b":1.0}' },
    });
  });

  test("tells an unknown tool from bad JSON from a bad input", async () => {
    expect(await ask(undefined, "{", "normal", "lok")).toMatchObject({ kind: "denied", by: "unknown_tool" });
    expect(await ask(toolOf("never", true), "{")).toMatchObject({ kind: "denied", by: "malformed" });
    expect(await ask(toolOf("never", true, [{ pointer: "/a", message: "must be a string" }]), "{}")).toMatchObject({
      kind: "denied",
      by: "schema",
    });
  });

  test("names a near tool and every violation", async () => {
    const unknown = await ask(undefined, "{}", "normal", "lok");
    expect(unknown.kind === "denied" ? unknown.reason : "").toContain('Did you mean "look"?');
    const problems = [{ pointer: "/a", message: "must be a string" }, { pointer: "", message: 'needs "b"' }];
    const bad = await ask(toolOf("never", true, problems), "{}");
    expect(bad.kind === "denied" ? bad.reason.split("\n").slice(1) : []).toEqual(["- /a: must be a string", '- (input): needs "b"']);
    const led = await ask(toolOf("never", true, [{ pointer: "/b", message: "b is missing", leads: true }, ...problems]), "{}");
    expect(led.kind === "denied" ? led.reason.split("\n").filter((line) => !line.startsWith("-")) : []).toEqual([
      "b is missing",
      expect.stringContaining("does not fit the schema"),
    ]);
  });

  test("tells what a check found and no less", async () => {
    const problems = Array.from({ length: 101 }, (_, index) => ({ pointer: `/p${index}`, message: "must not be there" }));
    const bad = await ask(toolOf("never", true, problems), "{}");
    expect(bad.kind === "denied" ? bad.reason.split("\n").slice(1) : []).toEqual(
      problems.map(({ pointer, message }) => `- ${pointer}: ${message}`),
    );
  });

  test("allows the input that the tool completed: what is approved is what runs", async () => {
    const tool = { ...toolOf("never", true), complete: () => ({ value: { a: 1, size: 9 }, text: '{"a":1,"size":9}' }) };
    expect(await ask(tool, '{"a":1,"unknown":2}')).toMatchObject({ kind: "allowed", input: { text: '{"a":1,"size":9}' } });
  });

  test("asks with the digest of exactly this input", async () => {
    const verdict = await ask(toolOf("always", false), '{"a":1.0}');
    expect(verdict).toMatchObject({ kind: "ask", input_digest: inputDigest({ value: {}, text: '{"a":1.0}' }) });
  });
});

describe("leaveOf()", () => {
  test("pins the matrix of approval and mode", () => {
    const modes: readonly Mode[] = ["normal", "auto-accept", "architect", "yolo", "plan", "headless"];
    const table = modes.map((
      mode,
    ) => [mode, ...(["never", "destructive", "always"] as const).map((policy) => leaveOf(mode, policy, policy === "never"))]);
    expect(table).toEqual([
      ["normal", "run", "ask", "ask"],
      ["auto-accept", "run", "run", "ask"],
      ["architect", "run", "run", "ask"],
      ["yolo", "run", "run", "run"],
      ["plan", "run", "refuse", "refuse"],
      ["headless", "run", "refuse", "refuse"],
    ]);
  });

  test("lets plan mode run only what is also read-only", () => {
    expect(leaveOf("plan", "never", false)).toBe("refuse");
    expect(leaveOf("headless", "never", false)).toBe("run");
  });
});
