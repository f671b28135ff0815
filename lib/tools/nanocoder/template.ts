/**
 * The template of a tool's body: parsed once, its tags placed in the shell's quoting, rendered in one pass.
 *
 * T1  A value is encoded for the place where it stands, and inert there. Values are never scanned again.
 * T2  The place is the same whichever sections are kept and whichever values are absent; if not, the tag is refused.
 *     So a section may change the quoting only as long as no tag depends on it.
 * T3  What is refused is refused at load, at its line and column.
 */
import { CALCULATING, readProgram } from "./second-reading.ts";
import { Flows } from "./shell-flow.ts";
import type { Place, Refusal, Spot } from "./shell-place.ts";
import { ShellReader } from "./shell-reader.ts";
import { type Hit, type Meter, READING } from "./shell-source.ts";
import type { Dialect } from "./shell-state.ts";
import { type Node, parseTags, type SectionNode } from "./template-tags.ts";
import { type Fault, faultOfRefusal, faultOfTag } from "./template-faults.ts";
import { type Situation, situationOf } from "./situation.ts";

/** What the compiler needs to know of a parameter. */
export interface Declared {
  /** It may be absent (null counts), so that a tag renders as nothing. */
  readonly optional: boolean;
  /** A list renders as nothing when it is empty, else as several words. */
  readonly list: boolean;
  /** No value of it can be anything to a shell but itself: a number, say. */
  readonly inert?: boolean;
}

export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly name: string; readonly spot: Spot }
  | { readonly kind: "section"; readonly name: string; readonly inverted: boolean; readonly pieces: readonly Piece[] };

/** A tag that takes a value, for warnings. */
export interface TagUse {
  readonly name: string;
  readonly at: number;
  readonly place: Place;
  readonly situation: Situation;
}

export interface CompiledTemplate {
  /** Usable only without faults. */
  readonly pieces: readonly Piece[];
  readonly faults: readonly Fault[];
  readonly uses: readonly TagUse[];
  /** Tags of names that no parameter has: they render as nothing. */
  readonly undeclared: readonly { readonly name: string; readonly at: number }[];
  /** Places where something of a value is read a second time, as the author says. */
  readonly evaluations: readonly Hit[];
}

/** What compiling may cost, in steps of a `Meter`. */
export interface Budget {
  steps: number;
}

/** A tenth of a second; hundreds of sections take a part of that. */
const MOST_STEPS = 4_000_000;

/** @param budget of all files that are loaded together. */
export function compileTemplate(
  body: string,
  dialect: Dialect,
  parameters: ReadonlyMap<string, Declared>,
  budget: Budget = { steps: MOST_STEPS },
): CompiledTemplate {
  const meter: Meter = { spent: 0, most: Math.min(MOST_STEPS, budget.steps) };
  const { nodes, problems } = parseTags(body, dialect, (name) => parameters.has(name), meter);
  if (problems.some(({ code }) => code === "too_many_tags")) {
    return { pieces: [], faults: problems.map(faultOfTag), uses: [], undeclared: [], evaluations: [] };
  }
  const compiler = new Compiler(body, dialect, parameters, meter);
  const pieces = compiler.compile(nodes);
  const evaluations = compiler.finish(body);
  budget.steps -= meter.spent;
  const faults = [...problems.map(faultOfTag), ...compiler.faults.values()].sort((left, right) => left.at - right.at);
  return { pieces, faults, uses: compiler.uses, undeclared: compiler.undeclared, evaluations };
}

/** One way the script may read up to here: which names are known to be truthy or falsy on it. */
interface Path {
  readonly reader: ShellReader;
  readonly assumed: ReadonlyMap<string, boolean>;
}

/** Two paths that read on equally become one, so more than a few mean that sections change the quoting. */
const MOST_PATHS = 32;

class Compiler {
  /** By the place of the tag, so that a tag has one. */
  readonly faults = new Map<number, Fault>();
  readonly uses: TagUse[] = [];
  readonly undeclared: { name: string; at: number }[] = [];
  readonly #dialect: Dialect;
  readonly #parameters: ReadonlyMap<string, Declared>;
  readonly #meter: Meter;
  readonly #flows: Flows;
  readonly #tags: number[] = [];
  readonly #inert = new Set<number>();
  readonly #unreadable = new Set<number>();
  #paths: readonly Path[];

  #exhausted = false;

