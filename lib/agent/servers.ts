/** The MCP servers of a workspace: found, trusted or not, started with the first session and gone with the runtime. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { parseLocated } from "../config/located-json.ts";
import type { Paths } from "../config/paths.ts";
import { workspaceProgram } from "../gate/program-place.ts";
import { describeReason } from "../gate/trust.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { describeDiagnostic, hasErrors } from "../tools/diagnostic.ts";
import type { McpServer, MergedServers, ParsedMcpFile } from "../tools/mcp/config.ts";
import { type McpFile, mcpFiles } from "../tools/mcp/files.ts";
import type { McpRoom } from "../tools/mcp/room.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { newServerId } from "./ids.ts";
import type { AgentNotice } from "./options.ts";
import type { Policy } from "./policy.ts";
import type { Workshop } from "./workshop.ts";

/** What servers add to a workspace. */
export interface Servers {
  /** The workspace's tools and those that the servers offer now. */
  toolbox(): Toolbox;
  readonly notices: readonly AgentNotice[];
  close(): Promise<void>;
}

/**
 * Starts every server that may run and waits until each has answered or used up its time. Null if none is named: the
 * client is loaded only where there is something to talk to.
 */
export async function openServers(workshop: Workshop, paths: Paths, supervisor: Supervisor): Promise<Servers | null> {
  const present = mcpFiles(workshop.workspace, paths.config).filter(({ path }) => existsSync(path));
  if (present.length === 0) return null;
  const files = await readFiles(present);
  const { mergeServers } = await import("../tools/mcp/config.ts");
  const merged = mergeServers(files, (server) => inertBecause(server, workshop));
  const notices: AgentNotice[] = [...files.flatMap(toNotices), ...asideNotices(merged)];
  if (merged.active.length === 0) return { toolbox: () => workshop.toolbox, notices, close: () => Promise.resolve() };
  const room = await openRoom(merged, workshop, supervisor, (notice) => notices.push(notice));
  return { notices, close: () => room.close(), toolbox: () => workshop.assemble(room.candidates()) };
}

async function openRoom(
  merged: MergedServers,
  workshop: Workshop,
  supervisor: Supervisor,
  onNotice: (notice: AgentNotice) => void,
): Promise<McpRoom> {
  const { openMcp } = await import("../tools/mcp/room.ts");
  const room = openMcp({
    servers: merged.active,
    surroundings: { workspace: workshop.workspace, env: workshop.policy.inherited.env },
    open: (request) => supervisor.open(request),
    newId: newServerId,
    onNotice,
  });
  await room.ready;
  return room;
}

async function readFiles(files: readonly McpFile[]): Promise<readonly ParsedMcpFile[]> {
  const { parseMcpFile } = await import("../tools/mcp/config.ts");
  return await Promise.all(files.map(async (file) => {
    try {
      return parseMcpFile(file, await readFile(file.path, "utf8"), parseLocated);
    } catch (error) {
      const message = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      return { file, servers: [], broken: [], diagnostics: [{ severity: "error", code: "unreadable", message }] };
    }
  }));
}

/** A server of the workspace needs its trust, and so does a user's whose program the workspace would supply. */
function inertBecause({ scope, transport }: McpServer, { policy, workspace }: Workshop): string | null {
  const { verdict } = policy.trust;
  if (verdict.kind === "trusted") return null;
  if (scope === "workspace") return describeReason(verdict);
  return suppliedByWorkspace(transport, policy, workspace) ? `its program lies in the workspace, and ${describeReason(verdict)}` : null;
}

/** Package runners take a program out of the workspace's own `node_modules` first. */
const PACKAGE_RUNNERS = /(?:^|\/)(?:npx|bunx|pnpx|npm|pnpm|yarn|bun)$/;

function suppliedByWorkspace(transport: McpServer["transport"], { inherited }: Policy, workspace: string): boolean {
  if (transport.kind === "http") return false;
  const argv = [transport.cmd, ...transport.args];
  return PACKAGE_RUNNERS.test(transport.cmd) || workspaceProgram(argv, { workspace, path: inherited.env["PATH"] ?? "" }) !== null;
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
