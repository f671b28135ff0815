/**
 * The evaluation of one value against one loaded schema. Every visit, comparison and match is paid for from one
 * budget, so the work has a fixed bound; recursion is bounded by depth.
 */
import { canonicalValue, type Json, type JsonObject } from "../session/json.ts";
import { nearest } from "./nearest.ts";
import { own, type SchemaNode, type SchemaObject } from "./schema-node.ts";
import type { Matcher } from "./schema-pattern.ts";
import { below, fail, failAll, type Faults, isOpen, nameOf, type Place, ROOT } from "./schema-place.ts";
import { choiceFault, lengthFaults, numberFaults, shown, sizeFaults, typeFault } from "./schema-scalars.ts";
import type { Violation } from "./tool.ts";

export interface Evaluable {
  readonly root: SchemaNode;
  readonly references: ReadonlyMap<SchemaObject, SchemaNode>;
  readonly matchers: ReadonlyMap<string, Matcher>;
  readonly annotates: boolean;
}

/** About 100 ms on an idle machine. */
const STEPS = 300_000;
/** Steps of the pattern engine are far cheaper than visits. */
const PATTERN_STEPS_PER_STEP = 16;
const MAX_DEPTH = 1200;
const MAX_KNOWN_SHOWN = 32;
/** Known names that a wrong one is compared with. */
const MAX_COMPARED = 64;

export function evaluate(schema: Evaluable, value: Json): readonly Violation[] {
  const violations: Violation[] = [];
  try {
    new Evaluation(schema).visit(schema.root, value, ROOT, violations, schema.annotates ? noMarks() : null);
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
    return [{ pointer: "", message: error.message }];
  }
  return violations;
}

class OverBudget extends Error {
  override readonly name = "OverBudget";
}

/** Which properties and items some keyword has accepted, for `unevaluated…`; null if the schema has no such keyword. */
interface Marks {
  readonly names: Set<string>;
  readonly items: Set<number>;
}

class Evaluation {
  readonly #schema: Evaluable;
  #steps = STEPS;
  #depth = 0;

  constructor(schema: Evaluable) {
    this.#schema = schema;
  }

  visit(schema: SchemaNode, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    this.#spend(1);
    if (schema === true) return true;
    if (schema === false) return fail(faults, place, "is not allowed here");
    if (++this.#depth > MAX_DEPTH) throw new OverBudget("The input is nested too deep to be checked against this schema");
    const valid = [
      this.#scalars(schema, value, place, faults),
      this.#combined(schema, value, place, faults, marks),
      this.#container(schema, value, place, faults, marks),
    ].every(Boolean);
    this.#depth--;
    return valid;
  }

  #scalars(schema: SchemaObject, value: Json, place: Place, faults: Faults): boolean {
    const wrongType = typeFault(schema["type"], value);
    if (wrongType !== null) return fail(faults, place, wrongType);
    const wrongChoice = choiceFault(schema, value, (left, right) => this.#same(left, right));
    let valid = wrongChoice === null || fail(faults, place, wrongChoice);
    if (typeof value === "number") { for (const fault of numberFaults(schema, value)) valid = fail(faults, place, fault); }
    if (typeof value === "string") valid = this.#text(schema, value, place, faults) && valid;
    return valid;
  }

  #text(schema: SchemaObject, value: string, place: Place, faults: Faults): boolean {
    let valid = true;
    this.#spend(value.length >> 8);
    for (const fault of lengthFaults(schema, value)) valid = fail(faults, place, fault);
    const pattern = schema["pattern"] as string | undefined;
    if (pattern !== undefined && !this.#matches(pattern, value)) {
      valid = fail(faults, place, `must match the pattern ${pattern}, but it is ${shown(value)}`);
    }
    return valid;
  }

