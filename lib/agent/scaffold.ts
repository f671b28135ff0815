/**
 * Writes a new tool that works as it is.
 *
 * C1  Nothing is written outside the workspace, whatever links lie on the way, and no file is replaced.
 * C2  Either all files of the tool are there afterwards or none of them.
 */
import { existsSync, realpathSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { UsageError } from "../config/error.ts";
import { sha256 } from "../platform/digest.ts";
import { describeDiagnostic } from "../tools/diagnostic.ts";
import { scaffoldSdkTool } from "../tools/sdk/scaffold.ts";
import { parseManifest } from "../tools/stella/manifest.ts";
import type { Listing } from "../tools/toolbox.ts";

export type ScaffoldFormat = "stella" | "nanocoder" | "ts" | "py";

export interface ScaffoldRequest {
  readonly name: string;
  readonly format: ScaffoldFormat;
}

export interface CreatedTool {
  readonly tool: string;
  /** Absolute; the definition first. */
  readonly files: readonly string[];
  /** Of the definition's bytes. */
  readonly digest: string;
}

/** @throws {UsageError} the name or a file is taken, the name is not valid, or the folder lies outside the workspace. */
export async function writeScaffold(workspace: string, { name, format }: ScaffoldRequest, known: readonly Listing[]): Promise<CreatedTool> {
  const { tool, drafts } = await draft(name, format);
  const taken = known.find((listing) => listing.name === tool && listing.origin.scope !== "user");
  if (taken !== undefined) {
    throw new UsageError(
      `Cannot create a tool called "${tool}" as that is already the name of ${taken.origin.path ?? "a built-in"}: choose another name`,
    );
  }
  const files = drafts.map(({ path }) => join(workspace, path));
  for (const file of files) checkPlace(file, workspace);
  await writeAll(drafts.map((draft) => ({ ...draft, path: join(workspace, draft.path) })));
  return { tool, files, digest: sha256(drafts[0]?.text ?? "") };
}

interface Draft {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

interface Drafts {
  readonly tool: string;
  readonly drafts: readonly Draft[];
}

async function draft(name: string, format: ScaffoldFormat): Promise<Drafts> {
  switch (format) {
    case "stella":
      return await stellaDrafts(name);
    case "nanocoder":
      return await nanocoderDrafts(name);
    case "ts":
    case "py":
      return sdkDrafts(name, format);
  }
}

function sdkDrafts(name: string, language: "ts" | "py"): Drafts {
  const scaffold = scaffoldSdkTool(name, language);
  if (scaffold.kind === "refused") throw new UsageError(scaffold.problem);
  return { tool: name, drafts: [{ path: `.orrery/tools/${scaffold.file}`, text: scaffold.text, mode: 0o644 }] };
}

async function nanocoderDrafts(given: string): Promise<Drafts> {
  // It knows YAML, which nothing else here needs.
  const { scaffoldTool } = await import("../tools/nanocoder/scaffold.ts");
  const scaffold = scaffoldTool(given);
  if (scaffold.kind === "refused") throw new UsageError(scaffold.problem);
  return { tool: scaffold.name, drafts: [{ path: `.nanocoder/tools/${scaffold.file}`, text: scaffold.text, mode: 0o644 }] };
}

async function stellaDrafts(name: string): Promise<Drafts> {
  const text = manifestText(name);
  const fault = (await parseManifest(text)).diagnostics.find(({ severity }) => severity !== "info");
  if (fault !== undefined) {
    const { line: _line, column: _column, ...said } = fault;
    throw new UsageError(`Cannot create a tool called ${JSON.stringify(name)}: ${describeDiagnostic(said)}`);
  }
  return {
    tool: name,
    drafts: [
      { path: `.stella/tools/${name}.toml`, text, mode: 0o644 },
      { path: `scripts/${name}.sh`, text: scriptText(name), mode: 0o755 },
    ],
  };
}

/** A link on the way may lead anywhere, so what counts is where the part of the way that exists ends. */
function checkPlace(file: string, workspace: string): void {
  if (existsSync(file)) throw new UsageError(`Cannot create "${file}" as it exists: choose another name, or remove it first`);
  let folder = dirname(file);
  while (!existsSync(folder)) folder = dirname(folder);
  const real = realpathSync(folder);
  if (real === workspace || real.startsWith(workspace.endsWith(sep) ? workspace : workspace + sep)) return;
  throw new UsageError(`Cannot create "${file}" as ${folder} leads to ${real}, which is outside the workspace`);
}

async function writeAll(drafts: readonly Draft[]): Promise<void> {
  const written: string[] = [];
  try {
    // The definition comes last, so that no listing meets a tool without its script.
    for (const { path, text, mode } of drafts.toReversed()) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: "wx", mode });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    throw new UsageError(`Cannot create the tool's files: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function manifestText(name: string): string {
  return `name = ${JSON.stringify(name)}
description = "Say in one sentence what this tool does and what it returns."
command = ["scripts/${/^[\w-]+$/.test(name) ? name : "tool"}.sh"]
timeout_ms = 30000

[input_schema]
type = "object"
required = ["message"]

[input_schema.properties.message]
type = "string"
description = "What to print."
`;
}

function scriptText(name: string): string {
  return `#!/bin/sh
# Runs when a model calls ${name}; starts in the workspace's root.
set -eu

# Each top-level text, number and boolean of the input is in the environment. The whole input is one JSON document on
# standard input.
printf '%s\\n' "$STELLA_INPUT_MESSAGE"

# What is printed is the result. For an error, exit with another code than 0 and say why on standard error.
`;
}
