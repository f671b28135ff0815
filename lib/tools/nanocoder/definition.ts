/** From the text of a file to the definition of a tool, with everything there is to say about it. */
import { type Diagnostic, hasErrors, type Position } from "../diagnostic.ts";
import { nearest } from "../nearest.ts";
import { loadPatternEngine, type PatternEngine } from "../schema-pattern.ts";
import type { Approval } from "../tool.ts";
import { isDropped } from "./environment.ts";
import { splitFile } from "./frontmatter.ts";
import { nameFault } from "./name.ts";
import { isInert, type Parameter, type ReadParameters, readParameters } from "./parameters.ts";
import { MAX_SCRIPT_BYTES } from "./render.ts";
import { clip } from "../report.ts";
import { Report } from "./report.ts";
import type { Dialect } from "./shell-state.ts";
import { type Budget, compileTemplate, type Declared, type Piece } from "./template.ts";
import { tagNames } from "./template-tags.ts";
import { warnOfEvaluations, warnOfTags } from "./warnings.ts";
import { describeNode, parseYaml, type YamlEntry, type YamlMapping, type YamlNode } from "./yaml-tree.ts";

export interface Definition {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly approval: Approval;
  readonly read_only: boolean;
  readonly timeout_ms: number;
  /** As written; null for the project root. */
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly shell: Dialect;
  readonly pieces: readonly Piece[];
}

/** `definition` is null if there are errors; `name` and `description` as far as they could be read. */
export interface ParsedDefinition {
  readonly definition: Definition | null;
  readonly name: string | null;
  readonly description: string | null;
  /** Where the name is written. */
  readonly namePosition: Position | null;
  readonly diagnostics: readonly Diagnostic[];
}

export interface ParseOptions {
  /** The shell of a tool that names none. */
  readonly defaultShell: Dialect;
  /** Names of variables that children do not get. */
  readonly withheld?: readonly string[];
  /** What compiling the bodies of all files may cost together. */
  readonly budget?: Budget;
}

const KEYS = ["name", "description", "parameters", "approval", "read_only", "timeout_ms", "cwd", "env", "shell"];
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 300_000;
/** Linux takes no longer `NAME=value`. */
const MAX_VARIABLE_BYTES = 131_071;
const VARIABLE = /^[A-Za-z_]\w*$/;
const WITHOUT_NUL = "Remove the character.";

export async function parseDefinition(source: string, options: ParseOptions): Promise<ParsedDefinition> {
  const file = splitFile(source);
  if (file.kind === "fault") {
    const { code, message, remedy, line } = file;
    return {
      definition: null,
      name: null,
      description: null,
      namePosition: null,
      diagnostics: [{ severity: "error", code, message, remedy, line, column: 1 }],
    };
  }
  const report = new Report(file.text);
  const tree = parseYaml(file.yaml, file.yamlAt, report);
  if (tree !== null && tree.kind !== "mapping") {
    report.add(
      "error",
      "not_a_mapping",
      tree.at,
      `The frontmatter must be a mapping, not ${describeNode(tree)}`,
      "Write key: value lines.",
    );
  }
  if (tree?.kind !== "mapping") {
    readBody(file.body, file.bodyAt, NOTHING_KNOWN, { ...UNKNOWN_HEAD, budget: options.budget }, report);
    return { definition: null, name: null, description: null, namePosition: null, diagnostics: report.sorted() };
  }
  const patterns = file.yaml.includes("pattern") ? await patternEngine() : null;
  const fields = new Fields(tree, file.yamlAt, report);
  const head = readHead(fields, report);
  const declared = readParameters(fields.get("parameters"), patterns, report);
  const run = readRun(fields, options, report);
  const pieces = readBody(file.body, file.bodyAt, tree.partial ? { ...declared, isUnread: () => true } : declared, {
    ...head,
    shell: run.shell,
    budget: options.budget,
  }, report);
  const { name, description, approval, read_only } = head;
  const diagnostics = report.sorted();
  const definition = hasErrors(diagnostics) || name === null || description === null
    ? null
    : { name, description, parameters: declared.parameters, approval, read_only, ...run, pieces };
  return { definition, name, description, namePosition: report.positionOf(fields.at("name")), diagnostics };
}

