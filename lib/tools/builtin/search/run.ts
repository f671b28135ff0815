/** A search from its input to its answer: find the files, narrow them, look into them, rank, show. */
import { relative, sep } from "node:path";
import type { JsonObject } from "../../../session/json.ts";
import type { HostContext, HostReply } from "../../../session/launch.ts";
import { failed, numberOf, succeeded } from "../definition.ts";
import { DEFAULT_RESULTS } from "../search.ts";
import { findSecretFiles, type SecretFiles } from "../secret-files.ts";
import { locateInside, pathProblem } from "../workspace-path.ts";
import { compileGlob, type PathFilter } from "./glob.ts";
import { comparePaths, type FileMatches, Ranking } from "./ranking.ts";
import { filesWith } from "./ripgrep.ts";
import { scanFile } from "./scan.ts";
import { escapeLiteral, literalTerms, patternTerms, type Terms } from "./terms.ts";
import { type FoundFile, walk, type Walked } from "./walk.ts";

const BUDGET: Budget = { ms: 20_000, entries: 200_000 };
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_TEXT_BYTES = 64 * 1024;
/** Of one file, if it is not the only one. */
const LINES_LISTED = 20;

/** What one search may take. */
export interface Budget {
  readonly ms: number;
  /** Files and folders that are come across. */
  readonly entries: number;
}

/** Why the answer is not all there is. */
type Cut = "files" | "time" | "results";

interface Request {
  readonly terms: Terms | null;
  readonly named: (path: string) => boolean;
  readonly filter: PathFilter | null;
  readonly path: string;
  readonly limit: number;
}

export async function runSearch(input: JsonObject, context: HostContext, budget = BUDGET): Promise<HostReply> {
  const request = await toRequest(input);
  if (typeof request === "string") return failed(request);
  const deadline = performance.now() + budget.ms;
  try {
    const place = locateInside(context.workspace, request.path);
    const start = relative(place.root, place.real).split(sep).join("/");
    if (start.split("/").includes(".git")) return failed(`Cannot search "${request.path}" as what git keeps is left out of searches.`);
    const found = place.kind === "file"
      ? oneFile(start, place.size)
      : walk(place.root, start, wants(request, start), { deadline, entries: budget.entries });
    if (request.terms === null) return listing(found, request.limit);
    const listed = place.kind === "file" ? request.limit : LINES_LISTED;
    return await lookInto(found, request.terms, request, {
      root: place.root,
      PATH: context.env["PATH"],
      deadline,
      listed,
      secrets: findSecretFiles(context.secret_files),
    });
  } catch (error) {
    return failed(pathProblem(error, request.path));
  }
}

/** A string says what is wrong. */
async function toRequest(input: JsonObject): Promise<Request | string> {
  const { query, glob, path } = input;
  const filter = typeof glob === "string" ? compileGlob(glob) : null;
  if (typeof glob === "string" && filter === null) {
    return `The glob "${glob}" has too many wildcards: use at most three in one name, four "**" and three braces.`;
  }
  const terms = await toTerms(input);
  if (typeof terms === "string") return terms;
  if (terms === null && filter === null) return "Give query or pattern to search in files, or glob to list files.";
  const inPath = typeof query === "string" ? new RegExp(escapeLiteral(query), "iu") : null;
  return {
    terms,
    named: (path) => inPath?.test(path) === true,
    filter,
    path: typeof path === "string" ? path : ".",
    limit: numberOf(input, "limit", DEFAULT_RESULTS),
  };
}

/** Null: only names are asked for. Some providers refuse alternatives at the root of a schema, so they are checked here. */
async function toTerms({ query, pattern, ignore_case }: JsonObject): Promise<Terms | string | null> {
  const ignoring = ignore_case === true;
  if (typeof query === "string" && typeof pattern === "string") return "Give either query or pattern, not both.";
  if (typeof query === "string") {
    return /[\r\n]/.test(query) ? "The query has a line break; lines are searched one by one." : literalTerms(query, ignoring);
  }
  if (typeof pattern !== "string") return null;
  try {
    return await patternTerms(pattern, ignoring);
  } catch (error) {
    const why = (error as Error).message;
    return `The pattern cannot be used: ${why}. It must be a regular expression in RE2's syntax; use query for plain text.`;
  }
}

function wants({ filter }: Request, start: string): (path: string) => boolean {
  if (filter === null) return () => true;
  return (path) => filter(path, start === "" ? path : path.slice(start.length + 1));
}

/** Asked for by name, so neither a glob nor an ignore file keeps it out. */
function oneFile(path: string, size: number): Walked {
  return { files: [{ path, size }], unreadable: 0, cut: null };
}

