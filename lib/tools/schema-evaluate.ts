/**
 * The evaluation of one value against one loaded schema. Every visit, comparison and match is paid for from one
 * budget, so the work has a fixed bound; recursion is bounded by depth.
 */
import { canonicalValue, type Json, type JsonObject } from "../session/json.ts";
import { nearest } from "./nearest.ts";
import type { SchemaNode, SchemaObject } from "./schema-node.ts";
import type { Matcher } from "./schema-pattern.ts";
import { below, createNumberReader, FaultList, type Faults, nameOf, type Place, pointerOf, ROOT } from "./schema-place.ts";
import { choiceFault, lengthFaults, numberFaults, shown, shownNumber, sizeFaults, typeFault } from "./schema-scalars.ts";
import type { Violation } from "./tool.ts";

export interface Evaluable {
  readonly root: SchemaNode;
  readonly references: ReadonlyMap<SchemaObject, SchemaNode>;
  readonly matchers: ReadonlyMap<string, Matcher>;
  readonly annotates: boolean;
  /** What the value as a whole is called. */
  readonly whole: string;
}

/** About 100 ms on an idle machine. */
const STEPS = 300_000;
/** Steps of the pattern engine are far cheaper than visits. */
const PATTERN_STEPS_PER_STEP = 16;
const MAX_DEPTH = 1200;
const MAX_KNOWN_SHOWN = 32;
/** Known names that a wrong one is compared with. */
const MAX_COMPARED = 64;
/** Wrong names for which the right one is guessed: comparing words is dear. */
const MAX_HINTS = 12;
/** Characters of a name in a list of names. */
const MAX_NAME_SHOWN = 80;
const FITTING_SHOWN = 8;
/** What is cheaper than a visit, as a power of two: looking up one name, 256 characters of text. */
const LOOKUPS_PER_STEP = 2;
const TEXT_PER_STEP = 8;
/** What costs more than a visit. */
const FAULT_STEPS = 4;
const DIVISION_STEPS = 16;
const WRITING_STEPS = 4;

/** @param text what the value was read from, to quote numbers of. */
export function evaluate(schema: Evaluable, value: Json, text?: string): readonly Violation[] {
  const faults = new FaultList();
  try {
    new Evaluation(schema, STEPS, text).visit(schema.root, value, ROOT, faults, schema.annotates ? noMarks() : null);
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
    return [{ pointer: "", message: error.message }];
  }
  return faults.toViolations();
}