let engine: Promise<PatternEngine> | null = null;

/** An import costs half a millisecond even when the module is there, which is as much as all the rest of a file. */
function patternEngine(): Promise<PatternEngine> {
  return engine ??= loadPatternEngine();
}

/** The top-level keys. A key without a value counts as absent. */
class Fields {
  /** Whether a key that is not there may be missing for a fault that was told. */
  readonly partial: boolean;
  readonly #entries: ReadonlyMap<string, YamlEntry>;
  readonly #start: number;
  readonly #report: Report;

  constructor({ entries, partial }: YamlMapping, start: number, report: Report) {
    this.partial = partial;
    this.#start = start;
    this.#report = report;
    this.#entries = new Map(
      entries.filter(({ value }) => value.kind !== "scalar" || value.value !== null).map((entry) => [entry.key, entry]),
    );
    for (const { key, keyAt } of entries) if (!KEYS.includes(key)) this.#reportUnknown(key, keyAt);
  }

  get(key: string): YamlNode | null {
    return this.#entries.get(key)?.value ?? null;
  }

  at(key: string): number {
    return this.#entries.get(key)?.value.at ?? this.#start;
  }

  text(key: string): string | null {
    const node = this.get(key);
    if (node === null) return null;
    if (node.kind === "scalar" && typeof node.value === "string") return node.value;
    return this.#fault(key, node, `must be a string, not ${describeNode(node)}`, "Put the text in quotes.");
  }

  choice<T extends string>(key: string, choices: readonly T[]): T | null {
    const node = this.get(key);
    if (node === null) return null;
    const found = node.kind === "scalar" ? choices.find((choice) => choice === node.value) : undefined;
    if (found !== undefined) return found;
    const meant = node.kind === "scalar" && typeof node.value === "string" ? nearest(node.value, choices) : null;
    return this.#fault(
      key,
      node,
      `must be ${choices.join(" or ")}, not ${shown(node)}`,
      meant === null ? `Write ${key}: ${choices[0]}, or another of them.` : `Did you mean ${meant}?`,
    );
  }

  flag(key: string): boolean | null {
    const node = this.get(key);
    if (node === null) return null;
    if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
    return this.#fault(key, node, `must be true or false, not ${shown(node)}`, "Write true or false, without quotes.");
  }

  #fault(key: string, node: YamlNode, problem: string, remedy: string): null {
    this.#report.add("error", "wrong_type", node.at, `"${key}" ${problem}`, remedy);
    return null;
  }

  #reportUnknown(key: string, at: number): void {
    if (key === "subscribe") {
      this.#report.add("warning", "subscribe_ignored", at, '"subscribe" does nothing here: no event starts a tool', "Remove it.");
      return;
    }
    const meant = nearest(key, KEYS);
    const remedy = meant === null ? `Known keys are ${KEYS.join(", ")}.` : `Did you mean ${meant}?`;
    this.#report.add("warning", "unknown_key", at, `The key "${clip(key)}" is not known and does nothing`, remedy);
  }
}

interface Head {
  readonly name: string | null;
  readonly description: string | null;
  readonly approval: Approval;
  readonly read_only: boolean;
}

function readHead(fields: Fields, report: Report): Head {
  const name = fields.text("name");
  if (name !== null) checkName(name, fields.at("name"), report);
  else if (fields.get("name") === null && !fields.partial) {
    report.add("error", "missing_name", fields.at("name"), '"name" is missing', "Write name: and a name like word_count.");
  }
  const description = fields.text("description")?.trim() ?? null;
  if (description === "") {
    report.add("error", "missing_description", fields.at("description"), '"description" is blank', "Say in a sentence what the tool does.");
  } else if (description === null && fields.get("description") === null && !fields.partial) {
    report.add(
      "error",
      "missing_description",
      fields.at("description"),
      '"description" is missing',
      "Say in a sentence what the tool does.",
    );
  }
  warnOfComment(fields.get("description"), report);
  const approval = fields.choice("approval", ["never", "always", "destructive"]) ?? "always";
  return { name, description, approval, read_only: fields.flag("read_only") ?? approval === "never" };
}

