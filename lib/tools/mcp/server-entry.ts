/** One server as a file describes it, in TOML or in the common JSON. All faults at once. */
import type { Diagnostic } from "../diagnostic.ts";
import { nearest } from "../nearest.ts";
import { clip } from "../report.ts";
import { hasPlaceholder, urlProblem } from "./destination.ts";
import { serverNameProblem } from "./names.ts";

export type ServerTransport =
  | { readonly kind: "stdio"; readonly cmd: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: "http"; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export interface ServerEntry {
  readonly name: string;
  readonly transport: ServerTransport;
  /** The file says that it is not to be started. */
  readonly disabled: boolean;
}

/** How the two formats call what they both have. */
export interface EntryFormat {
  readonly kind: string;
  readonly command: string;
  /** Keys that mean something to others and nothing to us. */
  readonly ignored: readonly string[];
}

export const TOML_FORMAT: EntryFormat = {
  kind: "transport",
  command: "cmd",
  ignored: ["candidate_safe", "title", "description", "icon", "homepage"],
};
export const JSON_FORMAT: EntryFormat = {
  kind: "type",
  command: "command",
  ignored: ["description", "alwaysAllow", "autoApprove", "timeout"],
};

/** `path` leads from the root of the document to what is wrong. */
export type Say = (severity: Diagnostic["severity"], code: string, path: readonly string[], message: string, remedy: string) => void;

export function readServerEntry(name: string, value: unknown, format: EntryFormat, say: Say): ServerEntry | null {
  let failed = false;
  const reader = new EntryReader(name, format, (severity, ...said) => {
    failed ||= severity === "error";
    say(severity, ...said);
  });
  const entry = reader.read(value);
  return failed ? null : entry;
}

const KINDS: Readonly<Record<string, ServerTransport["kind"]>> = {
  stdio: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
};
/** The transport writes these itself. */
const OWN_HEADERS = new Set(["accept", "content-type", "content-length", "host", "connection", "last-event-id"]);
const MAX_ARGUMENTS = 1000;
const MAX_TEXT_BYTES = 131_000;

class EntryReader {
  readonly #name: string;
  readonly #format: EntryFormat;
  readonly #say: Say;

  constructor(name: string, format: EntryFormat, say: Say) {
    this.#name = name;
    this.#format = format;
    this.#say = (severity, code, path, message, remedy) => say(severity, code, [name, ...path], message, remedy);
  }

  read(value: unknown): ServerEntry | null {
    const problem = serverNameProblem(this.#name);
    if (problem !== null) {
      this.#error("invalid_name", [], `"${clip(this.#name)}" cannot be the name of a server: ${problem}`, "Give it another name.");
    }
    if (!isTable(value)) {
      this.#error("wrong_type", [], `The server "${clip(this.#name)}" must be a table, not ${kindOf(value)}`, this.#example());
      return null;
    }
    this.#reportUnknownKeys(value);
    const kind = this.#readKind(value);
    const disabled = this.#readFlag(value, "disabled") || (value["enabled"] !== undefined && !this.#readFlag(value, "enabled"));
    if (kind === null) return null;
    const transport: ServerTransport = kind === "stdio"
      ? { kind, cmd: this.#readCommand(value), args: this.#readArguments(value["args"]), env: this.#readTable(value, "env") }
      : { kind, url: this.#readUrl(value["url"]), headers: this.#readHeaders(value) };
    return { name: this.#name, transport, disabled };
  }

  #readKind(table: Table): ServerTransport["kind"] | null {
    const { kind: key, command } = this.#format;
    const named = table[key];
    if (named !== undefined) {
      const kind = typeof named === "string" && Object.hasOwn(KINDS, named) ? KINDS[named] : undefined;
      if (kind !== undefined) return kind;
      const old = named === "sse" ? "; the older transport over SSE is not spoken here" : "";
      this.#error(
        "unknown_transport",
        [key],
        `"${key}" must be "stdio" or "http"${old}`,
        named === "sse" ? 'Most such servers also speak "http".' : `Write "stdio" or "http", or leave "${key}" out.`,
      );
      return null;
    }
    const [hasCommand, hasUrl] = [table[command] !== undefined, table["url"] !== undefined];
    if (hasCommand !== hasUrl) return hasCommand ? "stdio" : "http";
    const message = hasCommand
      ? `It has both "${command}" and "url", so it cannot be told how to reach it`
      : `It has neither "${command}" nor "url"`;
    const other = OTHER_NAMES[command] ?? "";
    const missing = table[other] === undefined ? this.#example() : `Write "${command}" in place of "${other}".`;
    const remedy = hasCommand ? `Keep "${command}" for a program, or "url" for an address.` : missing;
    this.#error(hasCommand ? "ambiguous_transport" : "missing_transport", [], message, remedy);
    return null;
  }

  #readCommand(table: Table): string {
    const { command } = this.#format;
    const value = table[command];
    if (typeof value === "string" && value.trim() !== "") {
      this.#checkText([command], value);
      return value;
    }
    if (value === undefined) this.#error("missing_command", [], `"${command}" is missing`, this.#example());
    else if (value === "" || typeof value === "string") {
      this.#error("empty_command", [command], `"${command}" is empty`, "Name the program.");
    } else this.#error("wrong_type", [command], `"${command}" must be a string, not ${kindOf(value)}`, 'Put arguments into "args".');
    return "";
  }

  #readArguments(value: unknown): readonly string[] {
    if (value === undefined) return [];
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string")) {
      this.#error("wrong_type", ["args"], '"args" must be a list of strings', 'Write ["one", "two"], each in quotes.');
      return [];
    }
    if (value.length > MAX_ARGUMENTS) {
      this.#error(
        "too_large",
        ["args"],
        `"args" has ${value.length} entries, and may have ${MAX_ARGUMENTS}`,
        "Put them into a file of its own.",
      );
    }
    for (const each of value) this.#checkText(["args"], each);
    return value;
  }

  #readUrl(value: unknown): string {
    if (typeof value !== "string") {
      const isMissing = value === undefined;
      const remedy = "Write an address that begins with https:// or http://.";
      this.#error(isMissing ? "missing_url" : "wrong_type", isMissing ? [] : ["url"], '"url" must be a string', remedy);
      return "";
    }
    const problem = hasPlaceholder(value) ? null : urlProblem(value);
    if (problem !== null) {
      this.#error("invalid_url", ["url"], `It cannot be reached: ${problem}`, "Write an address that begins with https:// or http://.");
    }
    return value;
  }

  #readHeaders(table: Table): Readonly<Record<string, string>> {
    const headers = this.#readTable(table, "headers");
    const kept: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      const path = ["headers", name];
      if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
        this.#error("invalid_header", path, `"${clip(name)}" cannot be the name of a header`, "Use letters, digits and - alone.");
      } else if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
        const message = `The header "${clip(name)}" has a character that no header can hold`;
        this.#error("invalid_header", path, message, "Remove line breaks, and encode what is not Latin.");
      } else if (OWN_HEADERS.has(name.toLowerCase()) || name.toLowerCase().startsWith("mcp-")) {
        this.#say("warning", "own_header", path, `The header "${name}" is set by the protocol itself; this one is not sent`, "Remove it.");
      } else kept[name] = value;
    }
    return kept;
  }

  #readTable(table: Table, key: "env" | "headers"): Readonly<Record<string, string>> {
    const value = table[key];
    if (value === undefined) return {};
    if (!isTable(value)) {
      this.#error("wrong_type", [key], `"${key}" must be a table of strings, not ${kindOf(value)}`, "Name each value, in quotes.");
      return {};
    }
    const kept: Record<string, string> = Object.create(null);
    for (const [name, each] of Object.entries(value)) {
      if (typeof each !== "string") {
        this.#error("wrong_type", [key, name], `"${clip(name)}" must be a string, not ${kindOf(each)}`, "Put the value in quotes.");
      } else if (key === "env" && (name === "" || name.includes("="))) {
        this.#error("env_name", [key, name], `"${clip(name)}" cannot be the name of a variable`, 'Give it a name without "=".');
      } else {
        this.#checkText([key, name], `${name}=${each}`);
        kept[name] = each;
      }
    }
    return kept;
  }

  #readFlag(table: Table, key: string): boolean {
    const value = table[key];
    if (value === undefined || typeof value === "boolean") return value ?? false;
    this.#error("wrong_type", [key], `"${key}" must be true or false, not ${kindOf(value)}`, "Write true or false without quotes.");
    return false;
  }

  #checkText(path: readonly string[], text: string): void {
    if (text.includes("\0")) this.#error("nul", path, "It contains a NUL character, which no program can be given", "Remove it.");
    const size = Buffer.byteLength(text);
    if (size > MAX_TEXT_BYTES) {
      this.#error("too_large", path, `It has ${size} bytes, and may have ${MAX_TEXT_BYTES}`, "Put it into a file, and name that.");
    }
  }

  #reportUnknownKeys(table: Table): void {
    const { kind, command, ignored } = this.#format;
    const known = [kind, command, "args", "env", "url", "headers", "disabled", "enabled"];
    for (const key of Object.keys(table)) {
      if (known.includes(key) || ignored.includes(key)) continue;
      const meant = Object.keys(OTHER_NAMES).find((right) => known.includes(right) && OTHER_NAMES[right] === key) ?? nearest(key, known);
      this.#say(
        "warning",
        "unknown_key",
        [key],
        `"${clip(key)}" means nothing here`,
        meant === null ? "Remove it." : `Did you mean "${meant}"?`,
      );
    }
  }

  #example(): string {
    const { command, kind } = this.#format;
    return kind === "type"
      ? `Write {"${command}": "PROGRAM"} or {"url": "https://…"}.`
      : `Write ${command} = "PROGRAM" or url = "https://…".`;
  }

  #error(code: string, path: readonly string[], message: string, remedy: string): void {
    this.#say("error", code, path, message, remedy);
  }
}

/** A value's kind, in words that hold for both formats. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (typeof value === "object") return "a table";
  if (typeof value === "bigint") return "a number";
  return typeof value === "boolean" ? "true or false" : `a ${typeof value}`;
}

/** What a key is called in the other format. */
const OTHER_NAMES: Readonly<Record<string, string>> = { cmd: "command", command: "cmd", transport: "type", type: "transport" };

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
