/** The parameters that a tool declares, in both of the documented forms. */
import { numberToken, parseJson, parseKeepingNumbers } from "../../session/json.ts";
import { nearest } from "../nearest.ts";
import { type Matcher, type PatternEngine, translatePattern } from "../schema-pattern.ts";
import { NAME } from "./name.ts";
import { clip } from "../report.ts";
import { fitsType, problemsOf } from "./constraints.ts";
import { fitsDoubles, readMember, writeArgument } from "./numbers.ts";
import type { Report } from "./report.ts";
import {
  describeNode,
  toJsonText,
  type YamlEntry,
  type YamlMapping,
  type YamlNode,
  type YamlSequence,
  type YamlText,
} from "./yaml-tree.ts";

export const TYPES = ["string", "number", "integer", "boolean", "array"] as const;
export type ParameterType = (typeof TYPES)[number];

/** A whole number that a double does not hold is a bigint. */
export type EnumMember = string | number | boolean | bigint;

export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  readonly description: string | null;
  readonly required: boolean;
  /** JSON text, its numbers as a shell is given them; null if there is none. */
  readonly default: string | null;
  readonly enum: readonly EnumMember[] | null;
  readonly pattern: { readonly source: string; readonly matcher: Matcher } | null;
  readonly minLength: number | null;
  readonly maxLength: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly items: ParameterType | null;
}

const KEYS = ["type", "description", "required", "default", "enum", "pattern", "minLength", "maxLength", "min", "max", "items"];
const MAX_PATTERN = 1024;

export interface ReadParameters {
  readonly parameters: readonly Parameter[];
  /** Whether a name is, or may be, that of a parameter of which nothing is known, as its declaration has faults. */
  readonly isUnread: (name: string) => boolean;
}

export function readParameters(node: YamlNode | null, engine: PatternEngine | null, report: Report): ReadParameters {
  if (node === null) return { parameters: [], isUnread: () => false };
  const found = node.kind === "mapping"
    ? node.entries.map(toNamed)
    : node.kind === "sequence"
    ? node.items.flatMap((item, index) => readListed(item, index, report))
    : null;
  if (found === null) {
    const message = `"parameters" must be a mapping or a list, not ${describeNode(node)}`;
    report.add("error", "wrong_type", node.at, message, "Write each parameter's name: on a line of its own below it.");
    return { parameters: [], isUnread: () => true };
  }
  const unread = new Set<string>();
  const seen = new Set<string>();
  const parameters = found.flatMap((named) => {
    if (!NAME.test(named.name)) {
      const message = `The parameter name ${
        JSON.stringify(clip(named.name))
      } is not valid: it must be lower-case letters, digits and underscores, and start with a letter`;
      report.add("error", "invalid_parameter_name", named.nameAt, message, "Write it like name_of_it.");
    }
    if (seen.has(named.name)) {
      report.add("error", "duplicate_parameter", named.nameAt, `The parameter "${clip(named.name)}" is there twice`, "Remove one of them.");
    }
    seen.add(named.name);
    const parameter = new ParameterReader(named, engine, report).read();
    if (parameter === null) unread.add(named.name);
    return parameter === null ? [] : [parameter];
  });
  const partial = node.kind === "mapping" ? node.partial : node.kind === "sequence" && found.length < node.items.length;
  return { parameters, isUnread: (name) => partial || unread.has(name) };
}

interface Named {
  readonly name: string;
  readonly nameAt: number;
  readonly node: YamlNode;
  /** Keys that are known besides. */
  readonly extra: readonly string[];
}

function toNamed({ key, keyAt, value }: YamlEntry): Named {
  return { name: key, nameAt: keyAt, node: value, extra: [] };
}

function readListed(node: YamlNode, index: number, report: Report): readonly Named[] {
  const fault = (message: string) => {
    report.add("error", "wrong_type", node.at, message, "Write - name: …, then the other keys below it.");
    return [];
  };
  if (node.kind !== "mapping") return fault(`Entry ${index + 1} of "parameters" must be a mapping, not ${describeNode(node)}`);
  const name = node.entries.find(({ key }) => key === "name")?.value;
  if (name?.kind !== "scalar" || typeof name.value !== "string" || name.value === "") {
    return fault(`Entry ${index + 1} of "parameters" has no "name" that is a string`);
  }
  return [{ name: name.value, nameAt: name.at, node, extra: ["name"] }];
}

class ParameterReader {
  readonly #named: Named;
  readonly #engine: PatternEngine | null;
  readonly #report: Report;
  #entries: ReadonlyMap<string, YamlEntry> = new Map();

