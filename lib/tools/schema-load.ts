/**
 * Reading a schema from outside: every fault is found here, so that checking can trust what it walks.
 *
 * L1  The result is a copy in which all keys are own and safe (`__proto__` too) and every keyword has the right shape.
 * L2  Every `$ref` is resolved, inside this schema, and no chain of references comes back to itself on the spot.
 */
import { fromPointerToken, toPointerToken } from "../session/json-pointer.ts";
import { nearest } from "./nearest.ts";
import { IN_PLACE_LISTS, IN_PLACE_MAPS, IN_PLACE_SINGLE, LISTS, MAPS, SINGLE } from "./schema-keywords.ts";
import {
  decode,
  describe,
  includesType,
  isResource,
  isSchema,
  own,
  plain,
  type SchemaNode,
  type SchemaObject,
  withoutPrototype,
} from "./schema-node.ts";
import { type PatternPlan, translatePattern } from "./schema-pattern.ts";
import { wrongShape } from "./schema-shape.ts";
import { createSpelling } from "./schema-spelling.ts";

/** What the schema describes: a call's input is always an object, a result may be anything. */
export type SchemaUse = "input" | "output";

export interface SchemaProblem {
  readonly severity: "error" | "warning";
  readonly code: string;
  /** Where in the schema, RFC 6901. */
  readonly pointer: string;
  readonly message: string;
  readonly remedy: string;
}

export interface LoadedSchema {
  readonly root: SchemaNode;
  readonly declared: SchemaObject;
  readonly references: ReadonlyMap<SchemaObject, SchemaNode>;
  readonly patterns: ReadonlyMap<string, { readonly plan: PatternPlan; readonly pointer: string }>;
  /** Whether some keyword needs to know what others have looked at (`unevaluated…`). */
  readonly annotates: boolean;
  /** What the value as a whole is called. */
  readonly whole: string;
  readonly problems: readonly SchemaProblem[];
}

const MAX_DEPTH = 64;
const MAX_NODES = 20_000;
/** Steps of all patterns of one schema, with what each costs by itself. */
const MAX_PATTERN_STEPS = 50_000;
const PATTERN_STEPS = 16;
/** References that are not found get a guess this often, among this many names. */
const MAX_GUESSES = 8;
const MAX_GUESSED_AMONG = 128;
/** References that lead on to references. */
const MAX_CHAIN = 500;
const MAX_PROBLEMS = 200;
const SHOWN = 80;
const DIALECTS: readonly { readonly name: string; readonly matches: RegExp; readonly refAlone: boolean }[] = [
  { name: "draft-04", matches: /json-schema\.org\/draft-04\/schema/, refAlone: true },
  { name: "draft-06", matches: /json-schema\.org\/draft-06\/schema/, refAlone: true },
  { name: "draft-07", matches: /json-schema\.org\/draft-07\/schema/, refAlone: true },
  { name: "2019-09", matches: /json-schema\.org\/draft\/2019-09\/schema/, refAlone: false },
  { name: "2020-12", matches: /json-schema\.org\/draft\/2020-12\/schema/, refAlone: false },
];

export function loadSchema(source: unknown, use: SchemaUse): LoadedSchema {
  return new Loader(use).load(source);
}

class Loader {
  readonly #use: SchemaUse;
  readonly #problems: SchemaProblem[] = [];
  readonly #intended = createSpelling();
  readonly #patterns = new Map<string, { plan: PatternPlan; pointer: string }>();
  readonly #anchors = new Map<string, SchemaNode>();
  readonly #byRaw = new Map<object, SchemaNode>();
  readonly #pending: { readonly node: SchemaObject; readonly reference: string; readonly pointer: string }[] = [];
  readonly #references = new Map<SchemaObject, SchemaNode>();
  #raw: unknown;
  #rootId = "";
  #refAlone = false;
  #annotates = false;
  #nodes = 0;
  #guesses = MAX_GUESSES;
  #patternSteps = 0;

  constructor(use: SchemaUse) {
    this.#use = use;
  }

