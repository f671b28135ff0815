/**
 * All tools of a session in one list, whatever dialect they are written in.
 *
 * B1  One name has one owner: the workspace before the user before the built-ins; in one scope Orrery's own folder
 *     before Stella's before Nanocoder's; in one folder the first file by name.
 * B2  A copy that cannot run (broken, not trusted) shadows nothing.
 * B3  Every file that was found is in the list, with what became of it and why.
 */
import type { OfferedTool, Origin } from "../session/event.ts";
import type { ToolDeclaration } from "../session/message.ts";
import { parse } from "node:path";
import { describeDiagnostic, type Position } from "./diagnostic.ts";
import { describeLoss } from "./lost-names.ts";
import { closest } from "./nearest.ts";
import type { Approval, Tool } from "./tool.ts";
import { describeUnread } from "./unread-files.ts";

export type Status = "offered" | "off" | "untrusted" | "shadowed" | "broken";
export type Family = "orrery" | "stella" | "nanocoder" | "other";

/** One thing that would be a tool. `nameAt`: where its file has its name; asked only of one that loses it. */
export type Candidate =
  | {
    readonly kind: "tool";
    readonly tool: Tool;
    readonly family: Family;
    /** Why it is inert, if it is. */
    readonly untrusted?: string;
    readonly nameAt?: () => Position | null;
  }
  | {
    readonly kind: "broken";
    readonly name: string | null;
    readonly description: string | null;
    readonly origin: Origin;
    readonly family: Family;
    readonly reason: string;
    /** Each of its faults is a notice of its own already. */
    readonly told?: boolean;
    readonly nameAt?: (() => Position | null) | undefined;
  }
  /** A file whose tools are known only by running it, which it may not. */
  | { readonly kind: "untrusted"; readonly origin: Origin; readonly family: Family; readonly reason: string };

/** One row of `orrery tools`. */
export interface Listing {
  readonly name: string | null;
  /** What switches, hooks and grants call it, where that is another name. */
  readonly rule_name?: string;
  readonly origin: Origin;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly read_only: boolean;
  readonly speculation_safe: boolean;
  readonly approval: Approval;
  /** It runs in the program that embeds Orrery, without a process of its own. */
  readonly in_process?: boolean;
  readonly status: Status;
  readonly reason?: string;
  /** The copies that lost to this one. */
  readonly shadows?: readonly Origin[];
}

export interface Notice {
  readonly level: "info" | "warning" | "error";
  readonly code: string;
  readonly text: string;
}

export interface ToolboxOptions {
  /** Whether a switch turns a tool off, and which. */
  readonly switchedOff?: (tool: Tool) => string | null;
  /** What the loaders have to say besides. */
  readonly notices?: readonly Notice[];
}

export interface Toolbox {
  /** By name; what has no name comes last. */
  readonly listings: readonly Listing[];
  readonly notices: readonly Notice[];
  /** Offered tools, by name. */
  readonly offered: readonly Tool[];
  find(name: string): Tool | undefined;
  /** Offered names near a wrong one, best first. */
  closest(name: string): readonly string[];
  /** Why a known tool may not be called. A tool that is switched off is like one that does not exist. */
  whyNot(name: string): { readonly by: "trust" | "unknown_tool"; readonly reason: string } | undefined;
  /** Files that may have a tool of any name: they were not run, or could not be read. Null if there are none. */
  unread(): string | null;
  /** For the model, by name, so that the prompt's beginning stays the same. */
  declarations(): readonly ToolDeclaration[];
  /** For the log. */
  recorded(): OfferedTool[];
}

/** @param candidates in any order, except that files of one folder come in order of their names. */
export function createToolbox(candidates: readonly Candidate[], options: ToolboxOptions = {}): Toolbox {
  const ranked = candidates.map((candidate, index) => ({ candidate, rank: rankOf(candidate), index }))
    .sort((left, right) => left.rank - right.rank || left.index - right.index)
    .map(({ candidate }) => candidate);
  const rows = resolveNames(ranked, options.switchedOff ?? (() => null)).sort(byName);
  const offered = rows.flatMap(({ tool, listing }) => tool !== undefined && listing.status === "offered" ? [tool] : []);
  const found = new Map(offered.map((tool) => [tool.name, tool]));
  const listings = rows.map(({ listing }) => listing);
  return {
    listings,
    offered,
    notices: [...(options.notices ?? []), ...rows.flatMap(toNotice)],
    find: (name) => found.get(name),
    closest: (name) => closest(name, [...found.keys()], 3),
    whyNot: (name) => whyNot(listings, name),
    unread: () => describeUnread(listings),
    declarations: () => offered.map(({ name, description, input_schema }) => ({ name, description, input_schema })),
    recorded: () => offered.map(toRecord),
  };
}

