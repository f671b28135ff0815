/**
 * Files that name MCP servers. Pure: a text gives its servers and everything that is wrong with it; nothing is started,
 * looked up or filled in.
 *
 * F1  A fault in one server leaves the others as they are.
 * F2  One name has one owner: the workspace before the user; in one scope Orrery's own file, then Stella's, then
 *     `.mcp.json`. What cannot run (broken, not trusted) takes no name; what is switched off by its file does.
 */
import { parse, TomlError } from "smol-toml";
import type { Diagnostic, Position } from "../diagnostic.ts";
import { describeDiagnostic } from "../diagnostic.ts";
import { createLocator, findPositions } from "../stella/positions.ts";
import type { McpFile } from "./files.ts";
import { type EntryFormat, JSON_FORMAT, kindOf, readServerEntry, type Say, type ServerEntry, TOML_FORMAT } from "./server-entry.ts";

export interface McpServer extends ServerEntry {
  readonly scope: "workspace" | "user";
  /** Of the file that names it. */
  readonly path: string;
}

export interface ParsedMcpFile {
  readonly file: McpFile;
  readonly servers: readonly McpServer[];
  /** Names of servers that are not usable, and why. */
  readonly broken: readonly { readonly name: string; readonly reason: string }[];
  readonly diagnostics: readonly Diagnostic[];
}

/** JSON with positions: the reader of the settings, which lives in another room. */
export type LocateJson = (text: string) =>
  | { readonly kind: "located"; readonly value: unknown; positionOf(path: readonly string[]): Position }
  | { readonly kind: "fault"; readonly message: string; readonly position: Position };

const MAX_SERVERS = 100;

export function parseMcpFile(file: McpFile, text: string, locateJson: LocateJson): ParsedMcpFile {
  return file.format === "toml" ? parseToml(file, text) : parseJson(file, text, locateJson);
}

export interface MergedServers {
  /** What may be started. */
  readonly active: readonly McpServer[];
  readonly disabled: readonly McpServer[];
  readonly inert: readonly { readonly server: McpServer; readonly reason: string }[];
  readonly shadowed: readonly { readonly server: McpServer; readonly by: McpServer }[];
}

/** `inertBecause`: why a server may not run here (trust), or null. Files in order of precedence. */
export function mergeServers(files: readonly ParsedMcpFile[], inertBecause: (server: McpServer) => string | null): MergedServers {
  const owners = new Map<string, McpServer>();
  const inert: { server: McpServer; reason: string }[] = [];
  const shadowed: { server: McpServer; by: McpServer }[] = [];
  for (const server of files.flatMap((file) => file.servers)) {
    const reason = inertBecause(server);
    const owner = owners.get(server.name);
    if (reason !== null) inert.push({ server, reason });
    else if (owner !== undefined) shadowed.push({ server, by: owner });
    else owners.set(server.name, server);
  }
  const owned = [...owners.values()];
  return { active: owned.filter(({ disabled }) => !disabled), disabled: owned.filter(({ disabled }) => disabled), inert, shadowed };
}

function parseToml(file: McpFile, text: string): ParsedMcpFile {
  const nothing = (diagnostic: Diagnostic) => ({ file, servers: [], broken: [], diagnostics: [diagnostic] });
  const mark = text.indexOf("\uFEFF", 1);
  if (mark !== -1) {
    const message = "A byte order mark may stand only at the very beginning of the file";
    return nothing(fault("toml_syntax", message, "Remove it.", createLocator(text)(mark)));
  }
  let table: Readonly<Record<string, unknown>>;
  try {
    table = parse(text, { integersAsBigInt: "asNeeded", maxDepth: 100 });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reason = message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "";
    const place = error instanceof TomlError ? { line: error.line, column: error.column } : null;
    return nothing(fault("toml_syntax", `Not valid TOML: ${reason}`, "Servers are written as [servers.NAME], texts in quotes.", place));
  }
  const positions = findPositions(text);
  const diagnostics: Diagnostic[] = [];
  const read = readServers(file, table, "servers", TOML_FORMAT, sayInto(diagnostics, (path) => positions.of(path)));
  return { file, ...read, diagnostics };
}

function parseJson(file: McpFile, text: string, locateJson: LocateJson): ParsedMcpFile {
  const located = locateJson(text);
  if (located.kind === "fault") {
    const remedy = 'Write one JSON object: {"mcpServers":{"NAME":{"command":"…"}}}.';
    return { file, servers: [], broken: [], diagnostics: [fault("json_syntax", located.message, remedy, located.position)] };
  }
  const diagnostics: Diagnostic[] = [];
  const say = sayInto(diagnostics, (path) => located.positionOf(path));
  if (typeof located.value !== "object" || located.value === null || Array.isArray(located.value)) {
    const message = `The file must hold one JSON object, not ${kindOf(located.value)}`;
    say("error", "wrong_type", [], message, 'Write {"mcpServers":{"NAME":{"command":"…"}}}.');
    return { file, servers: [], broken: [], diagnostics };
  }
  return { file, ...readServers(file, located.value as Readonly<Record<string, unknown>>, "mcpServers", JSON_FORMAT, say), diagnostics };
}

function sayInto(diagnostics: Diagnostic[], positionOf: (path: readonly string[]) => Position | null): Say {
  return (severity, code, path, message, remedy) =>
    void diagnostics.push({ severity, code, message: message.toWellFormed(), ...(positionOf(path) ?? {}), remedy });
}

function readServers(
  file: McpFile,
  root: Readonly<Record<string, unknown>>,
  key: string,
  format: EntryFormat,
  say: Say,
): Pick<ParsedMcpFile, "servers" | "broken"> {
  for (const other of Object.keys(root)) {
    // Other programs keep other things in their JSON; in TOML the file is all about servers.
    if (other !== key && file.format === "toml") {
      say("warning", "unknown_key", [other], `"${other.slice(0, 80)}" means nothing here`, `Servers are written as [${key}.NAME].`);
    }
  }
  const table = root[key];
  if (table === undefined) return { servers: [], broken: [] };
  if (typeof table !== "object" || table === null || Array.isArray(table) || table instanceof Date) {
    say("error", "wrong_type", [key], `"${key}" must be a table of servers, not ${kindOf(table)}`, HOW_TO_NAME_ONE[file.format]);
    return { servers: [], broken: [] };
  }
  const servers: McpServer[] = [];
  const broken: { name: string; reason: string }[] = [];
  for (const [index, [name, value]] of Object.entries(table).entries()) {
    if (index >= MAX_SERVERS) {
      const message = `A file may name ${MAX_SERVERS} servers; this one and what follows is not used`;
      say("error", "too_many", [key, name], message, "Remove those that nobody needs.");
      break;
    }
    const faults: string[] = [];
    const entry = readServerEntry(name, value, format, (severity, code, path, message, remedy) => {
      if (severity === "error") faults.push(describeDiagnostic({ severity, code, message, remedy }));
      say(severity, code, [key, ...path], message, remedy);
    });
    if (entry === null) broken.push({ name, reason: faults.join("; ") });
    else servers.push({ ...entry, scope: file.scope, path: file.path });
  }
  return { servers, broken };
}

const HOW_TO_NAME_ONE: Readonly<Record<McpFile["format"], string>> = {
  toml: "Write each server as [servers.NAME].",
  json: 'Write "mcpServers": {"NAME": {"command": "…"}}.',
};

function fault(code: string, message: string, remedy: string, position: Position | null): Diagnostic {
  return { severity: "error", code, message, ...(position ?? {}), remedy };
}
