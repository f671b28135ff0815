/** The MCP servers of a workspace: found, trusted or not, started with the first session and gone with the runtime. */
import { existsSync } from "node:fs";
import { parseLocated } from "../config/located-json.ts";
import type { Paths } from "../config/paths.ts";
import { describeReason } from "../gate/trust.ts";
import { workspaceFiles } from "../gate/workspace-files.ts";
import { sha256 } from "../platform/digest.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { describeDiagnostic, hasErrors } from "../tools/diagnostic.ts";
import type { McpServer, MergedServers, ParsedMcpFile } from "../tools/mcp/config.ts";
import { resolveServer } from "../tools/mcp/destination.ts";
import { type McpFile, mcpFiles } from "../tools/mcp/files.ts";
import type { McpRoom, ServerStatus } from "../tools/mcp/room.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { newServerId } from "./ids.ts";
import type { AgentNotice } from "./options.ts";
import type { Policy } from "./policy.ts";
import { ServerNotices } from "./server-notices.ts";
import { type LiveTools, ruleNotices, type ServerListing, type Workshop } from "./workshop.ts";

/** What servers add to a workspace. */
export interface Servers {
  /** The workspace with the tools that its servers offer now, and with what there is to say of them. */
  equip(workshop: Workshop): Workshop;
  close(): Promise<void>;
}

/**
 * Starts every server that may run and waits until each has answered or used up its time, or `stop`. The client is loaded only
 * where there is something to talk to.
 */
export async function openServers(workshop: Workshop, paths: Paths, supervisor: Supervisor, stop?: AbortSignal): Promise<Servers> {
  const named = await findServers(workshop, paths);
  const notices = new ServerNotices();
  if (named === null) return { equip: (plain) => judgeRules(plain, [], []), close: () => Promise.resolve() };
  const { files, merged } = named;
  const standing = [...files.flatMap(toNotices), ...asideNotices(merged)];
  const room = merged.active.length === 0 ? null : await openRoom(merged, workshop, supervisor, notices);
  if (room !== null) await untilReady(room.room, stop);
  return {
    equip: (plain) => equip(plain, { files, merged, room, notices }, standing),
    close: () => room?.room.close() ?? Promise.resolve(),
  };
}

/** How the names of tools begin that servers may have; all that servers may have if some file cannot be read. */
export async function serverPrefixes(
  workshop: Pick<Workshop, "workspace" | "policy">,
  paths: Pick<Paths, "config">,
): Promise<readonly string[]> {
  const found = await findServers(workshop, paths);
  if (found === null) return [];
  const { files, merged } = found;
  if (files.some(({ servers, broken, diagnostics }) => servers.length === 0 && broken.length === 0 && hasErrors(diagnostics))) {
    return ["mcp__"];
  }
  const { active, disabled, inert, shadowed } = merged;
  const known = [...active, ...disabled, ...[...inert, ...shadowed].map(({ server }) => server), ...files.flatMap(({ broken }) => broken)];
  return [...new Set(known.map(({ name }) => `mcp__${name}__`))];
}

/** The servers that files name, of which none is started; null if there is no such file. */
export async function findServers(
  workshop: Pick<Workshop, "workspace" | "policy">,
  paths: Pick<Paths, "config">,
): Promise<Pick<Ground, "files" | "merged"> | null> {
  const present = mcpFiles(workshop.workspace, paths.config).filter(({ path }) => existsSync(path));
  if (present.length === 0) return null;
  const files = await readFiles(present, workshop);
  const [{ mergeServers }, programs] = await Promise.all([import("../tools/mcp/config.ts"), import("../gate/program-place.ts")]);
  const changed = new Set(files.filter(({ changed }) => changed).map(({ file }) => file.path));
  return { files, merged: mergeServers(files, (server) => changed.has(server.path) ? CHANGED : inertBecause(server, workshop, programs)) };
}

interface OpenRoom {
  readonly room: McpRoom;
  /** Grows with every change of what is offered. */
  readonly changes: () => number;
}

interface Ground {
  readonly files: readonly ParsedMcpFile[];
  readonly merged: MergedServers;
  readonly room: OpenRoom | null;
  readonly notices: ServerNotices;
}

async function openRoom(merged: MergedServers, workshop: Workshop, supervisor: Supervisor, notices: ServerNotices): Promise<OpenRoom> {
  const { openMcp } = await import("../tools/mcp/room.ts");
  let changes = 0;
  const room = openMcp({
    servers: merged.active,
    surroundings: { workspace: workshop.workspace, env: workshop.policy.inherited.env },
    open: (request) => supervisor.open(request),
    newId: newServerId,
    onNotice: (notice, server) => notices.post(notice, server),
    onChange: () => void changes++,
  });
  return { room, changes: () => changes };
}