  constructor(body: string, dialect: Dialect, parameters: ReadonlyMap<string, Declared>, meter: Meter) {
    this.#dialect = dialect;
    this.#parameters = parameters;
    this.#meter = meter;
    this.#flows = new Flows(meter);
    const reader = new ShellReader(dialect, (tag, refusal) => this.#refuse(tag, refusal), this.#flows, { text: body });
    this.#paths = [{ reader, assumed: new Map() }];
  }

  compile(nodes: readonly Node[]): readonly Piece[] {
    return nodes.map((node) => {
      switch (node.kind) {
        case "text":
          return this.#text(node.text, node.at);
        case "value":
          return this.#value(node);
        case "section":
          return this.#section(node);
      }
    });
  }

  /** What is found once all of the script is known: faults, and what remains for warnings. */
  finish(body: string): readonly Hit[] {
    for (const { reader } of this.#paths) reader.end(body.length);
    const hits = this.#flows.hits(this.#tags, this.#inert, (program) => readProgram(program, this.#meter));
    this.#spend(0, this.#tags[0] ?? 0);
    for (const hit of hits) {
      if (hit.level === "output" || hit.kind === "evaluated" || hit.kind === "unknown" || hit.kind === "named") continue;
      // dash has no operator that runs anything.
      if (hit.kind === "split" && this.#dialect === "sh") continue;
      const refusal: Refusal = { kind: "refused", code: hit.kind, ...(hit.name === null ? {} : { why: hit.name }) };
      if (!this.faults.has(hit.at)) this.faults.set(hit.at, faultOfRefusal(hit.at, refusal));
    }
    this.#finishLost(body);
    return hits.filter(({ at }) => !this.faults.has(at));
  }

  /** After what cannot be read, a variable that holds a value must not be near anything that calculates. */
  #finishLost(body: string): void {
    const lost = this.#paths.flatMap(({ reader }) => reader.fate?.kind === "lost" ? [reader.fate] : []);
    const since = Math.min(...lost.map(({ at }) => at));
    const [fate] = lost.filter(({ at }) => at === since);
    // What it began with may have been read already.
    const from = Math.min(body.lastIndexOf("\n", since) + 1, Math.max(0, since - 128));
    if (fate === undefined || !CALCULATING.test(body.slice(from))) return;
    if (this.#flows.holders(this.#tags, this.#inert).length > 0) {
      this.#refuse(since, { kind: "refused", code: "unreadable", why: fate.why, at: fate.at });
    }
  }

  #text(text: string, at: number): Piece {
    // Most paths read on equally from the end of a command, and from there only one is read; where they do not, it is not
    // tried for every command.
    let commands = 1;
    for (let from = 0; from < text.length;) {
      const end = this.#paths.length < 2 ? text.length : endOfCommands(text, from, commands);
      this.#read(text.slice(from, end), at + from);
      from = end;
      commands *= 2;
    }
    return { kind: "text", text };
  }

  #read(text: string, at: number): void {
    for (const { reader } of this.#paths) {
      if (!this.#spend(text.length * reader.depth * READING, at)) break;
      for (let index = 0; index < text.length && reader.fate === null; index++) reader.feed(text.charAt(index), at + index);
    }
    // A script that the shell refuses runs nothing from there on, so what would come after does not matter.
    const alive = this.#paths.filter(({ reader }) => reader.fate?.kind !== "dead");
    this.#merge(alive.length === 0 ? this.#paths : alive, at);
  }

  #value({ name, at, raw }: Extract<Node, { kind: "value" }>): Piece {
    const place = this.#placeAt(at);
    if (place?.kind === "comment") {
      this.#use(name, at, place);
      return this.#text(raw, at);
    }
    const declared = this.#parameters.get(name);
    if (declared === undefined) {
      this.undeclared.push({ name, at });
      return { kind: "text", text: "" };
    }
    this.#use(name, at, place);
    this.#tags.push(at);
    if (declared.inert === true) this.#inert.add(at);
    this.#merge(this.#paths.flatMap((path) => withValue(path, name, at, declared)), at);
    return place === null ? { kind: "text", text: "" } : { kind: "value", name, spot: place };
  }