/** Holds values against parts of a schema, all of them for the work of one check; null when that is used up. */
export function createExaminer(schema: Evaluable): (part: SchemaNode, value: Json) => readonly Violation[] | null {
  let steps = STEPS;
  return (part, value) => {
    if (steps === 0) return null;
    const faults = new FaultList();
    const evaluation = new Evaluation(schema, steps);
    try {
      evaluation.visit(part, value, ROOT, faults, schema.annotates ? noMarks() : null);
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      steps = 0;
      return null;
    }
    steps = evaluation.left;
    return faults.toViolations();
  };
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
  readonly #written: (place: Place) => string | null;
  readonly #keys = new Map<object, readonly string[]>();
  #steps: number;
  #depth = 0;
  #hints = MAX_HINTS;

  constructor(schema: Evaluable, steps: number, text?: string) {
    this.#schema = schema;
    this.#written = createNumberReader(text);
    this.#steps = steps;
  }

  get left(): number {
    return this.#steps;
  }

  visit(schema: SchemaNode, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    this.#spend(1);
    if (schema === true) return true;
    if (schema === false) return this.#fail(faults, place, () => "is not allowed here");
    this.#enter();
    const valid = [
      this.#scalars(schema, value, place, faults),
      this.#combined(schema, value, place, faults, marks),
      this.#container(schema, value, place, faults, marks),
    ].every(Boolean);
    this.#depth--;
    return valid;
  }

  #scalars(schema: SchemaObject, value: Json, place: Place, faults: Faults): boolean {
    const show = () => this.#shown(value, place);
    const wrongType = typeFault(schema["type"], value, show);
    if (wrongType !== null) return this.#fail(faults, place, wrongType);
    const wrongChoice = choiceFault(schema, value, (left, right) => this.#same(left, right), show);
    let valid = wrongChoice === null || this.#fail(faults, place, wrongChoice);
    if (typeof value === "number") {
      if (schema["multipleOf"] !== undefined) this.#spend(DIVISION_STEPS);
      for (const fault of numberFaults(schema, value)) valid = this.#fail(faults, place, () => `${fault}, but it is ${show()}`);
    }
    if (typeof value === "string") valid = this.#text(schema, value, place, faults) && valid;
    return valid;
  }

  #text(schema: SchemaObject, value: string, place: Place, faults: Faults): boolean {
    let valid = true;
    this.#spend(value.length >> TEXT_PER_STEP);
    for (const fault of lengthFaults(schema, value)) valid = this.#fail(faults, place, () => fault);
    const pattern = schema["pattern"] as string | undefined;
    if (pattern !== undefined && !this.#matches(pattern, value)) {
      valid = this.#fail(faults, place, () => `must match the pattern ${clipPattern(pattern)}, but it is ${shown(value)}`);
    }
    return valid;
  }

  #shown(value: Json, place: Place): string {
    const token = typeof value === "number" ? this.#written(place) : null;
    return token === null || typeof value !== "number" ? shown(value) : shownNumber(token, value);
  }

  #container(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    if (typeof value !== "object" || value === null) return true;
    return Array.isArray(value)
      ? this.#array(schema, value, place, faults, marks)
      : this.#object(schema, value as JsonObject, place, faults, marks);
  }

  #object(schema: SchemaObject, value: JsonObject, place: Place, faults: Faults, marks: Marks | null): boolean {
    let valid = this.#required(schema, value, place, faults);
    if (schema["minProperties"] !== undefined || schema["maxProperties"] !== undefined) {
      for (const fault of sizeFaults(schema, this.#names(value).length, "Properties")) valid = this.#fail(faults, place, () => fault);
    }
    const matched = new Set<string>();
    const check = (part: SchemaNode, name: string) => {
      matched.add(name);
      valid = this.visit(part, value[name] as Json, below(place, name), faults, this.#freshMarks()) && valid;
    };
    for (const [name, part] of this.#present(schema["properties"], value)) check(part, name);
    const patterns = this.#members(schema["patternProperties"]);
    for (const name of patterns.length === 0 ? [] : this.#names(value)) {
      for (const [pattern, part] of patterns) if (this.#matches(pattern, name)) check(part, name);
    }
    const others = schema["additionalProperties"] as SchemaNode | undefined;
    // What may be anything is looked at only if somebody asks what was looked at.
    const isOpen = others === undefined || (others === true && marks === null);
    for (const name of isOpen ? [] : this.#paidNames(value)) {
      if (matched.has(name)) continue;
      if (others === false) valid = this.#refuseProperty(schema, name, place, faults);
      else if (others !== undefined) check(others, name);
    }
    const namesSchema = schema["propertyNames"] as SchemaNode | undefined;
    for (const name of namesSchema === undefined ? [] : this.#names(value)) {
      if (namesSchema === undefined || this.visit(namesSchema, name, place, null, null)) continue;
      valid = this.#fail(faults, below(place, name), () => "is not an allowed property name");
    }
    if (marks === null) return valid;
    for (const name of matched) marks.names.add(name);
    return this.#unevaluatedProperties(schema, value, place, faults, marks) && valid;
  }

  #required(schema: SchemaObject, value: JsonObject, place: Place, faults: Faults): boolean {
    let valid = true;
    const demand = (names: readonly string[], because: string) => {
      this.#spend(names.length >> LOOKUPS_PER_STEP);
      for (const name of names) {
        if (Object.hasOwn(value, name)) continue;
        const lacking = () => `lacks the required property ${nameOf(below(place, name), "")}${because}`;
        valid = this.#fail(faults, place, lacking);
      }
    };
    demand((schema["required"] as readonly string[] | undefined) ?? [], "");
    for (const keyword of ["dependentRequired", "dependencies"]) {
      for (const [name, needed] of this.#present(schema[keyword], value)) {
        if (Array.isArray(needed)) demand(needed, `, which must be there together with "${clipName(name)}"`);
      }
    }
    return valid;
  }

  #refuseProperty(schema: SchemaObject, name: string, place: Place, faults: Faults): boolean {
    return this.#fail(faults, below(place, name), () => {
      const known = this.#members(schema["properties"]).map(([property]) => property);
      const near = this.#hints-- > 0 ? nearest(name, known.slice(0, MAX_COMPARED)) : null;
      const hint = near === null ? "" : `; did you mean "${near}"?`;
      const list = known.slice(0, MAX_KNOWN_SHOWN).map((property) => `"${clipName(property)}"`).join(", ");
      const more = known.length > MAX_KNOWN_SHOWN ? ` and ${known.length - MAX_KNOWN_SHOWN} more` : "";
      return `is not a known property${hint}${known.length === 0 ? " (none is allowed)" : ` (known: ${list}${more})`}`;
    });
  }

  #unevaluatedProperties(schema: SchemaObject, value: JsonObject, place: Place, faults: Faults, marks: Marks): boolean {
    const rest = schema["unevaluatedProperties"] as SchemaNode | undefined;
    if (rest === undefined) return true;
    let valid = true;
    for (const name of this.#paidNames(value)) {
      if (marks.names.has(name)) continue;
      if (rest === false) valid = this.#refuseProperty(schema, name, place, faults);
      else valid = this.visit(rest, value[name] as Json, below(place, name), faults, this.#freshMarks()) && valid;
      marks.names.add(name);
    }
    return valid;
  }

  #array(schema: SchemaObject, value: readonly Json[], place: Place, faults: Faults, marks: Marks | null): boolean {
    let valid = true;
    for (const fault of sizeFaults(schema, value.length, "Items")) valid = this.#fail(faults, place, () => fault);
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
    this.#spend(value.length >> LOOKUPS_PER_STEP);
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
    if (found < least) return this.#fail(faults, place, () => `must contain at least ${least} matching items, but it has ${found}`);
    return found <= most || this.#fail(faults, place, () => `must contain at most ${most} matching items, but it has ${found}`);
  }

  #unique(value: readonly Json[], place: Place, faults: Faults): boolean {
    const scalars = new Map<Json, number>();
    const written = new Map<Json, number>();
    for (const [index, item] of value.entries()) {
      const isScalar = typeof item !== "object" || item === null;
      this.#spend(isScalar ? 2 : WRITING_STEPS);
      this.#weigh(item);
      const [seen, key] = isScalar ? [scalars, item] : [written, canonicalValue(item)];
      const before = seen.get(key);
      if (before !== undefined) {
        return this.#fail(faults, place, () => `must not repeat an item, but items ${before} and ${index} are the same`);
      }
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
      valid = this.#fail(faults, place, () => `must not be of the shape that the schema excludes with "not"`);
    }
    return this.#conditional(schema, value, place, faults, marks) && valid;
  }

  #anyOf(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const parts = schema["anyOf"] as readonly SchemaNode[] | undefined;
    if (parts === undefined) return true;
    let valid = false;
    const attempts: FaultList[] = [];
    for (const part of parts) {
      // Without marks to collect, the first alternative that fits settles it.
      if (valid && marks === null) break;
      const attempt = new FaultList();
      valid = this.#attempt(part, value, place, faults === null ? null : attempt, marks) || valid;
      attempts.push(attempt);
    }
    return valid || this.#failAll(faults, place, attempts);
  }

  #oneOf(schema: SchemaObject, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const parts = schema["oneOf"] as readonly SchemaNode[] | undefined;
    if (parts === undefined) return true;
    const fitting: number[] = [];
    const attempts: FaultList[] = [];
    for (const [index, part] of parts.entries()) {
      const attempt = new FaultList();
      if (this.#attempt(part, value, place, faults === null ? null : attempt, marks)) fitting.push(index + 1);
      attempts.push(attempt);
    }
    if (fitting.length === 1) return true;
    if (fitting.length === 0) return this.#failAll(faults, place, attempts);
    return this.#fail(faults, place, () => {
      const more = fitting.length > FITTING_SHOWN ? " and others" : "";
      const numbers = `${fitting.slice(0, FITTING_SHOWN).join(" and ")}${more}`;
      return `must fit exactly one of ${parts.length} alternatives, but it fits alternatives ${numbers}`;
    });
  }

  /** One alternative; what it has looked at counts only if it fits. */
  #attempt(part: SchemaNode, value: Json, place: Place, faults: Faults, marks: Marks | null): boolean {
    const own = this.#freshMarks();
    const valid = this.visit(part, value, place, faults, own);
    if (valid) this.#merge(marks, own);
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
      for (const [, part] of this.#present(schema[keyword], value as JsonObject)) {
        if (Array.isArray(part)) continue;
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
    // Texts of one length may have to be compared to their end.
    const isLong = typeof left === "string" && typeof right === "string" && left.length === right.length;
    this.#spend(isLong ? 1 + (left.length >> TEXT_PER_STEP) : 1);
    if (left === right) return true;
    if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
    this.#enter();
    const same = Array.isArray(left) || Array.isArray(right)
      ? Array.isArray(left) && Array.isArray(right) && left.length === right.length &&
        left.every((item, index) => this.#same(item, right[index] as Json))
      : this.#sameMembers(left as JsonObject, right as JsonObject);
    this.#depth--;
    return same;
  }

  #sameMembers(left: JsonObject, right: JsonObject): boolean {
    const names = this.#paidNames(left);
    return names.length === this.#names(right).length &&
      names.every((name) => Object.hasOwn(right, name) && this.#same(left[name] as Json, right[name] as Json));
  }

  /** Pays for writing a value out. */
  #weigh(value: Json): void {
    this.#spend(typeof value === "string" ? 1 + (value.length >> TEXT_PER_STEP) : 1);
    if (typeof value !== "object" || value === null) return;
    this.#enter();
    if (Array.isArray(value)) { for (const part of value) this.#weigh(part); }
    else {
      for (const name of this.#names(value as JsonObject)) {
        this.#spend(WRITING_STEPS + (name.length >> TEXT_PER_STEP));
        this.#weigh((value as JsonObject)[name] as Json);
      }
    }
    this.#depth--;
  }

  /** The members of a schema's map that the value has, for the work of the smaller of the two. */
  #present(map: unknown, value: JsonObject): readonly (readonly [string, SchemaNode])[] {
    const members = this.#members(map);
    if (members.length === 0) return [];
    const names = this.#names(value);
    this.#spend(Math.min(members.length, names.length) >> LOOKUPS_PER_STEP);
    if (members.length <= names.length) return members.filter(([name]) => Object.hasOwn(value, name));
    const known = map as Readonly<Record<string, SchemaNode>>;
    return names.flatMap((name) => Object.hasOwn(known, name) ? [[name, known[name] as SchemaNode] as const] : []);
  }

  /** Of a schema's map; the list is made once and passed through once for each visit. */
  #members(map: unknown): readonly (readonly [string, SchemaNode])[] {
    return map === undefined ? [] : membersOf(map as object);
  }

  /** The names of a value's members, which are listed once. */
  #names(value: JsonObject): readonly string[] {
    const known = this.#keys.get(value);
    if (known !== undefined) return known;
    const names = Object.keys(value);
    this.#keys.set(value, names);
    this.#spend(names.length >> LOOKUPS_PER_STEP);
    return names;
  }

  /** For a loop whose passes may cost nothing by themselves. */
  #paidNames(value: JsonObject): readonly string[] {
    const names = this.#names(value);
    this.#spend(names.length >> LOOKUPS_PER_STEP);
    return names;
  }

  #freshMarks(): Marks | null {
    return this.#schema.annotates ? noMarks() : null;
  }

  #merge(into: Marks | null, from: Marks | null): void {
    if (into === null || from === null) return;
    this.#spend((from.names.size + from.items.size) >> LOOKUPS_PER_STEP);
    for (const name of from.names) into.names.add(name);
    for (const item of from.items) into.items.add(item);
  }

  /** The words are made only while somebody will read them. */
  #fail(faults: Faults, place: Place, fault: () => string): false {
    if (faults === null) return false;
    if (!faults.isOpen) {
      faults.countOne();
      return false;
    }
    const pointer = pointerOf(place);
    const message = `${nameOf(place, this.#schema.whole)} ${fault()}`;
    this.#spend(FAULT_STEPS + this.#depth + ((pointer.length + message.length) >> TEXT_PER_STEP));
    faults.add({ pointer, message });
    return false;
  }

  /** No alternative fits: say why for the one that came closest. */
  #failAll(faults: Faults, place: Place, attempts: readonly FaultList[]): false {
    return this.#fail(faults, place, () => {
      const best = attempts.reduce((left, right) => right.size < left.size ? right : left, attempts[0] ?? new FaultList());
      const reasons = attempts.every(({ size }) => size <= 1) ? attempts.slice(0, 6).flatMap(({ kept }) => kept) : best.kept.slice(0, 3);
      const sentences = [...new Set(reasons.map(({ message }) => message))].join("; ").slice(0, 600).toWellFormed();
      return `fits none of ${attempts.length} alternatives${sentences === "" ? "" : `: ${sentences}`}`;
    });
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new OverBudget("The input is nested too deep to be checked against this schema");
  }

  #spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new OverBudget("Checking this input against the schema takes too much work; give a smaller input");
  }
}

function noMarks(): Marks {
  return { names: new Set(), items: new Set() };
}

const members = new WeakMap<object, readonly (readonly [string, SchemaNode])[]>();

function membersOf(map: object): readonly (readonly [string, SchemaNode])[] {
  const known = members.get(map) ?? Object.entries(map) as [string, SchemaNode][];
  members.set(map, known);
  return known;
}

function clipName(name: string): string {
  return name.length > MAX_NAME_SHOWN ? `${name.slice(0, MAX_NAME_SHOWN).toWellFormed()}…` : name;
}

function clipPattern(pattern: string): string {
  return pattern.length > 2 * MAX_NAME_SHOWN ? `${pattern.slice(0, 2 * MAX_NAME_SHOWN).toWellFormed()}…` : pattern;
}
