import { CATALOG, GROUP_WORDS, MCP_PREFIX } from "../builtin/catalog.ts";

/** Of tools and of parameters. */
export const NAME = /^[a-z][a-z0-9_]*$/;

export interface NameFault {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}

/** What is wrong with a name, or null. Also for names that `tools create` is given. */
export function nameFault(name: string): NameFault | null {
  const shownName = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  if (!NAME.test(name)) {
    const fixed = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_").replace(/^[^a-z]+/, "").replace(/_+$/, "");
    const rule = "it must be lower-case letters, digits and underscores, and start with a letter";
    return {
      severity: "error",
      code: "invalid_name",
      message: `The name ${shownName} is not valid: ${rule}`,
      remedy: fixed === "" ? "Choose another name." : `Write ${fixed}.`,
    };
  }
  if (CATALOG.some((row) => row.name === name)) {
    return {
      severity: "error",
      code: "reserved_name",
      message: `The name ${shownName} belongs to a built-in tool`,
      remedy: "Choose another name.",
    };
  }
  if (name.startsWith(MCP_PREFIX)) {
    return {
      severity: "error",
      code: "reserved_name",
      message: `Names that start with "${MCP_PREFIX}" belong to MCP servers`,
      remedy: "Choose another name.",
    };
  }
  if (GROUP_WORDS.includes(name)) {
    return {
      severity: "warning",
      code: "group_name",
      message: `The name ${shownName} is also that of a group of tools in switches`,
      remedy: "Choose another name.",
    };
  }
  if (name.length <= 64) return null;
  return {
    severity: "warning",
    code: "long_name",
    message: `The name has ${name.length} characters, and some models take 64 at most`,
    remedy: "Choose a shorter name.",
  };
}