/** The same without whatever changes something: for a child that is only to look. */
export function readOnly(toolbox: Toolbox): Toolbox {
  const offered = toolbox.offered.filter(({ read_only }) => read_only);
  const names = new Set(offered.map(({ name }) => name));
  return {
    ...toolbox,
    offered,
    find: (name) => names.has(name) ? toolbox.find(name) : undefined,
    closest: (name) => closest(name, [...names], 3),
    whyNot: (name) =>
      toolbox.find(name) === undefined || names.has(name)
        ? toolbox.whyNot(name)
        : { by: "unknown_tool", reason: `"${name}" is not available here: this session may only look, not change anything.` },
    declarations: () => toolbox.declarations().filter(({ name }) => names.has(name)),
    recorded: () => offered.map(toRecord),
  };
}

interface Row {
  readonly listing: Listing;
  readonly tool?: Tool;
  /** Whom it lost its name to. */
  readonly owner?: Origin;
  readonly told?: boolean;
  readonly nameAt?: (() => Position | null) | undefined;
}

const SCOPES: Readonly<Record<Origin["scope"], number>> = { session: 0, workspace: 1, user: 2, builtin: 3 };
const FAMILIES: readonly Family[] = ["orrery", "stella", "nanocoder", "other"];

function rankOf(candidate: Candidate): number {
  const origin = candidate.kind === "tool" ? candidate.tool.origin : candidate.origin;
  return SCOPES[origin.scope] * FAMILIES.length + FAMILIES.indexOf(candidate.family);
}

function resolveNames(ranked: readonly Candidate[], switchedOff: (tool: Tool) => string | null): Row[] {
  const runnable = ranked.flatMap((candidate) => candidate.kind === "tool" && candidate.untrusted === undefined ? [candidate.tool] : []);
  const owners = new Map<string, readonly Tool[]>(Map.groupBy(runnable, ({ name }) => name));
  const rivals = rivalsOf(ranked);
  return ranked.map((candidate) => {
    if (candidate.kind === "broken") {
      const { name, description, told = false, nameAt } = candidate;
      const owner = rivals.get(candidate);
      return {
        listing: { ...blank(candidate, description ?? ""), name, status: "broken" },
        told,
        nameAt,
        ...(owner === undefined ? {} : { owner }),
      };
    }
    if (candidate.kind === "untrusted") return { listing: { ...blank(candidate, ""), name: null, status: "untrusted" } };
    const { tool, untrusted } = candidate;
    if (untrusted !== undefined) return { tool, listing: { ...describe(tool), status: "untrusted", reason: untrusted } };
    const [owner = tool, ...losers] = owners.get(tool.name) ?? [];
    if (owner !== tool) {
      return {
        tool,
        owner: owner.origin,
        nameAt: candidate.nameAt,
        listing: { ...describe(tool), status: "shadowed", reason: `"${tool.name}" is taken by ${nameOrigin(owner.origin)}` },
      };
    }
    const shadows = losers.length === 0 ? {} : { shadows: losers.map(({ origin }) => origin) };
    const off = switchedOff(tool);
    const status = off === null ? { status: "offered" as const } : { status: "off" as const, reason: off };
    return { tool, listing: { ...describe(tool), ...status, ...shadows } };
  });
}

/** Whom each broken copy would lose its name to, were it repaired: to what comes before it, and runs if anything does. */
function rivalsOf(ranked: readonly Candidate[]): ReadonlyMap<Candidate, Origin> {
  const first = new Map<string, { readonly origin: Origin; readonly runs: boolean }>();
  const rivals = new Map<Candidate, Origin>();
  for (const candidate of ranked) {
    if (candidate.kind === "untrusted" || (candidate.kind === "tool" && candidate.untrusted !== undefined)) continue;
    const [name, origin] = candidate.kind === "tool" ? [candidate.tool.name, candidate.tool.origin] : [candidate.name, candidate.origin];
    const owner = name === null ? undefined : first.get(name);
    const runs = candidate.kind === "tool";
    if (owner !== undefined && !runs) rivals.set(candidate, owner.origin);
    if (name !== null && (owner === undefined || (runs && !owner.runs))) first.set(name, { origin, runs });
  }
  return rivals;
}