async function untilReady({ ready }: McpRoom, stop: AbortSignal | undefined): Promise<void> {
  if (stop === undefined) return await ready;
  if (stop.aborted) return;
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const listen = () => resolve();
  stop.addEventListener("abort", listen, { once: true });
  await Promise.race([ready, stopped]);
  stop.removeEventListener("abort", listen);
}

function equip(workshop: Workshop, ground: Ground, standing: readonly AgentNotice[]): Workshop {
  const { room, notices } = ground;
  const toolbox = followToolbox(workshop, ground);
  const live: LiveTools = {
    toolbox,
    get servers() {
      return listServers(ground, workshop);
    },
    told: notices.count,
    noticesAfter: (told) => notices.after(told),
  };
  const equipped = { ...workshop, toolbox: toolbox(), notices: [...workshop.notices, ...standing, ...notices.standing], live };
  const ruleNames = (room?.room.candidates() ?? []).flatMap((candidate) => candidate.kind === "tool" ? [candidate.tool.rule_name] : []);
  // Of a server that is not connected nobody knows the tools.
  const silent = live.servers.filter(({ state }) => state !== "connected").map(({ name }) => `mcp__${name}__`);
  return judgeRules(equipped, ruleNames, silent);
}

/** The toolbox as it is now, made anew only after a change. */
function followToolbox(workshop: Workshop, ground: Ground): () => Toolbox {
  const { room } = ground;
  let seen = -1;
  let latest = workshop.toolbox;
  return () => {
    const changes = room?.changes() ?? 0;
    if (changes !== seen) latest = explain(room === null ? workshop.toolbox : workshop.assemble(room.room.candidates()), ground, workshop);
    seen = changes;
    return latest;
  };
}

/** Why a tool that is not there is not: its server may be the reason. */
function explain(toolbox: Toolbox, ground: Ground, workshop: Workshop): Toolbox {
  return { ...toolbox, whyNot: (name) => toolbox.whyNot(name) ?? whyNoServer(name, listServers(ground, workshop)) };
}

function whyNoServer(name: string, servers: readonly ServerListing[]): ReturnType<Toolbox["whyNot"]> {
  const server = servers.find((each) => each.state !== "shadowed" && name.startsWith(`mcp__${each.name}__`));
  if (server === undefined || server.state === "connected" || server.state === "shadowed") return undefined;
  const reason = `"${name}" is not available, as the MCP server "${server.name}" ${STANDING[server.state]}${
    server.error === undefined ? "" : `: ${server.error}`
  }. It was not run.`;
  return { by: server.state === "untrusted" ? "trust" : "unknown_tool", reason };
}

/** How the state of a server is put into a sentence. */
const STANDING: Readonly<Record<Exclude<ServerListing["state"], "connected" | "shadowed">, string>> = {
  connecting: "is still connecting",
  failed: "has failed",
  disabled: "is disabled",
  untrusted: "is not trusted",
  broken: "is not described well",
};

function judgeRules(workshop: Workshop, ruleNames: readonly string[], unknown: readonly string[]): Workshop {
  const said = new Set(workshop.notices.map(({ text }) => text));
  const more = ruleNotices(workshop.policy, workshop.toolbox, ruleNames, unknown).filter(({ text }) => !said.has(text));
  return { ...workshop, notices: [...workshop.notices, ...more] };
}

/** Every server that a file names, by name. */
function listServers({ files, merged, room }: Ground, { policy }: Workshop): readonly ServerListing[] {
  const trusted = policy.trust.verdict.kind === "trusted";
  const statuses = new Map(room?.room.status().map((status) => [status.server, status]));
  const describe = (
    server: McpServer,
    rest: Pick<ServerListing, "state" | "tools"> & { readonly error?: string | null },
  ): ServerListing => {
    const { error, ...facts } = rest;
    return {
      name: server.name,
      origin: { system: "mcp", scope: server.scope, path: server.path },
      transport: server.transport.kind,
      trusted: facts.state !== "untrusted" && (trusted || server.scope === "user"),
      ...facts,
      ...(error === undefined || error === null ? {} : { error }),
    };
  };
  const broken = files.flatMap(({ file, broken }) =>
    broken.map(({ name, reason }): ServerListing => ({
      name,
      origin: { system: "mcp", scope: file.scope, path: file.path },
      transport: null,
      trusted: trusted || file.scope === "user",
      state: "broken",
      error: reason,
      tools: 0,
    }))
  );
  return [
    ...merged.active.map((server) => describe(server, stateOf(statuses.get(server.name)))),
    ...merged.disabled.map((server) => describe(server, { state: "disabled", error: "its file switches it off", tools: 0 })),
    ...merged.inert.map(({ server, reason }) => describe(server, { state: "untrusted", error: reason, tools: 0 })),
    ...merged.shadowed.map(({ server, by }) => describe(server, { state: "shadowed", error: `${by.path} has one of that name`, tools: 0 })),
    ...broken,
  ].sort((left, right) => left.name < right.name ? -1 : left.name === right.name ? 0 : 1);
}

