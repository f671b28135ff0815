import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseNanocoderSettings } from "../../lib/config/nanocoder-settings.ts";
import { parseSettings } from "../../lib/config/settings-file.ts";
import type { SettingsOrigin } from "../../lib/config/settings-report.ts";
import { closest } from "../../lib/tools/nearest.ts";

const nearest = (name: string, known: readonly string[]) => closest(name, known, 1)[0] ?? null;
const user: SettingsOrigin = { path: "/u/settings.json", scope: "user", dialect: "orrery" };
const project: SettingsOrigin = { path: "/w/.orrery/settings.json", scope: "project", dialect: "orrery" };

function read(settings: unknown, origin = user) {
  return parseSettings(typeof settings === "string" ? settings : JSON.stringify(settings, null, 1), origin, nearest);
}

function said(settings: unknown, origin = user): readonly string[] {
  return read(settings, origin).diagnostics.map(({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`);
}

describe("parseSettings()", () => {
  test("gives every leaf its key, file and place", () => {
    const { layer } = read('{\n  "model": "local/x",\n  "limits": {"max_steps": 9}\n}');
    expect(layer.plain.model).toEqual({
      value: "local/x",
      source: { scope: "user", key: "model", path: "/u/settings.json", position: { line: 2, column: 3 } },
    });
    expect(layer.plain["limits.max_steps"]).toMatchObject({
      value: 9,
      source: { key: "limits.max_steps", position: { line: 3, column: 14 } },
    });
  });

  test("says everything that is wrong at once, with place and what would be right", () => {
    const messages = said(
      '{\n "tools": {"bash": true},\n "mode": "fast",\n "limits": {"max_steps": 0.5},\n "hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}\n}',
    );
    expect(messages).toEqual([
      'error 3:2 "mode" must be one of normal, auto-accept, architect, yolo, plan, headless, not "fast"',
      'error 4:13 "limits.max_steps" must be a whole number, not 0.5',
      'error 2:12 "tools.bash" must be "on" or "off", not true',
      'error 5:32 "hooks.Stop[0].hooks[0].command" is missing',
    ]);
  });

  test("is strict about types: no string is a number and no word a switch but on and off", () => {
    for (
      const wrong of [
        { speculation: true },
        { speculation: "yes" },
        { limits: { max_steps: "5" } },
        { trust: true },
        { trust: ["code"] },
        { alwaysAllow: "bash" },
        { tools: { bash: "Off" } },
        { tools: [] },
        { base_url: "file:///x" },
        [],
      ]
    ) {
      expect([wrong, read(wrong).diagnostics.map(({ severity }) => severity)]).toEqual([wrong, ["error"]]);
    }
  });

  test("warns of an unknown key with the nearest known one, wherever it stands", () => {
    expect(said({ modell: "x", limits: { max_step: 1 } })).toEqual([
      'warning 2:2 Unknown key "modell" is ignored; did you mean "model"?',
      'warning 4:3 Unknown key "limits.max_step" is ignored; did you mean "max_steps"?',
    ]);
    const hook = { command: "true", timeout_ms: 5 };
    expect(said({ hooks: { PreToolUse: [{ match: "x", hooks: [hook] }] } }).join()).toContain(
      '"hooks.PreToolUse[0].match" is ignored; did you mean "matcher"?',
    );
    expect(said({ hooks: { PreToolUse: [{ hooks: [hook] }] } }).join()).toContain(
      '"hooks.PreToolUse[0].hooks[0].timeout_ms" is ignored; did you mean "timeoutMs"?',
    );
  });

  test("does not shout about what a Stella file says to Stella", () => {
    const stella: SettingsOrigin = { path: "/w/.stella/settings.json", scope: "project", dialect: "stella" };
    expect(said({ providers: {}, agent_engine_config: {} }, stella)).toEqual([
      'info 2:2 Orrery does not read "providers", "agent_engine_config"',
    ]);
    expect(said({ hook: {} }, stella).join()).toContain('did you mean "hooks"?');
  });

  test("warns of an event that never fires", () => {
    const groups = [{ hooks: [{ command: "true" }] }];
    expect(said({ hooks: { PreToolUSe: groups, PreCompact: groups } }).map((text) => text.split(" ").slice(2).join(" "))).toEqual([
      '"PreToolUSe" is not an event, so its hooks never run; did you mean "PreToolUse"?',
      'Hooks of "PreCompact" never run here',
    ]);
  });

  test("flattens hooks in the order of the file, with the default and the longest timeout", () => {
    const hooks = {
      PreToolUse: [{ matcher: "a", hooks: [{ command: "1" }, { type: "command", command: "2", timeoutMs: 5 }] }, {
        hooks: [{ command: "3", timeoutMs: 900_000 }],
      }],
    };
    const { layer, diagnostics } = read({ hooks });
    expect(layer.hooks.map(({ matcher, command, timeout_ms }) => [matcher, command, timeout_ms])).toEqual([["a", "1", 60_000], [
      "a",
      "2",
      5,
    ], [null, "3", 600_000]]);
    expect(layer.hooks[1]?.source.key).toBe("hooks.PreToolUse[0].hooks[1]");
    expect(diagnostics.map(({ code }) => code)).toEqual(["hook_timeout"]);
  });

  test("keeps switches of tools with any name", () => {
    const { layer } = read('{"tools": {"constructor": "off", "__proto__": "off", "*": "on"}}');
    expect(layer.switches.map(({ key, state }) => [key, state])).toEqual([["constructor", "off"], ["__proto__", "off"], ["*", "on"]]);
  });

  test("leaves out of a project's file what only its user may say, and says so", () => {
    const { layer, diagnostics } = read(
      { trust: "all", serve: { host: "0.0.0.0" }, tools: { env_allow: ["X"], env_withhold: ["Y"] } },
      project,
    );
    expect(layer).toMatchObject({ plain: {}, env_allow: [], env_withhold: [] });
    expect(layer.trust).toBeUndefined();
    expect(diagnostics.map(({ code }) => code)).toEqual(["out_of_place", "out_of_place", "out_of_place", "out_of_place"]);
  });

  test("takes paths as seen from the file", () => {
    expect(read({ limits: { prices: "prices.json" } }).layer.plain["limits.prices"]?.value).toBe("/u/prices.json");
  });

  test("gives an empty layer and an error for whatever is no settings, and never throws", () => {
    const keys = fc.constantFrom(
      "model",
      "tools",
      "hooks",
      "PreToolUse",
      "matcher",
      "command",
      "trust",
      "limits",
      "alwaysAllow",
      "serve",
      "x",
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(keys, tie("node"), { maxKeys: 4 }),
      ),
    })).node;
    fc.assert(
      fc.property(fc.oneof(fc.string(), value.map((each) => JSON.stringify(each))), (text) => {
        const { layer, diagnostics } = read(text, project);
        const wrong = diagnostics.some(({ severity }) => severity === "error");
        if (wrong) expect([layer.plain, layer.hooks, layer.switches]).toEqual([{}, [], []]);
        expect(diagnostics.every(({ line, column }) => line >= 1 && column >= 1)).toBe(true);
      }),
      { seed: 11, numRuns: 1000 },
    );
  });
});

describe("parseNanocoderSettings()", () => {
  const read = (value: unknown) => parseNanocoderSettings(JSON.stringify(value), { path: "/w/agents.config.json", scope: "project" });

  test("reads two keys and nothing else, and calls execute_bash bash", () => {
    const { layer, diagnostics } = read({
      nanocoder: { alwaysAllow: ["execute_bash", "x"], disabledTools: ["y"], providers: [] },
      model: "z",
      hooks: 1,
    });
    expect(layer.always_allow.map(({ value }) => value)).toEqual(["bash", "x"]);
    expect(layer.disabled_tools.map(({ value, source }) => [value, source.key])).toEqual([["y", "nanocoder.disabledTools"]]);
    expect([layer.plain, layer.hooks, diagnostics]).toEqual([{}, [], []]);
  });

  test("drops a grant that is no name, and says so", () => {
    const { layer, diagnostics } = read({ nanocoder: { alwaysAllow: ["a", 1, null], disabledTools: ["b"] } });
    expect([layer.always_allow.map(({ value }) => value), layer.disabled_tools.map(({ value }) => value)]).toEqual([["a"], ["b"]]);
    expect(diagnostics.map(({ severity }) => severity)).toEqual(["warning", "warning"]);
    expect(read({ nanocoder: { alwaysAllow: "a" } }).diagnostics.map(({ severity }) => severity)).toEqual(["warning"]);
  });

  test("takes a denial that cannot be read for a fault", () => {
    for (const disabledTools of ["bash", { bash: true }, ["bash", 1], null]) {
      const { layer, diagnostics } = read({ nanocoder: { alwaysAllow: ["a"], disabledTools } });
      expect([disabledTools, layer.always_allow, diagnostics.map(({ severity, line }) => [severity, line])])
        .toEqual([disabledTools, [], [["error", 1]]]);
    }
  });
});
