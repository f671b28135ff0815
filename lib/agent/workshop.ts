/** What one workspace offers: its tools, and what the gate says of them. */
import { join, resolve } from "node:path";
import type { Environment, Paths } from "../config/paths.ts";
import type { ToolGroup } from "../gate/switches.ts";
import { describeReason, type WorkspaceTrust } from "../gate/trust.ts";
import { visible } from "../gate/visible.ts";
import { calledName } from "../platform/called.ts";
import { CATALOG } from "../tools/builtin/catalog.ts";
import { builtinTools } from "../tools/builtin/tools.ts";
import type { LoadContext } from "../tools/nanocoder/load.ts";
import { personalDirectory } from "../tools/nanocoder/windows.ts";
import type { LoadContext as ManifestContext } from "../tools/stella/load.ts";
import { distinctFolders, isWorthALook } from "../tools/folder-names.ts";
import type { LoadedTools, LoadTrust, ToolFolder } from "../tools/tool-folder.ts";
import type { Tool } from "../tools/tool.ts";
import { loadModules, moduleFolders, type RunAside } from "./tool-modules.ts";
import type { Origin } from "../session/event.ts";
import { type Candidate, createToolbox, type Toolbox } from "../tools/toolbox.ts";
import { stampFolders } from "./folder-stamp.ts";
import type { AgentNotice } from "./options.ts";
import { openPolicy, type Policy, type PolicyOptions } from "./policy.ts";
import { unknownRules } from "./rules.ts";

export interface Workshop {
  readonly workspace: string;
  readonly policy: Policy;
  readonly toolbox: Toolbox;
  /** The toolbox with more in it. */
  assemble(more: readonly Candidate[]): Toolbox;
  readonly notices: readonly AgentNotice[];
  /** What lay in the tool folders when they were read. */
  readonly stamp: string;
  /** Where tools can come and go while a session is open: what MCP servers add. */
  readonly live?: LiveTools;
}

export interface LiveTools {
  /** All tools as they are now; the same object as long as nothing has changed. */
  toolbox(): Toolbox;
  readonly servers: readonly ServerListing[];
  /** How many notices of servers stand among the workshop's. */
  readonly told: number;
  noticesAfter(told: number): { readonly last: number; readonly notices: readonly AgentNotice[] };
}

/** An MCP server of a workspace or of its user, and what became of it. */
export interface ServerListing {
  readonly name: string;
  readonly origin: Origin;
  /** Null if its entry is broken. */
  readonly transport: "stdio" | "http" | null;
  readonly trusted: boolean;
  readonly state: "connecting" | "connected" | "failed" | "disabled" | "untrusted" | "shadowed" | "broken";
  /** Why it is not connected. */
  readonly error?: string;
  /** How many it offers. */
  readonly tools: number;
}

/** What the program that opened the runtime brings. */
export interface Embedded {
  readonly own: readonly Candidate[];
  /** `own`: nothing else is a tool here. */
  readonly offer: "all" | "own";
}

const NOTHING_FOUND: LoadedTools = { candidates: [], notices: [] };
const NOTHING_EMBEDDED: Embedded = { own: [], offer: "all" };

/**
 * Finds and reads every tool and setting. Starts nothing but trusted tool files in code that it has not met before: what
 * they offer is known only by asking them. @throws {ConfigError}
 */
export async function openWorkshop(options: PolicyOptions, run: RunAside, embedded: Embedded = NOTHING_EMBEDDED): Promise<Workshop> {
  const { workspace } = options;
  const [stamp, policy] = await Promise.all([stampTools(options), openPolicy(options)]);
  const found = embedded.offer === "own" ? NOTHING_FOUND : await findTools(options, policy, run);
  const files = inFileOrder(found.candidates);
  const builtins = builtinTools().map((tool) => ({ kind: "tool", tool, family: "other" }) as const);
  const assemble = (more: readonly Candidate[]) =>
    createToolbox(embedded.offer === "own" ? embedded.own : [...embedded.own, ...files, ...more, ...builtins], {
      notices: found.notices,
      switchedOff: (tool) => policy.switches.offReason({ name: tool.rule_name ?? tool.name, group: groupOf(tool) }),
    });
  const toolbox = assemble([]);
  const notices = [...policy.notices, ...inertNotices(policy, toolbox), ...toolNotices(toolbox)];
  // Whether a rule for tools of servers names one is known when these have been asked.
  const rules = embedded.offer === "own" ? [] : ruleNotices(policy, toolbox, [], ["mcp__"]);
  return { workspace, policy, toolbox, assemble, notices: [...notices, ...rules], stamp };
}

