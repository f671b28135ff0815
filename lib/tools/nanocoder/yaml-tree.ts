/**
 * YAML as this dialect allows it: one document of YAML 1.2 core, without aliases, tags and merge keys. The library's
 * nodes become a small tree with offsets, in which nothing has changed its type without a trace.
 */
import { isAlias, isCollection, isMap, isPair, isScalar, isSeq, parseAllDocuments, Scalar, visit, type YAMLMap } from "yaml";
import { clip } from "../report.ts";
import { wholeDigits } from "./numbers.ts";
import type { Report } from "./report.ts";

export type YamlNode = YamlText | YamlMapping | YamlSequence | YamlLost;

/** What has a fault that was told, so that nothing is known of its value. Whatever is said of its place is left out. */
export interface YamlLost {
  readonly kind: "lost";
  readonly at: number;
}

/** A scalar. `source`: as written, for what is not a string. */
export interface YamlText {
  readonly kind: "scalar";
  readonly value: string | number | boolean | null;
  readonly source: string;
  readonly plain: boolean;
  /** A comment on its own line, and whether it looks like text that was meant to belong to the value. */
  readonly comment: "none" | "plain" | "suspicious";
  readonly at: number;
}

export interface YamlMapping {
  readonly kind: "mapping";
  readonly entries: readonly YamlEntry[];
  /** Whether something in it has a fault for which it may lack entries. */
  readonly partial: boolean;
  readonly at: number;
}

export interface YamlEntry {
  readonly key: string;
  readonly keyAt: number;
  readonly value: YamlNode;
}

export interface YamlSequence {
  readonly kind: "sequence";
  readonly items: readonly YamlNode[];
  readonly at: number;
}

/** Deeper than any tool needs. The parser takes quadratic time for deep nesting, so it is not even asked. */
const MAX_DEPTH = 60;

/**
 * The document, or null if it cannot be read. Faults go to the report; those that leave the rest readable stay in the
 * tree as what is lost. `at`: where the text begins in the file.
 */
export function parseYaml(text: string, at: number, report: Report): YamlNode | null {
  return new TreeBuilder(text, at, report).build();
}

class TreeBuilder {
  readonly #text: string;
  readonly #at: number;
  readonly #report: Report;

  constructor(text: string, at: number, report: Report) {
    this.#text = text;
    this.#at = at;
    this.#report = report;
  }

  build(): YamlNode | null {
    const deep = deepPlace(this.#text);
    if (deep !== null) {
      return this.#fault(
        "yaml_too_deep",
        deep,
        `The frontmatter is nested deeper than ${MAX_DEPTH} levels`,
        "Put text with brackets in quotes.",
      );
    }
    const documents = parseAllDocuments(this.#text, {
      version: "1.2",
      schema: "core",
      merge: false,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
    });
    const empty: YamlMapping = { kind: "mapping", entries: [], partial: false, at: this.#at };
    if (!Array.isArray(documents)) return empty;
    const [document, another] = documents;
    if (document === undefined) return empty;
    if (another !== undefined) {
      return this.#fault(
        "yaml_documents",
        another.range[0],
        "The frontmatter holds more than one YAML document",
        "Remove the line with ---, or quote it.",
      );
    }
    for (const { code, message, pos } of withoutSequels(document.errors, this.#text)) {
      this.#fault("yaml_syntax", pos[0], `The frontmatter is not valid YAML: ${message}`, hintFor(code, this.#text, pos[0]));
    }
    this.#refuseFeatures(document);
    if (document.errors.length > 0) return null;
    return document.contents === null ? empty : isMap(document.contents) ? this.#mapping(document.contents) : this.#node(document.contents);
  }