function checkName(name: string, at: number, report: Report): void {
  const fault = nameFault(name);
  if (fault !== null) report.add(fault.severity, fault.code, at, fault.message, fault.remedy);
}

function warnOfComment(node: YamlNode | null, report: Report): void {
  if (node?.kind !== "scalar" || node.comment !== "suspicious") return;
  report.add(
    "warning",
    "comment_in_text",
    node.at,
    "The description ends at ` #`, where a comment begins",
    "Put the text in quotes, or two spaces before the comment.",
  );
}

function readRun(fields: Fields, options: ParseOptions, report: Report): Pick<Definition, "timeout_ms" | "cwd" | "env" | "shell"> {
  return {
    timeout_ms: readTimeout(fields, report),
    cwd: readCwd(fields, options, report),
    env: readEnv(fields.get("env"), options, report),
    shell: fields.choice("shell", ["bash", "sh"]) ?? options.defaultShell,
  };
}

function readTimeout(fields: Fields, report: Report): number {
  const node = fields.get("timeout_ms");
  if (node === null) return DEFAULT_TIMEOUT_MS;
  const value = node.kind === "scalar" ? node.value : null;
  if (typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MAX_TIMEOUT_MS) return value;
  const message = `"timeout_ms" must be a whole number from 1 to ${MAX_TIMEOUT_MS}, not ${shown(node)}`;
  report.add("error", "invalid_timeout", node.at, message, "Write digits only, like timeout_ms: 30000.");
  return DEFAULT_TIMEOUT_MS;
}

function readCwd(fields: Fields, options: ParseOptions, report: Report): string | null {
  const cwd = fields.text("cwd");
  if (cwd === null) return null;
  if (cwd.includes("\0")) {
    report.add("error", "nul_character", fields.at("cwd"), '"cwd" has a NUL character, which no path can hold', WITHOUT_NUL);
  }
  warnOfWithheld(cwd, '"cwd"', fields.at("cwd"), options, report);
  return cwd === "" ? null : cwd;
}

function readEnv(node: YamlNode | null, options: ParseOptions, report: Report): Readonly<Record<string, string>> {
  const env: Record<string, string> = Object.create(null);
  if (node === null) return env;
  if (node.kind !== "mapping") {
    report.add("error", "wrong_type", node.at, `"env" must be a mapping, not ${describeNode(node)}`, "Write NAME: value lines below it.");
    return env;
  }
  for (const { key, keyAt, value } of node.entries) {
    if (key === "" || key.includes("=") || key.includes("\0")) {
      report.add(
        "error",
        "env_name",
        keyAt,
        `${JSON.stringify(clip(key))} cannot be the name of a variable`,
        "Use letters, digits and underscores.",
      );
    } else if (!VARIABLE.test(key)) {
      const message = `No shell can use a variable called ${JSON.stringify(clip(key))}, and some do not hand it on to what they run`;
      report.add("warning", "env_name", keyAt, message, "Use letters, digits and underscores, and no digit first.");
    }
    const text = envText(value);
    if (text === null) {
      report.add(
        "error",
        "wrong_type",
        value.at,
        `The value of env "${clip(key)}" must be a string, not ${describeNode(value)}`,
        "Put the text in quotes.",
      );
    } else if (text.includes("\0")) {
      const message = `The value of env "${clip(key)}" has a NUL character, which no variable can hold`;
      report.add("error", "nul_character", value.at, message, WITHOUT_NUL);
    } else if (Buffer.byteLength(`${key}=${text}`) > MAX_VARIABLE_BYTES) {
      report.add(
        "error",
        "env_too_large",
        value.at,
        `The value of env "${clip(key)}" is longer than ${MAX_VARIABLE_BYTES} bytes`,
        "Put the text in a file.",
      );
    } else {
      warnOfWithheld(text, `The value of env "${clip(key)}"`, value.at, options, report);
      env[key] = text;
    }
  }
  return env;
}