  #use(name: string, at: number, place: Place | null): void {
    const [path] = this.#paths;
    if (path !== undefined && place !== null && this.#parameters.has(name)) {
      this.uses.push({ name, at, place, situation: situationOf(path.reader) });
    }
  }

  /** The one place that the tag has on every path; a fault and null if there is none. */
  #placeAt(at: number): Place | null {
    const places = this.#paths.map(({ reader }) => reader.place());
    const refusal = places.find((place) => place.kind === "refused");
    if (refusal?.kind === "refused") return this.#refuse(at, refusal);
    const [first, ...others] = places.filter((place) => place.kind !== "refused");
    if (first === undefined) return null;
    if (others.some((other) => !samePlace(first, other))) {
      return this.#refuse(at, { kind: "refused", code: "ambiguous" });
    }
    if (first.kind === "comment") return first;
    return { ...first, open: [first, ...others].some((place) => place.kind !== "comment" && place.open) };
  }

  #section(node: SectionNode): Piece {
    const { name, inverted, at, closeAt } = node;
    const declared = this.#parameters.has(name);
    if (!declared) this.undeclared.push({ name, at });
    this.#refuseAfterEscape(at);
    const before = this.#paths;
    this.#paths = before.flatMap((path) => declared ? assume(path, name, !inverted) : inverted ? [fork(path)] : []);
    const dropped = before.flatMap((path) => declared ? assume(path, name, inverted) : inverted ? [] : [path]);
    if (this.#paths.length === 0) {
      // Never kept: its text is not part of any script.
      this.#paths = dropped;
      return { kind: "text", text: "" };
    }
    const pieces = this.compile(node.children);
    this.#refuseAfterEscape(closeAt);
    this.#merge([...dropped, ...this.#paths], at);
    if (this.#paths.length > MOST_PATHS) {
      this.#refuse(at, { kind: "refused", code: "entangled" });
      this.#paths = this.#paths.slice(0, 1);
    }
    return { kind: "section", name, inverted, pieces };
  }

  /** Paths whose readings go on equally become one, which assumes only what all of them do. */
  #merge(paths: readonly Path[], at: number): void {
    this.#paths = this.#exhausted ? paths.slice(0, 1) : paths;
    if (this.#paths.length < 2) return;
    const merged = new Map<string, Path>();
    for (const path of paths) {
      const key = path.reader.key();
      if (!this.#spend(key.length, at)) return;
      const other = merged.get(key);
      other?.reader.meet(path.reader);
      const assumed = other === undefined
        ? path.assumed
        : new Map([...other.assumed].filter(([name, truthy]) => path.assumed.get(name) === truthy));
      merged.set(key, { reader: other?.reader ?? path.reader, assumed });
    }
    this.#paths = [...merged.values()];
  }

  /** False once there is nothing left: the rest is not read. */
  #spend(steps: number, at: number): boolean {
    if (this.#exhausted) return false;
    this.#meter.spent += steps;
    if (this.#meter.spent <= this.#meter.most) return true;
    this.#exhausted = true;
    this.#refuse(at, { kind: "refused", code: "too_costly" });
    this.#unreadable.add(at);
    this.#paths = this.#paths.slice(0, 1);
    for (const { reader } of this.#paths) reader.lose("what takes too long to read", at);
    return false;
  }

  #refuseAfterEscape(at: number): void {
    const refusal = this.#paths.map(({ reader }) => reader.place())
      .find((place) => place.kind === "refused" && (place.code === "after_dollar" || place.code === "after_backslash"));
    if (refusal?.kind === "refused") this.#refuse(at, refusal);
  }

  #refuse(at: number, refusal: Refusal): null {
    const known = refusal.code === "unreadable" && this.#unreadable.has(refusal.at ?? -1);
    if (refusal.code === "unreadable") this.#unreadable.add(refusal.at ?? -1);
    // One construct that cannot be read makes many tags unplaceable; it is said once.
    if (!known && !this.faults.has(at)) this.faults.set(at, faultOfRefusal(at, refusal));
    return null;
  }
}

/** Behind so many separators, or the end of the text. */
function endOfCommands(text: string, from: number, commands: number): number {
  const separator = /[;\n]/g;
  separator.lastIndex = from;
  for (let command = 0; command < commands; command++) {
    if (!separator.test(text)) return text.length;
  }
  return separator.lastIndex;
}

function fork({ reader, assumed }: Path): Path {
  return { reader: reader.fork(), assumed };
}

/** The path on which the name is truthy or falsy; none if the path says otherwise. */
function assume(path: Path, name: string, truthy: boolean): readonly Path[] {
  const known = path.assumed.get(name);
  if (known !== undefined && known !== truthy) return [];
  return [{ reader: path.reader.fork(), assumed: new Map(path.assumed).set(name, truthy) }];
}

/** The path with the value, and the one without it if it may render as nothing. */
function withValue(path: Path, name: string, at: number, { optional, list }: Declared): readonly Path[] {
  const present = path.assumed.get(name) === true || !(optional || list);
  const without = present ? [] : assume(path, name, false);
  path.reader.value(at, list);
  return [path, ...without];
}

function samePlace(left: Place, right: Place): boolean {
  if (left.kind === "comment" || right.kind === "comment") return left.kind === right.kind;
  return left.kind === right.kind && left.backticks === right.backticks &&
    JSON.stringify(left.documents) === JSON.stringify(right.documents);
}