  #refuseFeatures(document: Parameters<typeof visit>[0]): void {
    visit(document, (_key, node) => {
      if (isPair(node) && isMergeKey(node.key)) {
        this.#fault("yaml_merge", node.key.range?.[0] ?? 0, "Merge keys (<<) are not allowed", "Write the keys out.");
        return visit.SKIP;
      }
      if (isAlias(node)) {
        this.#fault(
          "yaml_alias",
          node.range?.[0] ?? 0,
          `The alias *${node.source} is not allowed`,
          "Write the value out, or put it in quotes if it is text.",
        );
      }
      if (isTagged(node)) {
        this.#fault(
          "yaml_tag",
          node.range?.[0] ?? 0,
          `The tag ${clip(asWritten(node.tag))} is not allowed`,
          "Remove it, or put the value in quotes if it is text.",
        );
      }
      return undefined;
    });
  }

  #node(node: unknown): YamlNode {
    if (isMap(node)) {
      const mapping = this.#mapping(node);
      // Most likely a text that was meant to be in quotes, such as `{{ name }}`.
      return node.items.every(({ key }) => isScalar(key)) ? mapping : this.#lost(mapping.at);
    }
    if (isSeq(node)) return { kind: "sequence", items: node.items.map((item) => this.#node(item)), at: this.#offset(node) };
    if (isAlias(node)) return this.#lost(this.#at + (node.range?.[0] ?? 0));
    if (isScalar(node)) return isTagged(node) ? this.#lost(this.#offset(node)) : this.#scalar(node);
    throw new TypeError("Cannot read a YAML node of an unknown kind");
  }

  #mapping(node: YAMLMap): YamlMapping {
    const known = new Set<string>();
    const entries = node.items.flatMap(({ key, value }) => this.#entry(key, value, known));
    const partial = node.items.some(({ key }) => !isScalar(key) || isMergeKey(key));
    return { kind: "mapping", entries, partial, at: this.#offset(node) };
  }

  /** One that has no key of its own is left out. */
  #entry(key: unknown, value: unknown, known: Set<string>): readonly YamlEntry[] {
    if (isAlias(key) || isMergeKey(key)) return [];
    const keyAt = this.#offset(key);
    if (!isScalar(key)) {
      const message = "A key must be plain text, not a list or a mapping";
      this.#fault("yaml_key", keyAt - this.#at, message, "Put text with braces or brackets in quotes.");
      return [];
    }
    const name = keyText(key);
    if (known.size === known.add(name).size) {
      this.#fault("duplicate_key", keyAt - this.#at, `The key "${clip(name)}" is there twice`, "Remove one of them.");
      return [];
    }
    const absent: YamlText = { kind: "scalar", value: null, source: "", plain: true, comment: "none", at: keyAt };
    return [{ key: name, keyAt, value: value === null ? absent : this.#node(value) }];
  }

  #lost(at: number): YamlLost {
    this.#report.lose(at);
    return { kind: "lost", at };
  }

  #scalar(node: Scalar): YamlText {
    const at = this.#offset(node);
    const { value, source = "" } = node;
    const plain = node.type === Scalar.PLAIN;
    const kept = typeof value === "number" || typeof value === "boolean" || value === null ? value : String(value);
    return { kind: "scalar", value: kept, source, plain, comment: this.#commentOn(node), at };
  }

  /** `a #b` in a plain scalar is a comment, and often was not meant to be one. */
  #commentOn(node: Scalar): YamlText["comment"] {
    if (node.comment === undefined || node.comment === null || node.type !== Scalar.PLAIN) return "none";
    const after = this.#text.slice(node.range?.[1] ?? 0).split("\n", 1)[0] ?? "";
    if (!after.includes("#")) return "none";
    return /^ #|#[^\s#]/.test(after) ? "suspicious" : "plain";
  }

  #offset(node: unknown): number {
    const range = isScalar(node) || isCollection(node) ? node.range : null;
    return this.#at + (range?.[0] ?? 0);
  }

  #fault(code: string, offset: number, message: string, remedy: string): null {
    this.#report.add("error", code, this.#at + offset, message, remedy);
    return null;
  }
}

