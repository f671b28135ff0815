/**
 * Everything in a workspace that can start a process or grant something, with a digest of each: what trust is bound to.
 * The scripts that tools, hooks and servers run are not among it.
 *
 * Y1  Looking executes nothing, and is bounded: in depth, in files and in bytes.
 * Y2  What cannot be read has no digest, and nothing without a digest is ever trusted by a grant.
 * Y3  Links are followed: the digest is of the content they lead to.
 */
import { extname, join, relative } from "node:path";
import { sha256 } from "../platform/digest.ts";
import { canonicalText, numberToken, parseKeepingNumbers } from "../session/json.ts";
import { visible } from "./visible.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

export interface SurveyEntry {
  readonly kind: "tool" | "hook" | "mcp" | "setting";
  /** Relative to the workspace; `#key` for one key of a settings file. */
  readonly name: string;
  /** SHA-256 in hex; null if it could not be read. */
  readonly digest: string | null;
  readonly problem?: string;
  /** What it would do, for people: the commands of hooks, with what cannot be seen made visible. */
  readonly detail?: string;
}

export interface Survey {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  readonly entries: readonly SurveyEntry[];
}

interface ToolFolder {
  readonly folder: string;
  readonly endings: readonly string[];
  /** A tool written in a language may load whatever lies beside and below it, under any name. */
  readonly deep: boolean;
}

const TOOL_FOLDERS: readonly ToolFolder[] = [
  { folder: ".orrery/tools", endings: [], deep: true },
  { folder: ".stella/tools", endings: [".toml"], deep: false },
  { folder: ".nanocoder/tools", endings: [".md"], deep: false },
];
const MCP_FILES = [".orrery/mcp.toml", ".stella/mcp.toml", ".mcp.json"];
const SETTINGS_FILES = [".orrery/settings.json", ".stella/settings.json"];
const NANOCODER_SETTINGS = "agents.config.json";
/** Keys of a project's settings that count only if it is trusted; of `tools`, only what is turned on. */
const GRANTING_KEYS = ["hooks", "tools", "alwaysAllow", "model", "base_url", "mode", "speculation", "limits"];

const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** In all. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_DEPTH = 8;
/** Names that are looked at in all; a link to a large tree ends here. */
const MAX_NAMES = 5000;

export async function surveyWorkspace(workspace: string, files: WorkspaceFiles): Promise<Survey> {
  const surveyor = new Surveyor(workspace, files);
  for (const name of SETTINGS_FILES) await surveyor.settings(name, (value) => grantsOf(value));
  await surveyor.settings(NANOCODER_SETTINGS, (value) => isRecord(value["nanocoder"]) ? pick(value["nanocoder"], ["alwaysAllow"]) : []);
  for (const name of MCP_FILES) await surveyor.file("mcp", name);
  for (const folder of TOOL_FOLDERS) await surveyor.folder(folder.folder, folder, []);
  return { workspace, entries: surveyor.entries.sort((left, right) => left.name < right.name ? -1 : 1) };
}

type Part = readonly [key: string, value: unknown];

class Surveyor {
  readonly entries: SurveyEntry[] = [];
  readonly #workspace: string;
  readonly #files: WorkspaceFiles;
  #names = 0;
  #bytes = 0;

  constructor(workspace: string, files: WorkspaceFiles) {
    this.#workspace = workspace;
    this.#files = files;
  }

  /** `around`: the folders that it lies in, without symlinks, so that a link to one of them does not go round for ever. */
  async folder(name: string, rules: ToolFolder, around: readonly string[]): Promise<void> {
    await this.#attempt("tool", name, async () => {
      const real = await this.#files.real(join(this.#workspace, name));
      if (real === null) return;
      if (around.includes(real)) throw new Error("it is a link to a folder that it lies in");
      if (around.length > MAX_DEPTH) throw new Error(`it lies more than ${MAX_DEPTH} folders deep`);
      const found = await this.#files.list(real);
      this.#names += found.length;
      if (this.#names > MAX_NAMES) throw new Error(`there are more than ${MAX_NAMES} files`);
      for (const entry of found.toSorted((left, right) => left.name < right.name ? -1 : 1)) {
        const inner = `${name}/${entry.name}`;
        if (entry.kind === "file" && (rules.deep || rules.endings.includes(extname(entry.name)))) await this.file("tool", inner);
        else if (entry.kind === "directory" && rules.deep && entry.name !== "node_modules" && this.#names <= MAX_NAMES) {
          await this.folder(inner, rules, [...around, real]);
        }
      }
    });
  }

  async file(kind: SurveyEntry["kind"], name: string): Promise<void> {
    await this.#attempt(kind, name, async () => {
      const bytes = await this.#read(name);
      if (bytes !== null) this.entries.push({ kind, name, digest: sha256(bytes) });
    });
  }

  async settings(name: string, partsOf: (settings: Readonly<Record<string, unknown>>) => readonly Part[]): Promise<void> {
    await this.#attempt("setting", name, async () => {
      const bytes = await this.#read(name);
      if (bytes === null) return;
      const value = parseKeepingNumbers(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      if (!isRecord(value)) throw new Error("it is not a JSON object");
      for (const [key, part] of partsOf(value)) {
        const detail = key === "hooks" ? describeHooks(part) : "";
        this.entries.push({
          kind: key === "hooks" ? "hook" : "setting",
          name: `${name}#${key}`,
          digest: sha256(canonicalText(JSON.stringify(part))),
          ...(detail === "" ? {} : { detail }),
        });
      }
    });
  }

  async #read(name: string): Promise<Uint8Array | null> {
    if (this.#bytes > MAX_BYTES) throw new Error(`there are more than ${MAX_BYTES} bytes before it`);
    const bytes = await this.#files.read(join(this.#workspace, name), MAX_FILE_BYTES);
    this.#bytes += bytes?.length ?? 0;
    return bytes;
  }

  async #attempt(kind: SurveyEntry["kind"], name: string, look: () => Promise<void>): Promise<void> {
    try {
      await look();
    } catch (error) {
      this.entries.push({ kind, name, digest: null, problem: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** The name of a file as entries have it; null if it lies outside the workspace. */
export function entryName(workspace: string, path: string): string | null {
  const name = relative(workspace, path);
  return name === "" || name === ".." || name.startsWith("../") || name.startsWith("/") ? null : name;
}

function grantsOf(settings: Readonly<Record<string, unknown>>): readonly Part[] {
  return pick(settings, GRANTING_KEYS).flatMap(([key, value]): readonly Part[] => {
    if (key !== "tools" || !isRecord(value)) return [[key, value]];
    const on = Object.entries(value).filter(([, state]) => state === "on");
    return on.length === 0 ? [] : [[key, Object.fromEntries(on)]];
  });
}

function pick(settings: Readonly<Record<string, unknown>>, keys: readonly string[]): readonly Part[] {
  return keys.filter((key) => Object.hasOwn(settings, key)).map((key) => [key, settings[key]]);
}

/** `PreToolUse: ./guard.sh; Stop: ./done.sh`, as far as it can be made out. */
function describeHooks(hooks: unknown): string {
  if (!isRecord(hooks)) return "";
  const commands = Object.entries(hooks).flatMap(([event, groups]) =>
    asList(groups).flatMap((group) => isRecord(group) ? asList(group["hooks"]) : []).map((hook) => {
      const command = isRecord(hook) ? hook["command"] : undefined;
      return `${event}: ${typeof command === "string" ? visible(command) : "?"}`;
    })
  );
  return commands.join("; ");
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && numberToken(value) === null;
}