  constructor(named: Named, engine: PatternEngine | null, report: Report) {
    this.#named = named;
    this.#engine = engine;
    this.#report = report;
  }

  read(): Parameter | null {
    const { name, node, extra } = this.#named;
    if (node.kind !== "mapping") {
      this.#error("wrong_type", node.at, `must be a mapping with a "type", not ${describeNode(node)}`, "Write type: string below it.");
      return null;
    }
    this.#readKeys(node, [...KEYS, ...extra]);
    const type = this.#type();
    const description = this.#scalar("description", "string");
    const required = this.#scalar("required", "boolean") ?? false;
    if (type === null) return this.#readUntyped();
    const constraints = this.#constraints(type);
    const fallback = this.#default(type, constraints);
    if (required && fallback !== null) {
      this.#warn("unused_default", this.#at("default"), "is required, so its default is never used", "Remove required or the default.");
    }
    const parameter = { name, type, description, required, default: fallback, ...constraints };
    return { ...parameter, default: fallback === null || this.#keepsDefault(parameter, fallback) ? fallback : null };
  }

  /** Without a type, what can be wrong whatever the type is. */
  #readUntyped(): null {
    for (const key of ["min", "max"] as const) this.#scalar(key, "number");
    for (const key of ["minLength", "maxLength"] as const) this.#length(key);
    this.#pattern();
    this.#items();
    return null;
  }