function describe(tool: Tool): Omit<Listing, "status"> {
  const { name, rule_name = name, origin, description, input_schema, read_only, speculation_safe, approval } = tool;
  const rule = rule_name === name ? {} : { rule_name };
  const place = tool.in_process === undefined ? {} : { in_process: tool.in_process };
  return { name, ...rule, origin, description, input_schema, read_only, speculation_safe, approval, ...place };
}

/** What is listed of a file whose tool is not known. */
function blank({ origin, reason }: Exclude<Candidate, { kind: "tool" }>, description: string): Omit<Listing, "name" | "status"> {
  return {
    origin,
    description,
    input_schema: { type: "object", properties: {} },
    read_only: false,
    speculation_safe: false,
    approval: "never",
    reason,
  };
}

function byName(left: Row, right: Row): number {
  const [first, second] = [left.listing.name, right.listing.name];
  if (first === second) return 0;
  if (first === null) return 1;
  return second === null || first < second ? -1 : 1;
}

function nameOrigin({ system, scope, path }: Origin): string {
  return path ?? (scope === "builtin" ? "a built-in" : `the ${scope}'s ${system} tool`);
}

function toNotice(row: Row): readonly Notice[] {
  const { name, origin, status, reason } = row.listing;
  const shown = name === null ? nameOrigin(origin) : `"${name}" (${nameOrigin(origin)})`;
  switch (status) {
    case "offered":
    case "off":
      return [];
    case "shadowed":
      return [
        shadowNotice(row) ??
          { level: "info", code: "tool_shadowed", text: `The tool ${shown} is not used: ${reason}` },
      ];
    case "untrusted":
      return [{ level: "warning", code: "tool_untrusted", text: `The tool ${shown} is not active: ${reason}` }];
    case "broken":
      return [
        ...(row.told === true
          ? []
          : [{ level: "error" as const, code: "tool_broken", text: `The tool ${shown} cannot be used: ${reason}` }]),
        ...[shadowNotice(row)].filter((notice) => notice !== null),
      ];
  }
}

/** Of two files, as checking the files has it. A file in code may have other tools besides. */
function shadowNotice({ listing: { name, origin: { path, system } }, owner, nameAt }: Row): Notice | null {
  if (name === null || path === undefined || owner?.path === undefined) return null;
  const said = describeLoss(name, { path, isOneOfSeveral: system === "sdk", nameAt }, owner.path);
  return { level: "warning", code: said.code, text: `${path}: ${describeDiagnostic(said)}` };
}

/** Those of a name, and files that gave none but are called like it: `k8s-pods.md` for `k8s_pods`. */
export function listingsOf(name: string, listings: readonly Listing[]): readonly Listing[] {
  const named = listings.filter((listing) => listing.name === name);
  if (named.length > 0) return named;
  const plain = (text: string) => text.toLowerCase().replaceAll("-", "_");
  return listings.filter((listing) => listing.name === null && plain(parse(listing.origin.path ?? "").name) === plain(name));
}

function whyNot(listings: readonly Listing[], name: string): ReturnType<Toolbox["whyNot"]> {
  const rows = listingsOf(name, listings);
  if (rows.some(({ status }) => status === "offered" || status === "off")) return undefined;
  const untrusted = rows.find(({ status }) => status === "untrusted");
  if (untrusted !== undefined) return { by: "trust", reason: `"${name}" is not active: ${untrusted.reason}. It was not run.` };
  const broken = rows.find(({ status }) => status === "broken");
  if (broken === undefined) return undefined;
  const what = broken.name === null
    ? `There is no tool named "${name}", as ${broken.origin.path} is broken`
    : `"${name}" cannot be used, as its definition is broken`;
  return { by: "unknown_tool", reason: `${what}: ${broken.reason}` };
}

function toRecord(tool: Tool): OfferedTool {
  const { name, origin, digest, description, input_schema, read_only, speculation_safe } = tool;
  return { name, origin, digest, description, input_schema: { ...input_schema }, read_only, speculation_safe };
}
