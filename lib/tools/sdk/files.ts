/**
 * Tool files of an Orrery tools directory, and the tools in them. A file's tools are known only by running it, so a
 * file that is not trusted has none that could be named, and what was found out is kept by the file's digest.
 */
import type { Origin } from "../../session/event.ts";
import type { Launch, Run } from "../../session/launch.ts";
import { type Diagnostic, hasErrors } from "../diagnostic.ts";
import type { Schema } from "../schema.ts";
import type { Tool } from "../tool.ts";
import type { ToolFile } from "../tool-files.ts";
import { compileTool } from "./compile-tool.ts";
import { type Description, readKept, type ToolDescription } from "./description.ts";
import type { DescriptionCache } from "./description-cache.ts";
import type { Language, Place } from "./language.ts";
import { typescript } from "./module-tool.ts";
import { python } from "./python-tool.ts";

export const languages: readonly Language[] = [typescript, python];

export type SdkFile =
  | { readonly kind: "untrusted"; readonly origin: Origin; readonly reason: string }
  | {
    readonly kind: "broken";
    readonly origin: Origin;
    /** Of its tools, as far as they are known. */
    readonly names: readonly string[];
    readonly diagnostics: readonly Diagnostic[];
  }
  | { readonly kind: "tools"; readonly origin: Origin; readonly tools: readonly Tool[]; readonly diagnostics: readonly Diagnostic[] };

export interface SdkPorts {
  readonly place: Place;
  readonly cache: DescriptionCache;
  /** Whether each file is asked, whatever is kept of it: what it imports may be gone. */
  readonly afresh?: boolean;
  /** Runs a launch supervised. Never rejects. */
  run(launch: Launch): Promise<Run>;
}

const DESCRIBE_TIMEOUT_MS = 10_000;

/**
 * @param file whose extension is one of the language's.
 * @param untrusted why it may not run; null if it may.
 */
export async function loadSdkFile(
  file: ToolFile,
  scope: "workspace" | "user",
  language: Language,
  untrusted: string | null,
  ports: SdkPorts,
): Promise<SdkFile> {
  const origin: Origin = { system: "sdk", scope, path: file.path };
  if (file.kind === "unreadable") return { kind: "broken", origin, names: [], diagnostics: [file.diagnostic] };
  if (untrusted !== null) return { kind: "untrusted", origin, reason: untrusted };
  const description = await describe(file.path, file.digest, language, ports);
  if (description.kind === "broken") return { ...description, origin };
  const compiled = await Promise.all(description.tools.map(async (tool) => ({ tool, ...await compileTool(tool) })));
  const none = description.tools.length === 0 ? [noTools(file.text, language)] : [];
  const diagnostics = [...none, ...description.notices, ...compiled.flatMap((each) => each.diagnostics)];
  if (hasErrors(diagnostics)) return { kind: "broken", origin, names: description.tools.map(({ name }) => name), diagnostics };
  const source = { origin, path: file.path, digest: file.digest, language };
  const tools = compiled.flatMap(({ tool, schema }) => schema === undefined ? [] : [createTool(tool, schema, source)]);
  return { kind: "tools", origin, diagnostics, tools };
}

/** It may be a part of other files. One that imports what tools are made with was perhaps meant to have some. */
function noTools(text: string, { sdk, name }: Language): Diagnostic {
  const severity = text.includes(sdk) ? "warning" : "info";
  const remedy = `${name === "python" ? "Define" : "Export"} a tool; leave the file as it is if other files import it.`;
  return { severity, code: "no_tools", message: "The file has no tools", remedy };
}

async function describe(path: string, digest: string, language: Language, ports: SdkPorts): Promise<Description> {
  const key = { path, digest };
  const kept = ports.afresh === true ? undefined : await ports.cache.read(key);
  const known = readKept(kept);
  if (known !== null) return known;
  const description = language.readDescription(await ports.run(language.describe(path, ports.place, DESCRIBE_TIMEOUT_MS)));
  // What is broken today may work tomorrow with the same bytes: a package was missing, a disk was slow.
  if (description.kind === "described") await ports.cache.write(key, description);
  else await ports.cache.forget(key);
  return description;
}

interface Source {
  readonly origin: Origin;
  readonly path: string;
  readonly digest: string;
  readonly language: Language;
}

function createTool(description: ToolDescription, schema: Schema, { origin, path, digest, language }: Source): Tool {
  const { name, read_only, speculation_safe, approval } = description;
  return {
    name,
    description: description.description,
    input_schema: schema.declared,
    origin,
    digest,
    read_only,
    speculation_safe,
    approval,
    check: ({ value, text }) => schema.check(value, text),
    plan: (input, context) => ({
      kind: "launch",
      launch: language.call(path, description, input, context),
      program: path,
      program_digest: digest,
    }),
    read: (run) => language.read(name, run),
  };
}
