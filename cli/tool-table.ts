/** The tools of a workspace for people: by source, each with what became of it and why. */
import { homedir } from "node:os";
import { relative } from "node:path";
import { describeSource, type Listing, listingsIn, type Mode, type ShownListing, type Workshop } from "../mod.ts";
import { oneLine, type Out, wrap } from "./terminal.ts";
import { widthOf } from "./width.ts";

type System = Listing["origin"]["system"];

const SOURCES: readonly (readonly [system: System, title: string])[] = [
  ["builtin", "Built-in"],
  ["mcp", "MCP"],
  ["stella", "Custom, Stella"],
  ["nanocoder", "Custom, Nanocoder"],
  ["sdk", "Custom, SDK"],
];

/** Below this there is no room for a second column. */
const LEAST_TEXT = 32;
const WIDEST_NAME = 28;

/** @param mode that of the session; what cannot run in it is hidden from the model. */
export function writeToolTable(out: Out, workshop: Workshop, mode: Mode): void {
  const listings = listingsIn(mode, workshop.toolbox);
  writeServers(out, workshop);
  const names = listings.map(({ name }) => widthOf(oneLine(name ?? "?", 64)));
  const wide = Math.min(WIDEST_NAME, Math.max(8, ...names));
  const columns = out.columns - wide - 4 >= LEAST_TEXT ? wide + 2 : 2;
  for (const [system, title] of SOURCES) {
    const rows = listings.filter(({ origin }) => origin.system === system);
    if (rows.length === 0) continue;
    out.write(`${out.colors.bold(title)}\n`);
    for (const row of rows) out.write(`${toLines(row, workshop, out, columns).join("\n")}\n`);
    out.write("\n");
  }
}

function writeServers(out: Out, { live, workspace }: Workshop): void {
  const servers = live?.servers ?? [];
  if (servers.length === 0) return;
  const { bold, dim, yellow } = out.colors;
  out.write(`${bold("MCP servers")}\n`);
  for (const { name, state, error, tools, transport, trusted, origin } of servers) {
    const isConnected = state === "connected";
    const facts = [
      shortPath(origin.path ?? "", workspace),
      ...(transport === null ? [] : [transport]),
      ...(trusted ? [] : ["not trusted"]),
    ];
    const what = isConnected
      ? `connected, ${tools} ${tools === 1 ? "tool" : "tools"}`
      : `${state}${error === undefined ? "" : `: ${error}`}`;
    out.write(`  ${isConnected ? bold(oneLine(name, 64)) : oneLine(name, 64)}\n`);
    for (const line of wrap(what, Math.max(20, out.columns - 4))) out.write(`    ${isConnected ? line : yellow(line)}\n`);
    out.write(`    ${dim(facts.join(", "))}\n`);
  }
  out.write("\n");
}

/** @param column where the texts beside the name begin, less the two of every line; 2 puts them below it. */
function toLines(listing: ShownListing, workshop: Workshop, out: Out, column: number): readonly string[] {
  const { bold, dim, yellow } = out.colors;
  const name = oneLine(listing.name ?? "?", 64);
  const room = Math.max(20, out.columns - column - 2);
  const isOffered = listing.status === "offered";
  const texts = [
    ...(listing.description === "" ? [] : [oneLine(listing.description, room)]),
    ...(isOffered ? [] : wrap(`${listing.status}: ${listing.reason ?? ""}`, room).map(yellow)),
    ...factsOf(listing, workshop).flatMap((fact) => wrap(fact, room)).map(dim),
  ];
  const indent = " ".repeat(column + 2);
  const head = `  ${isOffered ? bold(name) : name}`;
  const wide = widthOf(name);
  const fits = column > 2 && wide <= column - 2;
  if (!fits || texts.length === 0) return [head, ...texts.map((text) => indent + text)];
  return [`${head}${" ".repeat(column - wide)}${texts[0]}`, ...texts.slice(1).map((text) => indent + text)];
}

function factsOf(listing: ShownListing, workshop: Workshop): readonly string[] {
  const { origin, shadows = [] } = listing;
  const path = origin.path === undefined ? [] : [shortPath(origin.path, workshop.workspace)];
  const asks = listing.status === "offered" ? whenItAsks(listing, workshop) : [];
  const flags = [...(listing.read_only ? ["read-only"] : []), ...(listing.speculation_safe ? ["may start early"] : []), ...asks];
  return [
    ...path,
    ...(listing.rule_name === undefined ? [] : [`in rules: ${oneLine(listing.rule_name, 300)}`]),
    ...(flags.length === 0 ? [] : [flags.join(", ")]),
    ...shadows.map((other) => `before ${other.path === undefined ? `the ${other.scope} one` : shortPath(other.path, workshop.workspace)}`),
  ];
}

function whenItAsks({ name, rule_name, approval }: ShownListing, { policy }: Workshop): readonly string[] {
  if (approval === "never") return [];
  const rule = policy.configuration.always_allow.find(({ value }) => value === (rule_name ?? name));
  if (rule !== undefined) return [`does not ask: ${describeSource(rule.source)}`];
  return [approval === "always" ? "asks first" : "asks in mode normal"];
}

function shortPath(path: string, workspace: string): string {
  const within = relative(workspace, path);
  if (!within.startsWith("..")) return oneLine(within, 200);
  const home = homedir();
  return oneLine(path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path, 200);
}
