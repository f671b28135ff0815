/**
 * [child process] A user's `.ts` or `.js` file in a tool host: which tools it has, and one call of one of them. The
 * host serves this file and nothing else, so the process is made what the author expects: its environment, its
 * directory, and "orrery" and "valibot" to import.
 */
import process from "node:process";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import * as v from "valibot";
import { bun } from "../../platform/host.ts";
import { provideModules } from "../../platform/modules.ts";
import { type JsonInput, parseJson, toText } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import type { Diagnostic } from "../diagnostic.ts";
import { Tool, tool, ValidationError } from "./define.ts";
import { describeTool } from "./describe-tool.ts";
import { broken, CORRECT_TOOL, type Description, parseDescription, SPELLING } from "./description.ts";
import { collectTools, type ExportedTools } from "./exported-tools.ts";
import { invokeTool, toFailure } from "./invoke.ts";
import { describeThrown, errorsOf, stackOf } from "./thrown.ts";
import { toToolContext } from "./tool-context.ts";
import { nextUncaught } from "./uncaught.ts";
import type { WireMessage } from "./wire.ts";

export interface ModuleContext extends HostContext {
  readonly signal: AbortSignal;
  /** For those who watch the call. */
  send(message: WireMessage): void;
}

/** Never rejects: whatever the file does short of ending the process is a reply. */
export async function runModuleTool(file: string, name: string, input: JsonInput, context: ModuleContext): Promise<HostReply> {
  settleIn(context);
  const uncaught = nextUncaught();
  const loaded = await loadTools(file, uncaught);
  if (loaded.kind === "broken") return { is_error: true, text: loaded.diagnostics.map(({ message }) => message).join("\n") };
  const found = loaded.tools.find((each) => each.name === name);
  if (found === undefined) return { is_error: true, text: `Cannot call "${name}" as ${file} no longer has a tool of that name` };
  const report = (stack: string) => console.error(stack);
  const answer = invokeTool(found, input.value, toToolContext(context, context.send), report);
  return await Promise.race([answer, uncaught.catch((error: unknown) => toFailure(error, report))]);
}

/** The reply's `data` is a `Description`. */
export async function describeModule(file: string, context: HostContext): Promise<HostReply> {
  settleIn(context);
  const loaded = await loadTools(file, nextUncaught());
  const description = loaded.kind === "broken" ? loaded : describeAll(loaded);
  return { is_error: false, text: "", data: parseJson(toText(description)) };
}

let prepared = false;

/** Ahead of a call: everything that does not depend on it. */
export function prepare(): void {
  if (prepared) return;
  prepared = true;
  // On Deno the import map has both.
  if (bun !== null) provideModules({ orrery: surface, valibot: wholeValibot() });
}

/**
 * Every function that a file may use. What is required is valibot's other build: to import all of the one that the program
 * itself has a few functions of would put all of it into each of its starts.
 */
function wholeValibot(): Readonly<Record<string, unknown>> {
  return { ...require("valibot") as typeof v };
}

type Loaded = ({ readonly kind: "loaded" } & ExportedTools) | Extract<Description, { kind: "broken" }>;

/** What a tool file may import from "orrery" here. An agent has no place in the process of one call. */
const surface = { tool, Tool, ValidationError };

/** How Bun and Deno say that somebody imports more than that: in an agent's own program there is more. */
const NOT_HERE = /Export named '\w+' not found in module 'orrery'|module 'orrery' does not provide an export/;
const HERE = `; what a tool runs in knows only ${Object.keys(surface).join(", ")} of "orrery": ` +
  "put the tools into a file of their own, without the agent; or give them inProcess: true, if they are a program's";

/** The variables that the supervisor knows its processes by stay. */
const TAG = /^ORRERY_/;

function settleIn({ env, workspace }: HostContext): void {
  for (const variable of Object.keys(process.env)) if (!TAG.test(variable) && !Object.hasOwn(env, variable)) delete process.env[variable];
  Object.assign(process.env, env);
  process.chdir(workspace);
  prepare();
}

async function loadTools(file: string, uncaught: Promise<never>): Promise<Loaded> {
  try {
    const imported: Promise<Record<string, unknown>> = import(pathToFileURL(file).href);
    const exports = await Promise.race([imported, uncaught]);
    return { kind: "loaded", ...collectTools(Object.values(exports)) };
  } catch (error) {
    console.error(stackOf(error));
    return { kind: "broken", names: [], diagnostics: faultsOf(error).slice(0, MOST_FAULTS).map((fault) => toDiagnostic(fault, file)) };
  }
}

/** A file that is wrong from one end to the other is shown what comes first. */
const MOST_FAULTS = 20;

/** Bun throws all that it finds wrong with a text as one error, which says nothing of them. */
function faultsOf(error: unknown): readonly unknown[] {
  const faults = errorsOf(error);
  return faults.length > 0 && faults.every((each) => positionOf(each) !== null) ? faults : [error];
}

function toDiagnostic(error: unknown, file: string): Diagnostic {
  const text = stripVTControlCharacters(describeThrown(error, "It"));
  const position = positionOf(error);
  const elsewhere = position === null || position.file === file
    ? ""
    : ` (in ${position.file}, line ${position.line}, column ${position.column})`;
  return {
    severity: "error",
    code: "module_load",
    message: `Cannot load the file: ${text.replace(/^BuildMessage: /, "")}${elsewhere}${NOT_HERE.test(text) ? HERE : ""}`,
    remedy: "Correct the file, or what it imports.",
    ...placeOf(error, file),
  };
}

function describeAll({ tools, notices }: ExportedTools): Description {
  try {
    return parseDescription(tools.map(describeTool), SPELLING, notices);
  } catch (error) {
    return broken("tool_invalid", error instanceof Error ? error.message : String(error), CORRECT_TOOL);
  }
}

/** Where the file is wrong: Bun says so in fields of the error, Deno in its text. */
function placeOf(error: unknown, file: string): Pick<Diagnostic, "line" | "column"> {
  const position = positionOf(error);
  if (position !== null) return position.file === file ? { line: position.line, column: position.column } : {};
  const text = error instanceof Error ? stripVTControlCharacters(error.message) : "";
  const found = text.split("\n").flatMap((each) => each.includes(pathToFileURL(file).href) ? [/:(\d+):(\d+)\D*$/.exec(each)] : [])[0];
  return found === undefined || found === null ? {} : { line: Number(found[1]), column: Number(found[2]) };
}

const Position = v.object({ file: v.string(), line: v.number(), column: v.number() });

function positionOf(error: unknown): v.InferOutput<typeof Position> | null {
  const { position } = Object(error) as { readonly position?: unknown };
  const named = v.safeParse(Position, position);
  return named.success ? named.output : null;
}
