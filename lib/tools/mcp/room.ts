/**
 * All MCP servers of a session or of a workspace.
 *
 * M1  Every server is connected in parallel and within its own time; `ready` waits for all of them, and never longer.
 * M2  No server can harm another, or keep a session from starting: what fails is a notice that names it.
 * M3  After `close` nothing of any server is alive.
 */
import type { Origin } from "../../session/event.ts";
import type { Candidate, Notice } from "../toolbox.ts";
import type { McpServer } from "./config.ts";
import { resolveServer, type Surroundings } from "./destination.ts";
import { nameOffers, type Offer } from "./listing.ts";
import { PATIENCE, ServerLink, type ServerPatience } from "./server.ts";
import { type McpTool, toMcpTool } from "./tool.ts";
import type { OpenConversation } from "./transport.ts";

export interface McpOptions {
  /** Only what may run: see `mergeServers`. */
  readonly servers: readonly McpServer[];
  readonly surroundings: Surroundings;
  readonly open: OpenConversation;
  /** A new id for a server's process. */
  newId(): string;
  /** `server`: whom it is about. */
  onNotice(notice: Notice, server: string): void;
  /** Tools have come, gone or changed. Not called before `ready`. */
  onChange?(): void;
  readonly patience?: Partial<ServerPatience>;
}

export type McpCandidate =
  | { readonly kind: "tool"; readonly tool: McpTool; readonly family: "other" }
  | Extract<Candidate, { kind: "broken" }>;

export interface McpRoom {
  /** Never rejects. */
  readonly ready: Promise<void>;
  /** What there is now, for the toolbox, by alias. */
  candidates(): readonly McpCandidate[];
  /** Every server that it was opened with. */
  status(): readonly ServerStatus[];
  close(): Promise<void>;
}

export interface ServerStatus {
  readonly server: string;
  /** `unresolved`: its entry cannot be filled in, so it is never connected. */
  readonly state: ServerLink["state"] | "unresolved";
  /** Why there is no connection, if there is none. */
  readonly problem: string | null;
  readonly tools: number;
}

export function openMcp(options: McpOptions): McpRoom {
  return new Room(options);
}

class Room implements McpRoom {
  readonly ready: Promise<void>;
  readonly #options: McpOptions;
  readonly #links: readonly ServerLink[];
  readonly #unresolved: ServerStatus[] = [];
  readonly #claims = new Set<string>();
  #isReady = false;
  #closing: Promise<void> | null = null;

  constructor(options: McpOptions) {
    this.#options = options;
    this.#links = options.servers.flatMap((server) => this.#link(server));
    this.ready = Promise.all(this.#links.map((link) => link.settled)).then(() => {
      this.#isReady = true;
      this.#reportClaims();
    });
  }

  candidates(): readonly McpCandidate[] {
    const { kept, claimed } = this.#offers();
    const tools = kept.map(({ offer, link }) => this.#toCandidate(offer, link));
    const broken = this.#links.flatMap((link) => link.listing.broken.map((each) => toBroken(each.tool, each, link)));
    const contested = claimed.map(({ offer, link }) => toBroken(offer.tool, { ...offer, reason: CONTESTED }, link));
    return [...tools.sort((left, right) => left.tool.name < right.tool.name ? -1 : 1), ...broken, ...contested];
  }

  status(): ReturnType<McpRoom["status"]> {
    const linked = this.#links.map(({ server, state, problem, listing }) => ({
      server: server.name,
      state,
      problem,
      tools: listing.offers.length,
    }));
    return [...linked, ...this.#unresolved];
  }

  close(): Promise<void> {
    return this.#closing ??= Promise.all(this.#links.map((link) => link.close())).then(() => undefined);
  }

  #link(server: McpServer): readonly ServerLink[] {
    const { surroundings, open, newId, onNotice, patience } = this.#options;
    const resolved = resolveServer(server, surroundings);
    if (resolved.kind === "unresolved") {
      const text = `The MCP server "${server.name}" (${server.path}) cannot be used: ${resolved.problem}`;
      onNotice({ level: "warning", code: "mcp_server_failed", text }, server.name);
      this.#unresolved.push({ server: server.name, state: "unresolved", problem: resolved.problem, tools: 0 });
      return [];
    }
    const watch = {
      onNotice: (level: Notice["level"], code: string, text: string) => onNotice({ level, code, text }, server.name),
      onListing: () => this.#changed(),
    };
    return [new ServerLink(server, resolved.destination, { open, newId, watch, patience: { ...PATIENCE, ...patience } })];
  }

  #changed(): void {
    if (!this.#isReady || this.#closing !== null) return;
    this.#reportClaims();
    this.#options.onChange?.();
  }

  #offers() {
    return nameOffers(
      this.#links.flatMap((link) => link.listing.offers.map((offer) => ({ offer, link, server: offer.server, tool: offer.tool }))),
    );
  }

  #reportClaims(): void {
    for (const { offer } of this.#offers().claimed) {
      const name = `"${offer.tool}" of "${offer.server}"`;
      // Servers that change their lists without end are not told of without end.
      if (this.#claims.has(name) || this.#claims.size >= MOST_CLAIMS) continue;
      this.#claims.add(name);
      const text = `The tool ${name} is not offered: ${CONTESTED}`;
      this.#options.onNotice({ level: "warning", code: "mcp_name_claimed", text }, offer.server);
    }
  }

  #toCandidate(offer: Offer, link: ServerLink): Extract<McpCandidate, { kind: "tool" }> {
    return { kind: "tool", family: "other", tool: toMcpTool(offer, originOf(link.server), (...call) => link.call(...call)) };
  }
}

const MOST_CLAIMS = 200;
const CONTESTED = "another server has a tool that a model would know by the same name";

function toBroken(
  tool: string | null,
  { server, description, reason }: { readonly server: string; readonly description: string; readonly reason: string },
  link: ServerLink,
): Extract<McpCandidate, { kind: "broken" }> {
  return {
    kind: "broken",
    name: null,
    description,
    origin: originOf(link.server),
    family: "other",
    reason: `${tool === null ? "a tool" : `the tool "${tool}"`} of the MCP server "${server}": ${reason}`,
  };
}

function originOf({ scope, path }: McpServer): Origin {
  return { system: "mcp", scope, path };
}