function stateOf(status: ServerStatus | undefined): Pick<ServerListing, "state" | "tools"> & { readonly error: string | null } {
  switch (status?.state) {
    case "ready":
      return { state: "connected", tools: status.tools, error: null };
    case "connecting":
      return { state: "connecting", tools: status.tools, error: null };
    case "waiting":
    case "unresolved":
    case "closed":
    case undefined:
      return { state: "failed", tools: 0, error: status?.problem ?? "it is closed" };
  }
}

/** Nobody writes more by hand. */
const MAX_FILE_BYTES = 1024 * 1024;

interface ReadMcpFile extends ParsedMcpFile {
  /** It is not what was trusted any more: a server starts its first session long after it has looked at its workspace. */
  readonly changed: boolean;
}

const CHANGED = "its file has changed since this workspace was trusted";

async function readFiles(files: readonly McpFile[], { policy }: Pick<Workshop, "policy">): Promise<readonly ReadMcpFile[]> {
  const { parseMcpFile } = await import("../tools/mcp/config.ts");
  return await Promise.all(files.map(async (file) => {
    try {
      const bytes = await workspaceFiles.read(file.path, MAX_FILE_BYTES) ?? new Uint8Array();
      const changed = file.scope === "workspace" && !policy.trust.allowsFile(file.path, sha256(bytes));
      return {
        ...parseMcpFile(file, new TextDecoder().decode(bytes), parseLocated),
        changed: changed && policy.trust.verdict.kind === "trusted",
      };
    } catch (error) {
      const message = `It cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      const remedy = "Make it a file that can be read here, or remove it.";
      return { file, servers: [], broken: [], diagnostics: [{ severity: "error", code: "unreadable", message, remedy }], changed: false };
    }
  }));
}

/** What knows where the words of a command lead. */
type Programs = typeof import("../gate/program-place.ts");

/** A server of the workspace needs its trust, and so does a user's who would run what the workspace supplies. */
function inertBecause(server: McpServer, { policy, workspace }: Pick<Workshop, "workspace" | "policy">, programs: Programs): string | null {
  const { verdict } = policy.trust;
  if (verdict.kind === "trusted") return null;
  if (server.scope === "workspace") return describeReason(verdict);
  return suppliedByWorkspace(server, policy, workspace, programs)
    ? `its command may lead into the workspace, and ${describeReason(verdict)}`
    : null;
}

/** As it would be started: what is filled in counts too, and may be a secret. */
function suppliedByWorkspace(
  server: McpServer,
  { inherited: { env } }: Policy,
  workspace: string,
  { workspaceProgram, workspaceVariable }: Programs,
): boolean {
  const { transport } = server;
  if (transport.kind === "http") return false;
  const resolved = resolveServer(server, { workspace, env });
  const { argv, own } = resolved.kind === "resolved" && resolved.destination.kind === "stdio"
    ? { argv: resolved.destination.argv, own: pick(resolved.destination.env, Object.keys(transport.env)) }
    : { argv: [transport.cmd, ...transport.args], own: transport.env };
  const place = { workspace, path: own["PATH"] ?? env["PATH"] ?? "", home: env["HOME"] };
  return workspaceProgram(argv, place) !== null || workspaceVariable(own, place) !== null;
}

function pick(env: Readonly<Record<string, string>>, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, Object.hasOwn(env, name) ? env[name] ?? "" : ""]));
}

function asideNotices({ inert, shadowed }: MergedServers): readonly AgentNotice[] {
  return [
    ...inert.map(({ server, reason }) => ({
      level: "warning" as const,
      code: "server_untrusted",
      text: `The MCP server "${server.name}" (${server.path}) is not started: ${reason}`,
    })),
    ...shadowed.map(({ server, by }) => ({
      level: "info" as const,
      code: "server_shadowed",
      text: `The MCP server "${server.name}" of ${server.path} is not used, as ${by.path} has one of that name`,
    })),
  ];
}

function toNotices({ file, diagnostics }: ParsedMcpFile): readonly AgentNotice[] {
  return diagnostics.filter(({ severity }) => severity !== "info").map((said) => ({
    level: hasErrors([said]) ? "error" : "warning",
    code: said.code,
    text: `${file.path}: ${describeDiagnostic(said)}`,
  }));
}
