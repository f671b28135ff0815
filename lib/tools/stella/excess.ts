/** What no manifest needs, and what would cost too much: what is done with a key costs its length, and with a level those above. */
import type { TomlTable } from "smol-toml";
import { clip } from "../report.ts";
import type { Report } from "./report.ts";

/** Levels of tables and arrays, however they are written, and the length of one key: no manifest needs nearly as much. */
export const MAX_TABLE_DEPTH = 256;
export const TOO_DEEP = `The tables are nested deeper than ${MAX_TABLE_DEPTH} levels`;
const MAX_KEY_LENGTH = 1024;

/** What is too long or too deep is reported and taken out, so that the rest can be read for the rest's price. */
export function withoutExcess(table: TomlTable, report: Report): TomlTable {
  const kept: TomlTable = Object.create(null);
  for (const [key, value] of Object.entries(table)) {
    const excess = findExcess({ [key]: value });
    if (excess !== null) report.add("error", excess.code, excess.path, excess.message, excess.remedy);
    if (excess === null) kept[key] = value;
    else if (key.length <= MAX_KEY_LENGTH) kept[key] = {};
  }
  return kept;
}

interface Excess {
  readonly code: string;
  readonly path: readonly string[];
  readonly message: string;
  readonly remedy: string;
}

interface Branch {
  readonly value: object;
  readonly key: string;
  readonly parent: Branch | null;
  readonly depth: number;
}

function findExcess(table: TomlTable): Excess | null {
  const open: Branch[] = [{ value: table, key: "", parent: null, depth: 0 }];
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    for (const [key, value] of Object.entries(branch.value)) {
      if (key.length > MAX_KEY_LENGTH) {
        const message = `The key "${clip(key)}" has ${key.length} characters, and a key may have ${MAX_KEY_LENGTH}`;
        return { code: "key_too_long", path: [...pathOf(branch), key], message, remedy: "Give it a shorter name." };
      }
      if (typeof value !== "object" || value === null || value instanceof Date) continue;
      if (branch.depth === MAX_TABLE_DEPTH) {
        return { code: "too_deep", path: pathOf(branch), message: TOO_DEEP, remedy: "Use fewer levels." };
      }
      open.push({ value, key, parent: branch, depth: branch.depth + 1 });
    }
  }
  return null;
}

function pathOf(branch: Branch): readonly string[] {
  const path: string[] = [];
  for (let at: Branch | null = branch; at !== null && at.parent !== null; at = at.parent) path.push(at.key);
  return path.reverse();
}
