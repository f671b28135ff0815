/**
 * Checking JSON against a JSON Schema, with bounded work.
 *
 * C1  Whatever the schema and the value, a check ends after a fixed number of steps; if they do not suffice, that is
 *     the one violation. Nothing throws.
 * C2  The violations come at once, each with its JSON pointer and a sentence that a model can act on; past the first
 *     hundred they are only counted.
 * C3  `format` is an annotation. `$ref` never leaves the schema.
 *
 * The evaluator is ours because no library can be bounded from outside: a list with `uniqueItems`, an `anyOf` over
 * `anyOf`, or a pattern runs for as long as its author likes. `@cfworker/json-schema` is the oracle in the tests.
 */
import type { Json } from "../session/json.ts";
import { findContradictions } from "./schema-contradictions.ts";
import { evaluate } from "./schema-evaluate.ts";
import { type LoadedSchema, loadSchema, type SchemaProblem, type SchemaUse } from "./schema-load.ts";
import { loadPatternEngine, type Matcher, type PatternEngine } from "./schema-pattern.ts";
import type { Violation } from "./tool.ts";

export type { SchemaProblem } from "./schema-load.ts";

export interface Schema {
  /** The canonical form to show to a model: an object schema with `properties`. */
  readonly declared: Readonly<Record<string, unknown>>;
  /** @param text the JSON it was read from: what is said of a number shows it as it was written. */
  check(value: Json, text?: string): readonly Violation[];
}

/** `problems` may be warnings beside a schema that works; without `schema` at least one is an error. */
export interface CompiledSchema {
  readonly schema?: Schema;
  readonly problems: readonly SchemaProblem[];
}

/** What is done about a schema that works and contradicts itself: who wrote it for us can be told. */
export type ContradictionPolicy = "refuse" | "warn" | "ignore";

/** Compiles a schema from outside. Asynchronous because the pattern engine is loaded only when a pattern needs it. */
export async function compileSchema(
  source: unknown,
  use: SchemaUse = "input",
  contradictions: ContradictionPolicy = "ignore",
): Promise<CompiledSchema> {
  const loaded = loadSchema(source, use);
  // What is refused anyway is not compiled: its patterns may be the reason.
  const needsEngine = loaded.patterns.size > 0 && !loaded.problems.some(({ severity }) => severity === "error");
  return compile(loaded, needsEngine ? await loadPatternEngine() : null, contradictions);
}

function compile(loaded: LoadedSchema, engine: PatternEngine | null, contradictions: ContradictionPolicy): CompiledSchema {
  const problems = [...loaded.problems];
  const matchers = new Map<string, Matcher>();
  for (const [pattern, { plan, pointer }] of loaded.patterns) {
    try {
      if (engine !== null) matchers.set(pattern, engine(plan));
    } catch (error) {
      problems.push({
        severity: "error",
        code: "schema_pattern_unsupported",
        pointer,
        message: `The pattern "${pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern}" cannot be run in linear time: ${
          error instanceof Error ? error.message : String(error)
        }`,
        remedy: "Write it with plain groups, classes and repeats of at most 1000.",
      });
    }
  }
  const { root, references, annotates, whole } = loaded;
  const evaluable = { root, references, matchers, annotates, whole };
  const found = contradictions === "ignore" ? [] : findContradictions(evaluable, new Set(problems.map(({ pointer }) => pointer)));
  problems.push(...contradictions === "warn" ? found.map((problem) => ({ ...problem, severity: "warning" as const })) : found);
  if (problems.some(({ severity }) => severity === "error")) return { problems };
  const schema = { declared: loaded.declared, check: (value: Json, text?: string) => evaluate(evaluable, value, text) };
  return { schema, problems };
}