/** Numbers and booleans as they are written; nothing is the empty text. */
function envText(node: YamlNode): string | null {
  if (node.kind !== "scalar") return null;
  return typeof node.value === "string" ? node.value : node.value === null ? "" : node.source;
}

function warnOfWithheld(text: string, what: string, at: number, { withheld = [] }: ParseOptions, report: Report): void {
  const names = [...text.matchAll(/\$\{([A-Za-z_]\w*)(?::-[^}]*)?\}/g)].map(([, name]) => name ?? "").filter((name) =>
    withheld.includes(name) || isDropped(name)
  );
  for (const name of new Set(names)) {
    const message = `${what} uses ${name}, which tools do not get; it counts as not set`;
    const remedy = isDropped(name)
      ? "Use another variable."
      : `Use another variable, or name ${name} in the user's setting tools.env_allow.`;
    report.add("warning", "variable_withheld", at, message, remedy);
  }
}

/** A tag of which nothing is known is refused only where no tag may stand. */
const UNREAD: Declared = { optional: true, list: false, inert: true };
const NOTHING_KNOWN: ReadParameters = { parameters: [], isUnread: () => true };
/** Those with which least is said of a body. */
const UNKNOWN_HEAD = { approval: "always", read_only: false, shell: "bash" } as const;

function readBody(
  body: string,
  at: number,
  { parameters, isUnread }: ReadParameters,
  head: Pick<Head, "approval" | "read_only"> & { readonly shell: Dialect; readonly budget: Budget | undefined },
  report: Report,
): readonly Piece[] {
  if (body === "") {
    report.add("error", "empty_body", at, "The body is empty", "Write the shell script below the frontmatter.");
    return [];
  }
  if (Buffer.byteLength(body) > MAX_SCRIPT_BYTES) {
    report.add(
      "error",
      "body_too_large",
      at,
      `The body is longer than ${MAX_SCRIPT_BYTES} bytes, which is the most that a shell can be given`,
      "Move the script to a file and call it.",
    );
    return [];
  }
  const nul = body.indexOf("\0");
  if (nul >= 0) report.add("error", "nul_character", at + nul, "The body has a NUL character, which no script can hold", WITHOUT_NUL);
  const unread = tagNames(body).filter(isUnread);
  const declared = new Map<string, Declared>([
    ...unread.map((name) => [name, UNREAD] as const),
    ...parameters.map((parameter) => {
      const { name, type, required } = parameter;
      return [name, { optional: !required, list: type === "array", inert: isInert(parameter) }] as const;
    }),
  ]);
  const template = compileTemplate(body, head.shell, declared, head.budget);
  for (const { code, message, remedy, at: offset, also } of template.faults) {
    report.add("error", code, at + offset, message.replace("$line", () => String(report.positionOf(at + (also ?? 0)).line)), remedy);
  }
  for (const { name, at: offset } of template.undeclared) {
    const meant = nearest(name, parameters.map((parameter) => parameter.name));
    const remedy = meant === null ? "Declare it under parameters." : `Did you mean ${meant}?`;
    report.add(
      "warning",
      "undeclared_parameter",
      at + offset,
      `No parameter is called "${clip(name)}", so the tag renders as nothing`,
      remedy,
    );
  }
  for (const warning of [...warnOfTags(template.uses, parameters, head), ...warnOfEvaluations(template.evaluations, template.uses)]) {
    report.add(warning.severity, warning.code, at + warning.at, warning.message, warning.remedy);
  }
  return template.pieces;
}

function shown(node: YamlNode): string {
  return node.kind === "scalar" && typeof node.value === "string" ? `"${clip(node.value)}"` : describeNode(node);
}
