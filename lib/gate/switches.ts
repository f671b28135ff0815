/**
 * Which tools are off. Keys are the name of a tool, of a group, or `*`; in one table the most specific key counts.
 *
 * S1  A tool is off if any of the tables turns it off: folding the tables by key would let a broad `on` of one lift a
 *     narrow `off` of another.
 * S2  What is off is not offered, and refused when it is called.
 */

/** Groups of built-ins, and of everything else: `mcp`, and `custom` for tools from files. */
export const TOOL_GROUPS = ["shell", "file", "search", "task", "scratch", "environment", "mcp", "custom"] as const;
export type ToolGroup = (typeof TOOL_GROUPS)[number];

/** `where` says for people which key of which file it is. */
export interface SwitchRule {
  readonly key: string;
  readonly state: "on" | "off";
  readonly where: string;
}

/** `name`: the one that rules are written for, for an MCP tool `mcp__server__tool` with the server's and the tool's own names. */
export interface SwitchedTool {
  readonly name: string;
  readonly group: ToolGroup;
}

export interface Switches {
  /** Why the tool is off, naming key and file; null if it is on. */
  offReason(tool: SwitchedTool): string | null;
  /** Keys that are neither a known tool nor a group, with where they are. */
  unknownKeys(names: readonly string[]): readonly SwitchRule[];
}

/** `disabled`: names of tools that are not loaded at all. */
export function createSwitches(
  tables: readonly (readonly SwitchRule[])[],
  disabled: readonly { readonly name: string; readonly where: string }[],
): Switches {
  const indexed = tables.map((table) => new Map(table.map((rule) => [rule.key, rule])));
  const unloaded = new Map(disabled.map((each) => [each.name, each]));
  return {
    offReason(tool) {
      const listed = unloaded.get(tool.name);
      if (listed !== undefined) return `"${tool.name}" is listed in ${listed.where}`;
      const rule = indexed.map((table) => mostSpecific(table, tool)).find((found) => found?.state === "off");
      return rule === undefined ? null : `"${tool.name}" is switched off by ${rule.where}`;
    },
    unknownKeys(names) {
      const known = new Set<string>([...names, ...TOOL_GROUPS, "*"]);
      return tables.flat().filter(({ key }, index, rules) => !known.has(key) && rules.findIndex((rule) => rule.key === key) === index);
    },
  };
}

function mostSpecific(table: ReadonlyMap<string, SwitchRule>, { name, group }: SwitchedTool): SwitchRule | undefined {
  return table.get(name) ?? table.get(group) ?? table.get("*");
}