  /** A call's value would be held against the constraints, so the default is too. */
  #keepsDefault(parameter: Parameter, fallback: string): boolean {
    const problems = problemsOf(parameter, parseJson(fallback), () => parseKeepingNumbers(fallback)).filter(({ problem }) =>
      !problem.includes("NUL character")
    );
    for (const { problem } of problems) {
      this.#error(
        "invalid_default",
        this.#at("default"),
        `has a default that no call could give: it ${problem}`,
        "Write one that fits, or remove it.",
      );
    }
    return problems.length === 0;
  }

  #readKeys(node: YamlMapping, known: readonly string[]): void {
    for (const { key, keyAt } of node.entries) {
      if (known.includes(key)) continue;
      const meant = nearest(key, known);
      this.#warn(
        "unknown_key",
        keyAt,
        `has the unknown key "${clip(key)}", which does nothing`,
        meant === null ? `Known keys are ${KEYS.join(", ")}.` : `Did you mean ${meant}?`,
      );
    }
    // A key without a value is as good as absent.
    this.#entries = new Map(
      node.entries.filter(({ value }) => value.kind !== "scalar" || value.value !== null).map((entry) => [entry.key, entry]),
    );
  }

  #type(): ParameterType | null {
    const node = this.#entries.get("type")?.value;
    if (node === undefined) {
      const { nameAt, node: declaration } = this.#named;
      if (declaration.kind === "mapping" && declaration.partial) return null;
      this.#error("missing_type", nameAt, `has no "type"`, `Write type: and one of ${TYPES.join(", ")}.`);
      return null;
    }
    const type = toType(node);
    if (type === null) {
      const meant = node.kind === "scalar" && typeof node.value === "string" ? nearest(node.value, TYPES) : null;
      this.#error(
        "invalid_type",
        node.at,
        `must have a type out of ${TYPES.join(", ")}`,
        meant === null ? "Write type: string, or another of them." : `Did you mean ${meant}?`,
      );
    }
    return type;
  }

  #constraints(type: ParameterType): Pick<Parameter, "enum" | "pattern" | "minLength" | "maxLength" | "min" | "max" | "items"> {
    const numeric = type === "number" || type === "integer";
    const fitting = {
      enum: this.#fits("enum", type !== "array", type) ? this.#enum(type) : null,
      pattern: this.#fits("pattern", type === "string", type) ? this.#pattern() : null,
      minLength: this.#fits("minLength", type === "string", type) ? this.#length("minLength") : null,
      maxLength: this.#fits("maxLength", type === "string", type) ? this.#length("maxLength") : null,
      min: this.#fits("min", numeric, type) ? this.#scalar("min", "number") : null,
      max: this.#fits("max", numeric, type) ? this.#scalar("max", "number") : null,
      items: this.#fits("items", type === "array", type) ? this.#items() : null,
    };
    this.#checkOrder("minLength", fitting.minLength, "maxLength", fitting.maxLength);
    this.#checkOrder("min", fitting.min, "max", fitting.max);
    return fitting;
  }

  #fits(key: string, fits: boolean, type: ParameterType): boolean {
    if (!fits && this.#entries.has(key)) {
      this.#warn("ignored_constraint", this.#at(key), `has "${key}", which means nothing for type ${type} and is ignored`, "Remove it.");
    }
    return fits;
  }

  #checkOrder(low: string, least: number | null, high: string, most: number | null): void {
    if (least !== null && most !== null && least > most) {
      this.#warn("empty_range", this.#at(low), `has a ${low} above its ${high}, so no value fits`, `Make ${high} the larger one.`);
    }
  }

  #enum(type: ParameterType): readonly EnumMember[] | null {
    const node = this.#entries.get("enum")?.value;
    if (node === undefined) return null;
    if (node.kind !== "sequence") {
      this.#error("wrong_type", node.at, `must have a list as "enum", not ${describeNode(node)}`, "Write enum: [a, b].");
      return null;
    }
    const members = node.items.flatMap((item) => {
      const text = this.#convert(item, type);
      if (text !== null) return [readMember(text)];
      const problem = `has ${describeNode(item)} in its "enum", which is ${unlike(item, type)} and is ignored`;
      this.#warn("ignored_constraint", item.at, problem, `Write a value of type ${type}, or remove it.`);
      return [];
    });
    if (members.length === 0 && !node.items.some(({ kind }) => kind === "lost")) {
      this.#warn("ignored_constraint", node.at, 'has an "enum" without a value that fits; it is ignored', "Name the values, or remove it.");
    }
    return members.length === 0 ? null : members;
  }

  #pattern(): Parameter["pattern"] {
    const source = this.#scalar("pattern", "string");
    if (source === null) return null;
    const at = this.#at("pattern");
    if (source.length > MAX_PATTERN) {
      this.#error(
        "pattern_too_long",
        at,
        `has a pattern of ${source.length} characters, and it may have ${MAX_PATTERN}`,
        "Write a shorter one, and check the rest in the body.",
      );
      return null;
    }
    const translation = translatePattern(source);
    if (translation.kind === "refused") {
      this.#error("invalid_pattern", at, `has a pattern that cannot be used: ${translation.problem}`, translation.remedy);
      return null;
    }
    try {
      return this.#engine === null ? null : { source, matcher: this.#engine(translation.plan) };
    } catch (error) {
      this.#error(
        "invalid_pattern",
        at,
        `has a pattern that cannot be run in linear time: ${error instanceof Error ? error.message : String(error)}`,
        "Write a simpler one, and check the rest in the body.",
      );
      return null;
    }
  }

  #length(key: string): number | null {
    const value = this.#scalar(key, "number");
    if (value === null || (Number.isInteger(value) && value >= 0)) return value;
    this.#error("wrong_type", this.#at(key), `must have a whole number from 0 as "${key}", not ${value}`, "Write digits only.");
    return null;
  }

  #items(): ParameterType | null {
    const node = this.#entries.get("items")?.value;
    if (node === undefined) return null;
    const inner = node.kind === "mapping" ? node.entries : [];
    const type = inner.find(({ key }) => key === "type")?.value;
    const found = type === undefined ? null : toType(type);
    if (found === null && type?.kind === "lost") return null;
    if (found === null) {
      this.#error(
        "wrong_type",
        node.at,
        `must have "items" of the form {type: …} with a type out of ${TYPES.join(", ")}`,
        "Write items: {type: string}.",
      );
      return null;
    }
    for (const { key, keyAt } of inner) {
      if (key !== "type") {
        this.#warn("unknown_key", keyAt, `has "${clip(key)}" in its items, which does nothing`, "Only type counts there.");
      }
    }
    return found;
  }

  #default(type: ParameterType, { items, enum: members }: Pick<Parameter, "items" | "enum">): string | null {
    const node = this.#entries.get("default")?.value;
    if (node === undefined) return null;
    const text = type === "array" && node.kind === "sequence"
      ? this.#defaultList(node, items)
      : this.#defaultOf(node, type, "as its default");
    if (text?.includes("\\u0000") === true) {
      this.#error("nul_character", node.at, "has a NUL character in its default, which no program can receive", "Remove the character.");
    }
    return text === null ? null : writeArgument(parseKeepingNumbers(text), { type, items, enum: members });
  }

  #defaultList({ items }: YamlSequence, type: ParameterType | null): string | null {
    const elements = items.map((item) => this.#defaultOf(item, type === "array" ? null : type, "in its default"));
    return elements.includes(null) ? null : `[${elements.join(",")}]`;
  }

  #defaultOf(node: YamlNode, type: ParameterType | null, where: string): string | null {
    const text = type === null ? toJsonText(node) : this.#convert(node, type);
    if (text !== null) return text;
    const problem = `has ${describeNode(node)} ${where}, which is ${unlike(node, type)}; the default is not used`;
    this.#warn("ignored_default", node.at, problem, `Write a value of type ${type ?? "string"}, or remove it.`);
    return null;
  }

  /** JSON text of a value of the type; converted, with a warning, if nothing is lost; else null. */
  #convert(node: YamlNode, type: ParameterType): string | null {
    if (node.kind !== "scalar" || node.value === null) return null;
    const text = toJsonText(node);
    if (text !== null && fitsType(node.value, type, () => parseKeepingNumbers(text))) return text;
    if (type === "string") {
      this.#warn(
        "quote_it",
        node.at,
        `is a string, and ${describeNode(node)} is not; it is taken as written`,
        `Quote it: '${clip(node.source)}'.`,
      );
      return JSON.stringify(node.source);
    }
    return this.#convertText(node, type);
  }

  #convertText(node: YamlText, type: ParameterType): string | null {
    if (typeof node.value !== "string") return null;
    let value: unknown;
    try {
      value = parseKeepingNumbers(node.value);
    } catch {
      // Not the text of a JSON value, so it cannot be converted.
      return null;
    }
    const token = numberToken(value);
    if (!fitsType(token === null ? value : Number(token), type, () => value)) return null;
    this.#warn(
      "converted_value",
      node.at,
      `is of type ${type}, and "${clip(node.value)}" is a string; it is converted`,
      "Remove the quotes.",
    );
    return node.value.trim();
  }

  #scalar(key: string, type: "string"): string | null;
  #scalar(key: string, type: "number"): number | null;
  #scalar(key: string, type: "boolean"): boolean | null;
  #scalar(key: string, type: "string" | "number" | "boolean"): string | number | boolean | null {
    const node = this.#entries.get(key)?.value;
    if (node === undefined) return null;
    if (node.kind === "scalar" && typeof node.value === type) return this.#held(key, node);
    const remedy = type === "boolean"
      ? "Write true or false, without quotes."
      : type === "string"
      ? "Put it in quotes."
      : "Write a number, without quotes.";
    this.#error("wrong_type", node.at, `must have a ${type} as "${key}", not ${describeNode(node)}`, remedy);
    return null;
  }

  /** The value of a constraint, which is compared as a double. */
  #held(key: string, node: YamlText): YamlText["value"] {
    const { value } = node;
    if (typeof value !== "number") return value;
    if (!Number.isFinite(value)) {
      this.#error(
        "number_too_large",
        node.at,
        `must have a finite number as "${key}", not ${clip(node.source)}`,
        "Write a smaller number.",
      );
      return null;
    }
    if (!fitsDoubles(toJsonText(node) ?? "0")) {
      const problem = `has ${describeNode(node)} as "${key}", which cannot be held exactly and counts as ${BigInt(value)}`;
      this.#warn("number_too_large", node.at, problem, "Use a smaller number.");
    }
    return value;
  }

  #at(key: string): number {
    return this.#entries.get(key)?.value.at ?? this.#named.nameAt;
  }

  #error(code: string, at: number, problem: string, remedy: string): void {
    this.#report.add("error", code, at, `Parameter "${clip(this.#named.name)}" ${problem}`, remedy);
  }

  #warn(code: string, at: number, problem: string, remedy: string): void {
    this.#report.add("warning", code, at, `Parameter "${clip(this.#named.name)}" ${problem}`, remedy);
  }
}

