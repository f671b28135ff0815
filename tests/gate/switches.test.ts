import { describe, expect, test } from "bun:test";
import { createSwitches, type SwitchRule, TOOL_GROUPS, type ToolGroup } from "../../lib/gate/switches.ts";

const rule = (key: string, state: "on" | "off"): SwitchRule => ({ key, state, where: `"tools.${key}" in /s.json:1:1` });

function isOff(tables: readonly (readonly SwitchRule[])[], name: string, group: ToolGroup): boolean {
  return createSwitches(tables, []).offReason({ name, group }) !== null;
}

describe("createSwitches()", () => {
  test("takes the most specific key: the tool, then its group, then everything", () => {
    const table = [rule("*", "off"), rule("file", "on"), rule("write_file", "off"), rule("mcp__a.b__x", "on")];
    expect(isOff([table], "bash", "shell")).toBe(true);
    expect(isOff([table], "read_file", "file")).toBe(false);
    expect(isOff([table], "write_file", "file")).toBe(true);
    expect(isOff([table], "mcp__a.b__x", "mcp")).toBe(false);
    expect(isOff([table], "mcp__a_b__x", "mcp")).toBe(true);
    expect(isOff([], "bash", "shell")).toBe(false);
  });

  test("turns a tool off if any table does, however specific another's on is", () => {
    expect(isOff([[rule("*", "off")], [rule("bash", "on")]], "bash", "shell")).toBe(true);
    expect(isOff([[rule("bash", "on")], [rule("shell", "off")]], "bash", "shell")).toBe(true);
  });

  test("says which key of which file it was", () => {
    const switches = createSwitches([[rule("shell", "off")]], [{ name: "deploy", where: '"disabledTools" in /w/agents.config.json:3:4' }]);
    expect(switches.offReason({ name: "bash", group: "shell" })).toBe('"bash" is switched off by "tools.shell" in /s.json:1:1');
    expect(switches.offReason({ name: "deploy", group: "custom" })).toBe(
      '"deploy" is listed in "disabledTools" in /w/agents.config.json:3:4',
    );
    expect(switches.offReason({ name: "constructor", group: "custom" })).toBeNull();
  });

  test("names keys that are nothing that is known, each once", () => {
    const switches = createSwitches([[rule("bahs", "off"), rule("bash", "off"), rule("*", "on")], [
      rule("bahs", "off"),
      ...TOOL_GROUPS.map((group) => rule(group, "on")),
    ]], []);
    expect(switches.unknownKeys(["bash"]).map(({ key }) => key)).toEqual(["bahs"]);
  });
});
