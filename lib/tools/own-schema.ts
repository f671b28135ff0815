/** Schemas of our own, which are known to be sound: they need less than those from outside, and every start loads it. */
import { evaluate } from "./schema-evaluate.ts";
import { loadSchema } from "./schema-load.ts";
import type { Schema } from "./schema.ts";

/**
 * Compiles a schema of our own, at once.
 * @throws {TypeError} if it is wrong or has patterns: that is a bug of ours.
 */
export function compileOwnSchema(source: Readonly<Record<string, unknown>>): Schema {
  const { declared, problems, patterns, ...loaded } = loadSchema(source, "input");
  if (problems.length > 0 || patterns.size > 0) {
    throw new TypeError(`Cannot compile own schema: ${problems[0]?.message ?? "it has patterns"}`);
  }
  const evaluable = { ...loaded, matchers: new Map() };
  return { declared, check: (value, text) => evaluate(evaluable, value, text) };
}

/**
 * A schema of our own that most sessions never check anything against: compiled when it first is, and shown as it is written.
 * @throws {TypeError} in `check`, as `compileOwnSchema`.
 */
export function lazyOwnSchema(source: Readonly<Record<string, unknown>>): Schema {
  let compiled: Schema | null = null;
  return { declared: source, check: (value, text) => (compiled ??= compileOwnSchema(source)).check(value, text) };
}
