/** From the text of a body to the tree of its tags. */
import { Flows } from "./shell-flow.ts";
import { type Meter, READING } from "./shell-source.ts";
import { ShellReader } from "./shell-reader.ts";
import type { Dialect } from "./shell-state.ts";

export type Node =
  | { readonly kind: "text"; readonly text: string; readonly at: number }
  | { readonly kind: "value"; readonly name: string; readonly at: number; readonly raw: string }
  | SectionNode;

export interface SectionNode {
  readonly kind: "section";
  readonly name: string;
  /** `{{^ name }}`: there if the value is not. */
  readonly inverted: boolean;
  readonly at: number;
  readonly children: readonly Node[];
  readonly closeAt: number;
}

export interface TagProblem {
  readonly code: "unclosed_section" | "stray_close" | "crossed_sections" | "too_many_tags";
  readonly name: string;
  readonly at: number;
  /** The section that is open there, for a crossing. */
  readonly open?: { readonly name: string; readonly at: number };
}

interface Tag {
  readonly sigil: "" | "#" | "^" | "/";
  readonly name: string;
  readonly at: number;
  readonly raw: string;
}

/** Words that other template languages write alone in braces: they stay as they are unless a parameter has the name. */
const FOREIGN_WORDS = new Set(["end", "else", "break", "continue"]);

/** More than any script needs; what each of them costs is bounded too. */
export const MOST_TAGS = 1000;

export function parseTags(
  body: string,
  dialect: Dialect,
  isDeclared: (name: string) => boolean,
  meter: Meter,
): { readonly nodes: readonly Node[]; readonly problems: readonly TagProblem[] } {
  const tags = findTags(body).filter(({ sigil, name }) => sigil !== "" || !FOREIGN_WORDS.has(name) || isDeclared(name));
  const excess = tags[MOST_TAGS];
  if (excess !== undefined) return { nodes: [], problems: [{ code: "too_many_tags", name: excess.name, at: excess.at }] };
  const { pairs, problems } = pairSections(tags, commentsOf(body, tags, dialect, meter));
  return { nodes: buildTree(body, tags, pairs), problems };
}

function findTags(body: string): readonly Tag[] {
  return [...body.matchAll(/\{\{([#^/]?)\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\}\}/g)].map((found) => ({
    sigil: (found[1] ?? "") as Tag["sigil"],
    name: found[2] ?? "",
    at: found.index,
    raw: found[0],
  }));
}

/** The names that the tags of a body have, but for words of other templates. */
export function tagNames(body: string): readonly string[] {
  return [...new Set(findTags(body).map(({ name }) => name))].filter((name) => !FOREIGN_WORDS.has(name));
}

/** For every section tag that a shell comment holds, a number for that comment. Sections are taken as kept. */
function commentsOf(body: string, tags: readonly Tag[], dialect: Dialect, meter: Meter): ReadonlyMap<Tag, number> {
  const comments = new Map<Tag, number>();
  if (!body.includes("#") || !tags.some(({ sigil }) => sigil !== "")) return comments;
  const reader = new ShellReader(dialect, () => {}, new Flows(meter), { text: body });
  let at = 0;
  for (const [index, tag] of tags.entries()) {
    meter.spent += (tag.at - at) * reader.depth * READING;
    if (meter.spent > meter.most) break;
    for (; at < tag.at; at++) reader.feed(body.charAt(at), at);
    at = tag.at + tag.raw.length;
    if (reader.place().kind === "comment") comments.set(tag, body.lastIndexOf("\n", tag.at));
    else if (tag.sigil === "") reader.value(index, false);
  }
  return comments;
}

/**
 * Opening tags with their closing ones. A tag in a comment may open or close a section only if no other tag can: what a
 * comment says about tags needs no partner, and is no tag then. A pair within one comment is text too.
 */
function pairSections(
  tags: readonly Tag[],
  comments: ReadonlyMap<Tag, number>,
): { pairs: ReadonlyMap<Tag, Tag>; problems: readonly TagProblem[] } {
  const pairs = new Map<Tag, Tag>();
  const problems: TagProblem[] = [];
  const open: Tag[] = [];
  for (const tag of tags) {
    if (tag.sigil === "#" || tag.sigil === "^") open.push(tag);
    if (tag.sigil !== "/") continue;
    const index = partnerOf(tag, open, comments);
    const opening = open[index];
    if (opening !== undefined) {
      open.splice(index);
      const within = comments.get(opening);
      if (within === undefined || within !== comments.get(tag)) pairs.set(opening, tag);
    } else if (!comments.has(tag)) {
      problems.push(unpaired(tag, open.findLast((each) => !comments.has(each))));
      // What was opened under this name, if anything, is closed now: one mistake is reported once.
      const same = open.findLastIndex(({ name }) => name === tag.name);
      if (same >= 0) open.splice(same, 1);
    }
  }
  for (const tag of open) if (!comments.has(tag)) problems.push({ code: "unclosed_section", name: tag.name, at: tag.at });
  return { pairs, problems };
}

/** Where in `open` the tag is that this one closes; -1 if there is none. */
function partnerOf(closing: Tag, open: readonly Tag[], comments: ReadonlyMap<Tag, number>): number {
  const outside = open.findLastIndex((tag) => !comments.has(tag));
  const commented = open.findLastIndex((tag, index) => index > outside && tag.name === closing.name);
  const matches = open[outside]?.name === closing.name;
  if (comments.has(closing)) return commented >= 0 ? commented : matches ? outside : -1;
  return matches ? outside : commented;
}

function unpaired(tag: Tag, open: Tag | undefined): TagProblem {
  const { name, at } = tag;
  return open === undefined
    ? { code: "stray_close", name, at }
    : { code: "crossed_sections", name, at, open: { name: open.name, at: open.at } };
}

function buildTree(body: string, tags: readonly Tag[], pairs: ReadonlyMap<Tag, Tag>): readonly Node[] {
  const closing = new Set(pairs.values());
  const stack: { readonly opening: Tag | null; readonly nodes: Node[] }[] = [{ opening: null, nodes: [] }];
  let from = 0;
  const addText = (to: number) => {
    if (to > from) stack.at(-1)?.nodes.push({ kind: "text", text: body.slice(from, to), at: from });
  };
  for (const tag of tags) {
    if (tag.sigil !== "" && !pairs.has(tag) && !closing.has(tag)) continue;
    addText(tag.at);
    from = tag.at + tag.raw.length;
    if (tag.sigil === "") stack.at(-1)?.nodes.push({ kind: "value", name: tag.name, at: tag.at, raw: tag.raw });
    else if (tag.sigil !== "/") stack.push({ opening: tag, nodes: [] });
    else {
      const { opening, nodes } = stack.pop() ?? { opening: null, nodes: [] };
      if (opening === null) throw new TypeError("Cannot build the tree of a body as its sections are not paired");
      stack.at(-1)?.nodes.push({
        kind: "section",
        name: opening.name,
        inverted: opening.sigil === "^",
        at: opening.at,
        children: nodes,
        closeAt: tag.at,
      });
    }
  }
  addText(body.length);
  return stack[0]?.nodes ?? [];
}