  #container(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    if (typeof value !== "object" || value === null) return true;
    return Array.isArray(value)
      ? this.#array(schema, value, place, faults, marks)
      : this.#object(schema, value as JsonObject, place, faults, marks);
  }

  #object(schema: SchemaObject, value: JsonObject, place: Place, faults: Faults, marks: Marks | null): boolean {
    let valid = this.#required(schema, value, place, faults);
    const names = Object.keys(value);
    this.#spend(names.length);
    for (const fault of sizeFaults(schema, names.length, "Properties")) valid = fail(faults, place, fault);
    const matched = new Set<string>();
    const check = (part: SchemaNode, name: string) => {
      matched.add(name);
      valid = this.visit(part, value[name] as Json, below(place, name), faults, this.#freshMarks()) && valid;
    };
    for (const [name, part] of entries(schema["properties"])) if (Object.hasOwn(value, name)) check(part, name);
    for (const [pattern, part] of entries(schema["patternProperties"])) {
      for (const name of names) if (this.#matches(pattern, name)) check(part, name);
    }
    const others = schema["additionalProperties"] as SchemaNode | undefined;
    for (const name of others === undefined ? [] : names) {
      if (matched.has(name)) continue;
      if (others === false) valid = this.#refuseProperty(schema, name, place, faults);
      else if (others !== undefined) check(others, name);
    }
    const namesSchema = schema["propertyNames"] as SchemaNode | undefined;
    for (const name of namesSchema === undefined ? [] : names) {
      if (namesSchema === undefined || this.visit(namesSchema, name, place, null, null)) continue;
      valid = fail(faults, below(place, name), "is not an allowed property name");
    }
    if (marks === null) return valid;
    for (const name of matched) marks.names.add(name);
    return this.#unevaluatedProperties(schema, value, names, place, faults, marks) && valid;
  }

  #required(schema: SchemaObject, value: JsonObject, place: Place, faults: Faults): boolean {
    let valid = true;
    const demand = (names: readonly string[], because: string) => {
      this.#spend(names.length);
      for (const name of names) {
        if (!Object.hasOwn(value, name)) valid = fail(faults, place, `lacks the required property ${nameOf(below(place, name))}${because}`);
      }
    };
    demand((schema["required"] as readonly string[] | undefined) ?? [], "");
    for (const keyword of ["dependentRequired", "dependencies"]) {
      for (const [name, needed] of Object.entries(schema[keyword] ?? {})) {
        if (Array.isArray(needed) && Object.hasOwn(value, name)) demand(needed, `, which must be there together with "${name}"`);
      }
    }
    return valid;
  }

  #refuseProperty(schema: SchemaObject, name: string, place: Place, faults: Faults): boolean {
    this.#spend(1);
    // The words are worth their work only while somebody will read them.
    if (!isOpen(faults)) return fail(faults, place, "");
    const known = Object.keys(schema["properties"] ?? {});
    const near = nearest(name, known.slice(0, MAX_COMPARED));
    const hint = near === null ? "" : `; did you mean "${near}"?`;
    const list = known.slice(0, MAX_KNOWN_SHOWN).map((property) => `"${property}"`).join(", ");
    return fail(
      faults,
      below(place, name),
      `is not a known property${hint}${known.length === 0 ? " (none is allowed)" : ` (known: ${list})`}`,
    );
  }

  #unevaluatedProperties(
    schema: SchemaObject,
    value: JsonObject,
    names: readonly string[],
    place: Place,
    faults: Faults,
    marks: Marks,
  ): boolean {
    const rest = schema["unevaluatedProperties"] as SchemaNode | undefined;
    if (rest === undefined) return true;
    let valid = true;
    for (const name of names) {
      if (marks.names.has(name)) continue;
      if (rest === false) valid = this.#refuseProperty(schema, name, place, faults);
      else valid = this.visit(rest, value[name] as Json, below(place, name), faults, this.#freshMarks()) && valid;
      marks.names.add(name);
    }
    return valid;
  }

  #array(schema: SchemaObject, value: readonly Json[], place: Place, faults: Faults, marks: Marks | null): boolean {
    let valid = true;
    for (const fault of sizeFaults(schema, value.length, "Items")) valid = fail(faults, place, fault);
    if (schema["uniqueItems"] === true) valid = this.#unique(value, place, faults) && valid;
    const items = schema["items"] as SchemaNode | readonly SchemaNode[] | undefined;
    const tuple = (Array.isArray(items) ? items : schema["prefixItems"] ?? []) as readonly SchemaNode[];
    const rest = (Array.isArray(items) ? schema["additionalItems"] : items) as SchemaNode | undefined;
    for (const [index, item] of value.entries()) {
      const part = tuple[index] ?? rest;
      if (part === undefined) break;
      valid = this.visit(part, item, below(place, String(index)), faults, this.#freshMarks()) && valid;
      marks?.items.add(index);
    }
    valid = this.#contains(schema, value, place, faults, marks) && valid;
    const unevaluated = schema["unevaluatedItems"] as SchemaNode | undefined;
    if (unevaluated === undefined || marks === null) return valid;
    for (const [index, item] of value.entries()) {
      if (marks.items.has(index)) continue;
      valid = this.visit(unevaluated, item, below(place, String(index)), faults, this.#freshMarks()) && valid;
      marks.items.add(index);
    }
    return valid;
  }

  #contains(schema: SchemaObject, value: readonly Json[], place: Place, faults: Faults, marks: Marks | null): boolean {
    const wanted = schema["contains"] as SchemaNode | undefined;
    if (wanted === undefined) return true;
    let found = 0;
    for (const [index, item] of value.entries()) {
      if (!this.visit(wanted, item, place, null, this.#freshMarks())) continue;
      marks?.items.add(index);
      found++;
    }
    const least = (schema["minContains"] as number | undefined) ?? 1;
    const most = (schema["maxContains"] as number | undefined) ?? Infinity;
    if (found < least) return fail(faults, place, `must contain at least ${least} matching items, but it has ${found}`);
    return found <= most || fail(faults, place, `must contain at most ${most} matching items, but it has ${found}`);
  }

  #unique(value: readonly Json[], place: Place, faults: Faults): boolean {
    const seen = new Map<string, number>();
    for (const [index, item] of value.entries()) {
      this.#weigh(item);
      const key = canonicalValue(item);
      const before = seen.get(key);
      if (before !== undefined) return fail(faults, place, `must not repeat an item, but items ${before} and ${index} are the same`);
      seen.set(key, index);
    }
    return true;
  }

  #combined(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const target = schema["$ref"] === undefined ? undefined : this.#schema.references.get(schema);
    let valid = target === undefined || this.visit(target, value, place, faults, marks);
    for (const part of (schema["allOf"] as readonly SchemaNode[] | undefined) ?? []) {
      valid = this.visit(part, value, place, faults, marks) && valid;
    }
    valid = this.#anyOf(schema, value, place, faults, marks) && valid;
    valid = this.#oneOf(schema, value, place, faults, marks) && valid;
    const unwanted = schema["not"] as SchemaNode | undefined;
    if (unwanted !== undefined && this.visit(unwanted, value, place, null, this.#freshMarks())) {
      valid = fail(faults, place, `must not be of the shape that the schema excludes with "not"`);
    }
    return this.#conditional(schema, value, place, faults, marks) && valid;
  }

  #anyOf(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const parts = schema["anyOf"] as readonly SchemaNode[] | undefined;
    if (parts === undefined) return true;
    let valid = false;
    const attempts: Violation[][] = [];
    for (const part of parts) {
      // Without marks to collect, the first alternative that fits settles it.
      if (valid && marks === null) break;
      const attempt: Violation[] = [];
      valid = this.#attempt(part, value, place, faults === null ? null : attempt, marks) || valid;
      attempts.push(attempt);
    }
    return valid || failAll(faults, place, attempts);
  }

  #oneOf(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const parts = schema["oneOf"] as readonly SchemaNode[] | undefined;
    if (parts === undefined) return true;
    const fitting: number[] = [];
    const attempts: Violation[][] = [];
    for (const [index, part] of parts.entries()) {
      const attempt: Violation[] = [];
      if (this.#attempt(part, value, place, faults === null ? null : attempt, marks)) fitting.push(index + 1);
      attempts.push(attempt);
    }
    if (fitting.length === 1) return true;
    if (fitting.length === 0) return failAll(faults, place, attempts);
    return fail(faults, place, `must fit exactly one of ${parts.length} alternatives, but it fits alternatives ${fitting.join(" and ")}`);
  }

  /** One alternative; what it has looked at counts only if it fits. */
  #attempt(part: SchemaNode, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const own = this.#freshMarks();
    const valid = this.visit(part, value, place, faults, own);
    if (valid) merge(marks, own);
    return valid;
  }

  #conditional(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    let valid = true;
    const condition = schema["if"] as SchemaNode | undefined;
    if (condition !== undefined) {
      const branch = this.#attempt(condition, value, place, null, marks) ? "then" : "else";
      const part = schema[branch] as SchemaNode | undefined;
      if (part !== undefined) valid = this.visit(part, value, place, faults, marks);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) return valid;
    for (const keyword of ["dependentSchemas", "dependencies"]) {
      for (const [name, part] of entries(schema[keyword])) {
        if (Array.isArray(part) || own(value, name) === undefined) continue;
        valid = this.visit(part, value, place, faults, marks) && valid;
      }
    }
    return valid;
  }

  #matches(pattern: string, text: string): boolean {
    const matcher = this.#schema.matchers.get(pattern);
    if (matcher === undefined) return true;
    this.#spend(1 + Math.floor(matcher.cost(text.length) / PATTERN_STEPS_PER_STEP));
    return matcher.test(text);
  }

  #same(left: Json, right: Json): boolean {
    this.#spend(1);
    if (left === right) return true;
    if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
    if (Array.isArray(left) || Array.isArray(right)) {
      return Array.isArray(left) && Array.isArray(right) && left.length === right.length &&
        left.every((item, index) => this.#same(item, right[index] as Json));
    }
    const names = Object.keys(left);
    return names.length === Object.keys(right).length &&
      names.every((name) =>
        Object.hasOwn(right, name) && this.#same((left as JsonObject)[name] as Json, (right as JsonObject)[name] as Json)
      );
  }

  /** Pays for writing a value out. */
  #weigh(value: Json): void {
    this.#spend(typeof value === "string" ? 1 + (value.length >> 8) : 1);
    if (typeof value === "object" && value !== null) { for (const part of Object.values(value)) this.#weigh(part); }
  }

  #freshMarks(): Marks | null {
    return this.#schema.annotates ? noMarks() : null;
  }

  #spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new OverBudget("Checking this input against the schema takes too much work; give a smaller input");
  }
}

function noMarks(): Marks {
  return { names: new Set(), items: new Set() };
}

function merge(into: Marks | null, from: Marks | null): void {
  if (into === null || from === null) return;
  for (const name of from.names) into.names.add(name);
  for (const item of from.items) into.items.add(item);
}

function entries(map: unknown): readonly [string, SchemaNode][] {
  return map === undefined ? [] : Object.entries(map as Record<string, SchemaNode>);
}