/** Changes with every file in a folder of tools. */
export async function stampTools(options: PolicyOptions): Promise<string> {
  const { workspace, paths, env } = options;
  const folders = [...manifestFolders(workspace, paths, env), ...markdownFolders(options), ...moduleFolders(options)];
  return await stampFolders(folders.map(({ path }) => path));
}

/** What of a tool may lead into the workspace. */
function inWords(what: "command" | "script" | "variable", word: string | null): string | null {
  if (word === null) return null;
  return what === "variable" ? `its variable "${word}"` : `its ${what}, by "${word}",`;
}

/** What lies in the tool folders of a workspace and of its user. */
async function findTools(options: PolicyOptions, policy: Policy, run: RunAside): Promise<LoadedTools> {
  const { workspace, paths, env } = options;
  const trust = toLoadTrust(policy.trust);
  const found = await Promise.all([
    loadStella(manifestFolders(workspace, paths, env), ({ workspaceProgram, workspaceVariable }) => ({
      workspace,
      env: policy.inherited.env,
      trust,
      workspacePart: (command, path, own) => {
        const place = { workspace, path, home: policy.inherited.env["HOME"] };
        return inWords("command", workspaceProgram(command, place)) ?? inWords("variable", workspaceVariable(own, place));
      },
    })),
    loadMarkdown(options, ({ workspaceProgramOf, workspaceVariable }) => ({
      workspace,
      ...policy.inherited,
      trust,
      workspacePart: (script, { cwd, path, env: own }) => {
        const place = { workspace, cwd: resolve(workspace, cwd), path, home: policy.inherited.env["HOME"] };
        return inWords("script", workspaceProgramOf(script, place)) ?? inWords("variable", workspaceVariable(own, place));
      },
    })),
    // They would have to be started.
    options.settings === "sound" ? NOTHING_FOUND : loadModules(options, policy, trust, run),
  ]);
  return { candidates: found.flatMap(({ candidates }) => candidates), notices: found.flatMap(({ notices }) => notices) };
}

/** Orrery's own folders hold files of every dialect: the first by name comes first, whatever it is written in. */
function inFileOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  const pathOf = (candidate: Candidate) => (candidate.kind === "tool" ? candidate.tool.origin : candidate.origin).path ?? "";
  const own = candidates.filter(({ family }) => family === "orrery").toSorted((left, right) => pathOf(left) < pathOf(right) ? -1 : 1);
  return [...own, ...candidates.filter(({ family }) => family !== "orrery")];
}

export function toLoadTrust({ verdict, allowsFile }: WorkspaceTrust): LoadTrust {
  if (verdict.kind === "trusted") return verdict;
  return {
    kind: "untrusted",
    reason: `${describeReason(verdict)}. Look at its tools, then run ${calledName()} trust, or add --trust-workspace`,
    allowsFile,
  };
}

/** Folders that may hold Stella manifests, in order of precedence. */
export function manifestFolders(workspace: string, paths: Paths, env: Environment): readonly ToolFolder[] {
  const stella = [
    ...(paths.home === null ? [] : [join(paths.home, ".config/stella/tools")]),
    ...(env["XDG_CONFIG_HOME"] === undefined || env["XDG_CONFIG_HOME"] === "" ? [] : [join(env["XDG_CONFIG_HOME"], "stella/tools")]),
    ...(paths.home === null ? [] : [join(paths.home, ".stella/tools")]),
  ];
  const folders: readonly ToolFolder[] = [
    { path: join(workspace, ".orrery/tools"), scope: "workspace", family: "orrery" },
    { path: join(workspace, ".stella/tools"), scope: "workspace", family: "stella" },
    { path: join(paths.config, "tools"), scope: "user", family: "orrery" },
    ...stella.map((path) => ({ path, scope: "user", family: "stella" }) as const),
  ];
  return distinctFolders(folders, workspace);
}