/** What a value is that is not of the type, or of none that JSON has. */
function unlike(node: YamlNode, type: ParameterType | null): string {
  const infinite = node.kind === "scalar" && typeof node.value === "number" && !Number.isFinite(node.value);
  return infinite || type === null ? "no finite number" : `no ${type}`;
}

function toType(node: YamlNode): ParameterType | null {
  return node.kind === "scalar" ? TYPES.find((type) => type === node.value) ?? null : null;
}

/** Digits and what numbers are written with: nothing that a shell could take for a name, an option's name or a command. */
const DIGITS = /^\^(?:(?:\\d|\\\.|[-0-9.,:]|\[(?:\\d|0-9|[0-9.,:+-])+\])(?:[*+?]|\{\d+(?:,\d*)?\})?)+\$$/;

/** Whether no value of the parameter can be more to a shell than itself, wherever it reads it. */
export function isInert({ type, items, enum: members, pattern }: Pick<Parameter, "type" | "items" | "enum" | "pattern">): boolean {
  const of = type === "array" ? items : type;
  if (of === "number" || of === "integer" || of === "boolean") return true;
  // A letter alone may be the operator of a test, and a word with a dash an option.
  if (members !== null) {
    return members.every((member) => /^(?:[\w.,:+/@% -]{2,}|[^\W_RVv])$/.test(String(member)) && !/^-/.test(String(member)));
  }
  return pattern !== null && DIGITS.test(pattern.source);
}