function listing({ files, unreadable, cut }: Walked, limit: number): HostReply {
  const paths = files.map(({ path }) => path).sort(comparePaths);
  const shown = withinText(paths.slice(0, limit), (path) => path);
  const cuts: readonly Cut[] = [...(cut === null ? [] : [cut]), ...(shown.length < paths.length ? ["results"] as const : [])];
  const summary = paths.length === 0 ? "No files match." : `${plural(paths.length, "file")}.`;
  const text = [...shown, ...(shown.length === 0 ? [] : [""]), [summary, ...notes(cuts, { unreadable })].join(" ")].join("\n");
  return succeeded(text, { files: paths.length, shown: shown.length, truncated: cuts.length > 0, cut_by: cuts, skipped: { unreadable } });
}

interface Place {
  readonly root: string;
  readonly PATH: string | undefined;
  readonly deadline: number;
  /** Lines of one file that are shown at most. */
  readonly listed: number;
  readonly secrets: SecretFiles;
}

async function lookInto(found: Walked, terms: Terms, { named, limit }: Request, place: Place): Promise<HostReply> {
  const small = found.files.filter(({ size }) => size <= MAX_FILE_BYTES);
  const skipped = { large: found.files.length - small.length, unreadable: found.unreadable, long_lines: 0 };
  const ranking = new Ranking(limit);
  const cuts = new Set<Cut>(found.cut === null ? [] : [found.cut]);
  for (const { path } of await narrow(small, terms, place)) {
    if (performance.now() > place.deadline) {
      cuts.add("time");
      break;
    }
    const scanned = scanFile(place.root, path, terms, { ...place, bytes: MAX_FILE_BYTES });
    if (scanned === null) {
      skipped.unreadable++;
      continue;
    }
    skipped.long_lines += scanned.long_lines;
    if (scanned.cut) cuts.add("time");
    if (scanned.count > 0) ranking.add({ path, named: named(path), word: scanned.word, count: scanned.count, matches: scanned.matches });
  }
  return matchesReply(ranking, limit, { searched: small.length, skipped, cuts });
}

async function narrow(files: readonly FoundFile[], { needle }: Terms, place: Place): Promise<readonly FoundFile[]> {
  if (needle === null) return files;
  const having = await filesWith(needle, files.map(({ path }) => path), place, place.deadline);
  return having === null ? files : files.filter(({ path }) => having.has(path));
}

interface Skipped {
  readonly large?: number;
  readonly unreadable: number;
  readonly long_lines?: number;
}

function matchesReply(
  ranking: Ranking,
  limit: number,
  seen: { readonly searched: number; readonly skipped: Skipped; readonly cuts: Set<Cut> },
): HostReply {
  const { files, matches } = ranking.totals;
  const sections = withinText(firstLines(ranking.best(), limit), toSection);
  const shown = sections.reduce((sum, { matches }) => sum + matches.length, 0);
  const cuts = [...seen.cuts, ...(shown < matches ? ["results"] as const : [])];
  const summary = matches === 0
    ? `No matches in ${plural(seen.searched, "file")}.`
    : `${plural(matches, "matching line")} in ${plural(files, "file")}${shown < matches ? `; ${shown} shown` : ""}.`;
  const text = [...sections.map(toSection), [summary, ...notes(cuts, seen.skipped)].join(" ")].join("\n\n");
  const data = { matches, files, shown, searched: seen.searched, truncated: cuts.length > 0, cut_by: cuts, skipped: { ...seen.skipped } };
  return succeeded(text, data);
}

function firstLines(files: readonly FileMatches[], limit: number): readonly FileMatches[] {
  let left = limit;
  return files.flatMap((file) => {
    const matches = file.matches.slice(0, left);
    left -= matches.length;
    return matches.length === 0 ? [] : [{ ...file, matches }];
  });
}

function toSection({ path, matches, count }: FileMatches): string {
  const more = count > matches.length ? [`        (and ${count - matches.length} more in this file)`] : [];
  return [path, ...matches.map(({ line, text }) => `${String(line).padStart(6)}: ${text}`), ...more].join("\n");
}

/** The first of them, as many as the text may hold. */
function withinText<T>(items: readonly T[], toText: (item: T) => string): readonly T[] {
  let bytes = 0;
  const end = items.findIndex((item) => (bytes += Buffer.byteLength(toText(item)) + 2) > MAX_TEXT_BYTES);
  return end < 0 ? items : items.slice(0, end);
}

function notes(cuts: readonly Cut[], { large = 0, unreadable, long_lines = 0 }: Skipped): readonly string[] {
  const said: Readonly<Record<Cut, string>> = {
    files: `Not everything was searched: there are too many files and folders. Give a path.`,
    time: `Not everything was searched: the time for a search was over. Give a path or a glob.`,
    results: "Not all results are shown: narrow the search, or raise limit.",
  };
  return [
    ...cuts.map((cut) => said[cut]),
    ...(large > 0 ? [`${plural(large, "file")} of more than ${MAX_FILE_BYTES} bytes left out.`] : []),
    ...(unreadable > 0 ? [`${plural(unreadable, "file or folder", "files or folders")} could not be read.`] : []),
    ...(long_lines > 0 ? [`${plural(long_lines, "line")} searched only in part, being very long.`] : []),
  ];
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