/** The reader of manifests is not even loaded where there is no folder for them. */
async function loadStella(folders: readonly ToolFolder[], context: By<ManifestContext>): Promise<LoadedTools> {
  if (!folders.some(({ path }) => isWorthALook(path))) return NOTHING_FOUND;
  const [{ loadManifests }, place] = await Promise.all([import("../tools/stella/load.ts"), import("../gate/program-place.ts")]);
  return await loadManifests(folders, context(place));
}

/** Made with what knows where the words of a command lead, which is loaded only where there is one to ask about. */
type By<Context> = (place: typeof import("../gate/program-place.ts")) => Context;

/** The compiler of Markdown tools is not even loaded for a project without them. */
async function loadMarkdown(options: PolicyOptions, context: By<LoadContext>): Promise<LoadedTools> {
  const folders = markdownFolders(options);
  const places = [join(options.workspace, ".nanocoder"), ...folders.map(({ path }) => path)];
  if (!places.some((path) => isWorthALook(path))) return NOTHING_FOUND;
  const [{ loadMarkdownTools }, place] = await Promise.all([import("../tools/nanocoder/load.ts"), import("../gate/program-place.ts")]);
  return await loadMarkdownTools(folders, context(place));
}

/** Folders that may hold Markdown tools, in order of precedence. */
export function markdownFolders(
  { workspace, paths, env, platform }: Pick<PolicyOptions, "workspace" | "paths" | "env" | "platform">,
): readonly ToolFolder[] {
  const personal = personalDirectory(platform, env, paths.home);
  const folders: readonly ToolFolder[] = [
    { path: join(workspace, ".orrery/tools"), scope: "workspace", family: "orrery" },
    { path: join(workspace, ".nanocoder/tools"), scope: "workspace", family: "nanocoder" },
    { path: join(paths.config, "tools"), scope: "user", family: "orrery" },
    ...(personal === null ? [] : [{ path: personal, scope: "user", family: "nanocoder" } as const]),
  ];
  return distinctFolders(folders, workspace);
}

/** What does not run here and the command that would change it; null if nothing is inert. */
export function describeInertHere({ trust, survey }: Policy): string | null {
  if (trust.verdict.kind === "trusted" || trust.inert.length === 0) return null;
  const names = trust.inert.map(({ name, detail }) => detail === undefined ? visible(name) : `${visible(name)} (${visible(detail)})`);
  return `Not active, as ${describeReason(trust.verdict)} (${calledName()} trust ${survey.workspace} or --trust-workspace changes that): ${
    names.join(", ")
  }`;
}

/** One for all that is inert in the workspace, hooks and servers too. */
function inertNotices(policy: Policy, { listings }: Toolbox): readonly AgentNotice[] {
  const text = describeInertHere(policy);
  const elsewhere = listings.filter(({ status, origin }) => status === "untrusted" && origin.scope !== "workspace");
  return [
    ...(text === null ? [] : [{ level: "warning" as const, code: "workspace_untrusted", text }]),
    ...elsewhere.map(({ name, origin, reason }) => ({
      level: "warning" as const,
      code: "tool_untrusted",
      text: `The tool "${name}" (${origin.path}) is not active: ${reason}`,
    })),
  ];
}

function toolNotices({ notices }: Toolbox): readonly AgentNotice[] {
  return notices.filter(({ code }) => code !== "tool_untrusted");
}

function groupOf(tool: Tool): ToolGroup {
  if (tool.origin.system === "mcp") return "mcp";
  return CATALOG.find((row) => tool.origin.system === "builtin" && row.name === tool.name)?.group ?? "custom";
}

/**
 * What there is to say of rules that name nothing we know.
 * @param ruleNames of tools whose names in the toolbox are others. @param unknown beginnings of names that there may be.
 */
export function ruleNotices(
  policy: Policy,
  { listings }: Toolbox,
  ruleNames: readonly string[],
  unknown: readonly string[],
): readonly AgentNotice[] {
  const names = [...listings.flatMap(({ name }) => name === null ? [] : [name]), ...ruleNames];
  return unknownRules(policy, names, unknown).map(({ code, text }) => ({ level: "warning", code, text }));
}