  load(source: unknown): LoadedSchema {
    this.#raw = source === undefined || source === null || source === true ? {} : source;
    if (typeof this.#raw !== "object" || this.#raw === null || Array.isArray(this.#raw)) {
      this.#error(
        "schema_not_object",
        "",
        `A schema must be a table, not ${describe(source)}`,
        'Write a table, such as { type = "object" }.',
      );
      this.#raw = {};
    }
    const raw = this.#raw as SchemaObject;
    this.#readDialect(raw);
    const root = this.#walk(this.#canonical(raw), "", 0, false) as SchemaObject;
    this.#byRaw.set(raw, root);
    for (let index = 0; index < this.#pending.length; index++) this.#resolve(this.#pending[index]);
    this.#refuseEndlessReferences();
    return {
      root,
      declared: root,
      references: this.#references,
      patterns: this.#patterns,
      annotates: this.#annotates,
      whole: this.#use === "input" ? "The input" : "The result",
      problems: this.#problems,
    };
  }

  /** An input schema always says that it is of an object and names its properties; some providers insist. */
  #canonical(raw: SchemaObject): SchemaObject {
    if (this.#use === "output") return raw;
    const type = own(raw, "type");
    const fits = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
    if (!fits) {
      this.#error(
        "schema_type",
        "/type",
        `An input is always an object, so "type" must be "object", not ${describe(type)}`,
        'Write type = "object" and put what you have under "properties".',
      );
    }
    return { ...withoutPrototype(raw), type: "object", properties: own(raw, "properties") ?? {} };
  }

  #readDialect(raw: SchemaObject): void {
    const id = own(raw, "$id") ?? own(raw, "id");
    if (typeof id === "string") this.#rootId = id.replace(/#$/, "");
    const named = own(raw, "$schema");
    if (named === undefined) return;
    const dialect = typeof named === "string" ? DIALECTS.find(({ matches }) => matches.test(named)) : undefined;
    if (dialect === undefined) {
      this.#warning(
        "schema_dialect",
        "/$schema",
        `The dialect ${describe(named)} is not known; the schema is read as 2020-12`,
        "Name one of the drafts 04, 06, 07, 2019-09 and 2020-12, or none.",
      );
    }
    this.#refAlone = dialect?.refAlone ?? false;
  }

  #walk(raw: unknown, pointer: string, depth: number, foreign: boolean): SchemaNode {
    if (typeof raw === "boolean") return raw;
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
      this.#error(
        "schema_not_schema",
        pointer,
        `A schema must be a table or a boolean, not ${describe(raw)}`,
        'Write a table, such as { type = "string" }.',
      );
      return true;
    }
    if (depth > MAX_DEPTH || ++this.#nodes > MAX_NODES) {
      if (depth > MAX_DEPTH || this.#nodes === MAX_NODES + 1) {
        this.#error(
          "schema_too_large",
          pointer,
          `A schema may be ${MAX_DEPTH} levels deep and have ${MAX_NODES} parts at most`,
          "Leave the inner parts open, and check them in the tool.",
        );
      }
      return true;
    }
    const node: Record<string, unknown> = Object.create(null);
    this.#byRaw.set(raw, node);
    const inside = foreign || (pointer !== "" && isResource(raw as SchemaObject));
    for (const [keyword, value] of Object.entries(raw)) {
      if (pointer === "" && ["$schema", "$id", "id"].includes(keyword) && typeof value === "string") continue;
      this.#spelling(keyword, `${pointer}/${toPointerToken(keyword)}`);
      const kept = this.#keyword(node, keyword, value, `${pointer}/${toPointerToken(keyword)}`, depth, inside);
      if (kept !== undefined) node[keyword] = kept;
    }
    const lacksItems = includesType(node["type"], "array") && node["items"] === undefined && node["prefixItems"] === undefined;
    if (lacksItems) node["items"] = Object.create(null);
    return node;
  }

  #keyword(node: SchemaObject, keyword: string, value: unknown, pointer: string, depth: number, foreign: boolean): unknown {
    const below = (part: unknown, at: string) => this.#walk(part, at, depth + 1, foreign);
    if (keyword === "unevaluatedItems" || keyword === "unevaluatedProperties") this.#annotates = true;
    if (SINGLE.has(keyword) || (keyword === "items" && !Array.isArray(value))) return below(value, pointer);
    if (LISTS.has(keyword) || keyword === "items") {
      if (Array.isArray(value)) return value.map((part, index) => below(part, `${pointer}/${index}`));
      return this.#misshapen(pointer, `"${keyword}" must be a list of schemas, not ${describe(value)}`);
    }
    if (MAPS.has(keyword)) return this.#map(keyword, value, pointer, below);
    const problem = wrongShape(keyword, value);
    if (problem !== null) return this.#misshapen(pointer, problem);
    if (keyword === "pattern") this.#pattern(value as string, pointer);
    if (/^\$(dynamic|recursive)(Ref|Anchor)$/.test(keyword)) {
      this.#error("schema_ref", pointer, `"${keyword}" is not supported`, 'Use "$ref" with a path into "$defs".');
    }
    // A list that repeats its seven words a thousand times would be walked at every visit.
    if (keyword === "type" && Array.isArray(value)) return [...new Set(value as readonly string[])];
    if (keyword === "required") return this.#required(value as readonly string[], pointer);
    if (keyword === "$ref") this.#refer(node, value as string, pointer, foreign);
    if (keyword === "$anchor") this.#anchors.set(value as string, node);
    if ((keyword === "$id" || keyword === "id") && typeof value === "string" && value.startsWith("#")) {
      this.#anchors.set(value.slice(1), node);
    }
    return plain(value);
  }

  #required(names: readonly string[], pointer: string): readonly string[] {
    const once = new Set<string>();
    const twice = names.find((name) => once.size === once.add(name).size);
    if (twice !== undefined) {
      this.#warning("schema_required", pointer, `"required" names "${clip(twice)}" more than once`, "Name each property once.");
    }
    return [...new Set(names)];
  }

  #spelling(keyword: string, pointer: string): void {
    const near = this.#intended(keyword);
    if (near === null) return;
    const message = `"${clip(keyword)}" is not a keyword of JSON Schema and has no effect`;
    this.#warning("schema_unknown_keyword", pointer, message, `Did you mean "${near}"?`);
  }

  #map(keyword: string, value: unknown, pointer: string, below: (part: unknown, at: string) => SchemaNode): unknown {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return this.#misshapen(pointer, `"${keyword}" must be a table, not ${describe(value)}`);
    }
    const map: Record<string, unknown> = Object.create(null);
    for (const [name, part] of Object.entries(value)) {
      const at = `${pointer}/${toPointerToken(name)}`;
      if (keyword === "patternProperties") this.#pattern(name, at);
      if (keyword === "dependencies" && Array.isArray(part)) map[name] = part.filter((entry) => typeof entry === "string");
      else if (keyword === "properties" && !isSchema(part)) this.#dropProperty(name, part, at);
      else map[name] = below(part, at);
    }
    return map;
  }

  /** A property that is no schema (`type = "object"` written one level too deep) must not take the tool down. */
  #dropProperty(name: string, part: unknown, pointer: string): void {
    const message = `The property "${clip(name)}" is ${describe(part)} where a schema belongs; it is left out`;
    this.#warning("schema_property", pointer, message, `Write it as a table of its own: [input_schema.properties.${clip(name)}].`);
  }

  #pattern(source: string, pointer: string): void {
    if (this.#patterns.has(source)) return;
    const translation = translatePattern(source);
    if (translation.kind === "plan") {
      this.#patterns.set(source, { plan: translation.plan, pointer });
      this.#payPattern(translation.size, pointer);
      return;
    }
    const unsupported = translation.code === "schema_pattern_unsupported";
    const message = unsupported
      ? `The pattern "${clip(source)}" cannot be run in linear time: ${clip(translation.problem)}`
      : `The pattern "${clip(source)}" is not a regular expression: ${clip(translation.problem)}`;
    this.#error(translation.code, pointer, message, translation.remedy);
  }

  #payPattern(size: number, pointer: string): void {
    const before = this.#patternSteps;
    this.#patternSteps += PATTERN_STEPS + size;
    if (before > MAX_PATTERN_STEPS || this.#patternSteps <= MAX_PATTERN_STEPS) return;
    const message = `The patterns up to here come to more than ${MAX_PATTERN_STEPS} steps`;
    this.#error("schema_too_large", pointer, message, "Use fewer patterns, or smaller repeats: maxLength bounds a text for less.");
  }

  #refer(node: SchemaObject, reference: string, pointer: string, foreign: boolean): void {
    const local = this.#rootId !== "" && reference.startsWith(this.#rootId) ? reference.slice(this.#rootId.length) : reference;
    if (foreign || (local !== "" && !local.startsWith("#"))) {
      const message = foreign
        ? `"$ref" below an inner "$id" is not supported: "${clip(reference)}"`
        : `"$ref" must stay inside the schema, and "${clip(reference)}" leaves it; nothing is fetched`;
      this.#error("schema_ref", pointer, message, 'Copy what it refers to into "$defs" and write "#/$defs/NAME".');
      return;
    }
    this.#pending.push({ node, reference: local, pointer });
  }

  #resolve(pending: { readonly node: SchemaObject; readonly reference: string; readonly pointer: string } | undefined): void {
    if (pending === undefined) return;
    const { node, reference, pointer } = pending;
    const fragment = decode(reference.slice(1));
    const target = fragment === "" || fragment.startsWith("/") ? this.#atPointer(fragment) : this.#anchors.get(fragment);
    if (target !== undefined) {
      this.#references.set(node, target);
      if (this.#refAlone) {
        for (const keyword of Object.keys(node)) {
          if (!REFERENCE_COMPANIONS.has(keyword)) delete (node as Record<string, unknown>)[keyword];
        }
      }
      return;
    }
    const near = this.#guesses-- > 0 ? nearest(fragment, this.#definitions()) : null;
    const remedy = near === null ? 'Define it under "$defs".' : `Did you mean "#${near}"?`;
    this.#error("schema_ref", pointer, `"$ref" points to "${clip(reference)}", which is not in the schema`, remedy);
  }

  /** What a reference most likely means to point to. */
  #definitions(): readonly string[] {
    const names = ["$defs", "definitions", "properties"].flatMap((keyword) =>
      Object.keys(own(this.#raw as SchemaObject, keyword) ?? {}).slice(0, MAX_GUESSED_AMONG).map((name) =>
        `/${keyword}/${toPointerToken(name)}`
      )
    );
    return names.slice(0, MAX_GUESSED_AMONG);
  }

  /** A reference may point below a keyword that is not one of ours: then that place is read as a schema now. */
  #atPointer(pointer: string): SchemaNode | undefined {
    let raw = this.#raw;
    for (const token of pointer.split("/").slice(1).map(fromPointerToken)) {
      raw = typeof raw === "object" && raw !== null ? own(raw as SchemaObject, token) : undefined;
    }
    const known = typeof raw === "object" && raw !== null ? this.#byRaw.get(raw) : undefined;
    if (known !== undefined) return known;
    return isSchema(raw) ? this.#walk(raw, pointer, pointer.split("/").length, false) : undefined;
  }

  #refuseEndlessReferences(): void {
    const state = new Map<SchemaNode, "open" | "done">();
    let chain = 0;
    let isTooLong = false;
    const visit = (node: SchemaNode): boolean => {
      if (typeof node === "boolean" || state.get(node) === "done") return false;
      if (state.get(node) === "open") return true;
      state.set(node, "open");
      if (++chain > MAX_CHAIN) return isTooLong = true;
      const endless = this.#inPlace(node).some(visit);
      chain--;
      state.set(node, "done");
      return endless;
    };
    for (const [node, { pointer }] of this.#pending.map((pending) => [pending.node, pending] as const)) {
      if (!visit(node)) continue;
      const message = isTooLong
        ? `This reference leads on through more than ${MAX_CHAIN} others`
        : "This reference leads back to itself without going into the value, so it would never end";
      this.#error("schema_ref", pointer, message, "Put a property or an item between the two, or copy the definition.");
      return;
    }
  }

  #inPlace(node: SchemaObject): readonly SchemaNode[] {
    const parts: unknown[] = [this.#references.get(node), ...IN_PLACE_SINGLE.map((keyword) => node[keyword])];
    for (const keyword of IN_PLACE_LISTS) parts.push(...(node[keyword] as unknown[] | undefined ?? []));
    for (const keyword of IN_PLACE_MAPS) parts.push(...Object.values(node[keyword] ?? {}));
    return parts.filter((part): part is SchemaNode => isSchema(part));
  }

  #misshapen(pointer: string, message: string): undefined {
    this.#error("schema_keyword", pointer, message, "Write it as JSON Schema has it, or remove it.");
    return undefined;
  }

  #error(code: string, pointer: string, message: string, remedy: string): void {
    this.#say("error", code, pointer, message, remedy);
  }

  #warning(code: string, pointer: string, message: string, remedy: string): void {
    this.#say("warning", code, pointer, message, remedy);
  }

  /** Whatever is left out, the first error never is. */
  #say(severity: SchemaProblem["severity"], code: string, pointer: string, message: string, remedy: string): void {
    const full = this.#problems.length >= MAX_PROBLEMS;
    if (full && (severity !== "error" || this.#problems.some((problem) => problem.severity === "error"))) return;
    this.#problems.push({ severity, code, pointer, message, remedy });
  }
}

function clip(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN).toWellFormed()}…` : text;
}

/** Up to draft-07 the other keywords beside `$ref` mean nothing, except that others may refer into them. */
const REFERENCE_COMPANIONS = new Set(["$ref", "$defs", "definitions", "title", "description", "default", "examples"]);