function isMergeKey(key: unknown): key is Scalar {
  return isScalar(key) && key.value === "<<";
}

/** The tag of an untagged node is not set, except by the parser for what was written. */
function isTagged(node: unknown): node is { readonly tag: string; readonly range?: readonly number[] | null } {
  return (isScalar(node) || isCollection(node)) && node.tag !== undefined;
}

/** A value as JSON whose numbers keep their token, as far as YAML's are JSON's; null if JSON has none such. */
export function toJsonText(node: YamlNode): string | null {
  if (node.kind === "lost") return null;
  if (node.kind === "sequence") {
    const items = node.items.map(toJsonText);
    return items.includes(null) ? null : `[${items.join(",")}]`;
  }
  if (node.kind === "mapping") {
    const members = node.entries.map(({ key, value }) => [JSON.stringify(key), toJsonText(value)] as const);
    return members.some(([, value]) => value === null) ? null : `{${members.map((member) => member.join(":")).join(",")}}`;
  }
  return typeof node.value === "number" ? numberText(node.source, node.value) : JSON.stringify(node.value);
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function numberText(source: string, value: number): string | null {
  if (JSON_NUMBER.test(source)) return source;
  return wholeDigits(source) ?? (Number.isFinite(value) ? JSON.stringify(value) : null);
}

export function describeNode(node: YamlNode): string {
  if (node.kind === "mapping") return "a mapping";
  if (node.kind === "sequence") return "a list";
  if (node.kind === "lost") return "what cannot be read";
  if (node.value === null) return "nothing";
  return typeof node.value === "string" ? "a string" : `the ${typeof node.value} ${clip(node.source)}`;
}

function keyText(key: Scalar): string {
  return typeof key.value === "string" ? key.value : key.source ?? String(key.value);
}

/** One mistake is one error: what follows it in its line, or because the parser then fell out of the document, is left out. */
function withoutSequels<E extends { readonly message: string; readonly pos: readonly [number, number] }>(
  errors: readonly E[],
  text: string,
): readonly E[] {
  const lines = new Set<number>();
  return errors.filter(({ message, pos }, index) => {
    const line = text.lastIndexOf("\n", pos[0] - 1);
    const isSequel = lines.has(line) || (index > 0 && message.includes(" in YAML stream"));
    lines.add(line);
    return !isSequel;
  });
}

function hintFor(code: string, text: string, offset: number): string {
  const line = text.slice(offset).split("\n", 1)[0] ?? "";
  if (code === "BAD_DQ_ESCAPE") return "Use single quotes, in which a backslash stands for itself.";
  if (code === "TAB_AS_INDENT") return "Indent with spaces.";
  if (line.includes(": ") || /^[@`*&!%[{]/.test(line)) return "Put the text in quotes.";
  return "Quote text that holds `: `, ` #`, brackets or braces.";
}

/** Where brackets, dashes or indentation go too deep, or null. An estimate that quotes do not mislead downwards. */
function deepPlace(text: string): number | null {
  let flow = 0;
  let at = 0;
  const indents: number[] = [];
  for (const line of text.split("\n")) {
    const lead = /^ *(?:[-?:] +)*/.exec(line)?.[0] ?? "";
    if (line.trim() !== "") {
      while (indents.length > 0 && (indents.at(-1) ?? 0) >= lead.length) indents.pop();
      indents.push(lead.length);
    }
    const dashes = lead.trim().split(/ +/).length;
    for (const [bracket] of line.matchAll(/[[\]{}]/g)) {
      flow = bracket === "[" || bracket === "{" ? flow + 1 : Math.max(0, flow - 1);
      if (flow > MAX_DEPTH) return at;
    }
    if (indents.length + dashes > MAX_DEPTH) return at;
    at += line.length + 1;
  }
  return null;
}

/** The parser writes `!!str` out. */
function asWritten(tag: string): string {
  return tag.replace(/^tag:yaml\.org,2002:/, "!!");
}
