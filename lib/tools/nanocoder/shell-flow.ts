/**
 * What of a value goes where in a script: from tags into variables, substitutions, pipes and functions, and on from
 * there. The order of the script plays no part, so a variable that gets a value anywhere counts as having it everywhere.
 *
 * F1  A word that the shell calculates, takes for a name, or runs, must not hold anything of a value.
 * F2  What a command prints about a value is not the value: it is warned of, unless the command is one that prints it.
 */

/** `output`: what some command printed that was given the value. */
export type Level = "value" | "output";

/** Names of what holds a value: variables by their names, and these. */
export const STANDARD_INPUT = "<";
export const POSITIONAL = "@";
export const MATCH = "BASH_REMATCH";

/** The subscripts of an array, where they are text. */
export function keysOf(name: string): string {
  return `keys:${name}`;
}

/** What the variable holds whose name this one holds, and what is assigned to that one by this. */
export function namedBy(name: string): string {
  return `*${name}`;
}

/** The argument whose number it holds. */
export function numberedBy(name: string): string {
  return `#${name}`;
}

export function assignedBy(name: string): string {
  return `=${name}`;
}

export function tagSource(at: number): string {
  return `tag:${at}`;
}

export interface Edge {
  readonly to: string;
  readonly from: string;
  readonly level: Level;
  readonly at: number;
  /** Only if the script defines a function of this name. */
  readonly via?: string;
}

/**
 * `read_twice`: calculated, taken for a name, or for the option that makes the next word one; `evaluated`: run as
 * text of the shell or of another language, as its author says; `unknown`: given to a command that is not known;
 * `split`: the words of it become arguments of `test`, of which one may be an operator.
 */
export interface Sink {
  readonly kind: "arithmetic" | "read_twice" | "evaluated" | "unknown" | "split";
  /** All of them have to hold a value for it to matter. */
  readonly from: readonly string[];
  readonly at: number;
  /** The array whose subscript it is: that of an associative one is no arithmetic. */
  readonly of?: string;
  /** Only if this is an array: what is declared for one is read as a list. */
  readonly list?: string;
  /** `evaluated`: only if this command has no script of its own. */
  readonly unless?: string;
  /** `evaluated`: by what, if not by a shell. */
  readonly language?: string | null;
}

export interface Hit {
  readonly kind: Sink["kind"];
  readonly level: Level;
  /** Null if a tag stands there itself. */
  readonly name: string | null;
  /** What evaluates it, if not a shell. */
  readonly language: string | null;
  readonly at: number;
}

/** Assigning to them calculates, or makes a shell run what was assigned. */
export const SPECIAL = new Set([
  "RANDOM",
  "SRANDOM",
  "OPTIND",
  "HISTCMD",
  "PS4",
  "PROMPT_COMMAND",
  "ENV",
  "BASH_ENV",
  "BASH_ALIASES",
  "BASH_CMDS",
]);

export class Flows {
  readonly #edges = new Map<string, Edge>();
  readonly #sinks = new Map<string, Sink>();
  readonly #facts = {
    integer: new Set<string>(),
    associative: new Set<string>(),
    array: new Set<string>(),
    function: new Set<string>(),
    scripted: new Set<string>(),
  };

  flow(edge: Edge): void {
    this.#edges.set(`${edge.to}\0${edge.from}\0${edge.level}\0${edge.via ?? ""}`, edge);
  }

  sink(sink: Sink): void {
    this.#sinks.set(`${sink.kind}\0${sink.from.join("\0")}\0${sink.at}\0${sink.of ?? ""}\0${sink.list ?? ""}`, sink);
  }

  /** A word that is, or may be, the name of a variable is put into another. */
  name(to: string, name: string, at: number, via?: string): void {
    const condition = via === undefined ? {} : { via };
    // `$((m))` takes a digit for a number, `${!m}` for an argument.
    if (/^(?:\d+|[@*])$/.test(name)) return this.flow({ to: numberedBy(to), from: POSITIONAL, level: "value", at, ...condition });
    this.flow({ to: namedBy(to), from: name, level: "value", at, ...condition });
    this.flow({ to: name, from: assignedBy(to), level: "value", at, ...condition });
  }

  note(fact: "integer" | "associative" | "array" | "function" | "scripted", name: string): void {
    this.#facts[fact].add(name);
  }

  /** What reaches a place where it matters. `inert`: tags whose values are harmless everywhere. */
  hits(tags: readonly number[], inert: ReadonlySet<number>): readonly Hit[] {
    const levels = this.#spread(tags.filter((at) => !inert.has(at)));
    const { integer, associative, array, scripted } = this.#facts;
    const assigned = [...this.#edges.values()].filter(({ to }) => SPECIAL.has(to) || integer.has(to))
      .map(({ from, at }): Sink => ({ kind: "read_twice", from: [from], at }));
    return [...assigned, ...this.#sinks.values()].flatMap(({ kind, from, at, of, list, unless, language = null }): readonly Hit[] => {
      if (unless !== undefined && scripted.has(unless)) return [];
      const reached = from.map((source) => levels.get(source) ?? (kind === "arithmetic" ? levels.get(namedBy(source)) : undefined));
      if (reached.includes(undefined) || (of !== undefined && associative.has(of)) || (list !== undefined && !array.has(list))) return [];
      const last = from.at(-1) ?? "";
      const tag = last.startsWith("tag:");
      const level = reached.includes("output") ? "output" : "value";
      return [{ kind, level, name: tag ? null : last, language, at: tag ? Number(last.slice(4)) : at }];
    });
  }

  /** Variables that hold a value itself. */
  holders(tags: readonly number[], inert: ReadonlySet<number>): readonly string[] {
    const levels = this.#spread(tags.filter((at) => !inert.has(at)));
    return [...levels].flatMap(([name, level]) => level === "value" && /^[A-Za-z_]\w*$|^@$/.test(name) ? [name] : []);
  }

  #spread(tags: readonly number[]): ReadonlyMap<string, Level> {
    const levels = new Map<string, Level>(tags.map((at) => [tagSource(at), "value"]));
    const next = new Map<string, Edge[]>();
    for (const edge of this.#edges.values()) {
      if (edge.via === undefined || this.#facts.function.has(edge.via)) {
        const others = next.get(edge.from);
        if (others === undefined) next.set(edge.from, [edge]);
        else others.push(edge);
      }
    }
    const open = [...levels.keys()];
    const reach = (to: string, reached: Level) => {
      if (levels.get(to) === "value" || levels.get(to) === reached) return;
      levels.set(to, reached);
      open.push(to);
    };
    for (let source = open.pop(); source !== undefined; source = open.pop()) {
      const level = levels.get(source) ?? "output";
      for (const edge of next.get(source) ?? []) {
        reach(edge.to, level === "value" && edge.level === "value" ? "value" : "output");
      }
      // A copy of a name names the same variable.
      if (/^[*#]/.test(source)) { for (const edge of next.get(source.slice(1)) ?? []) reach(`${source.charAt(0)}${edge.to}`, level); }
      if (!source.startsWith("=")) continue;
      for (const edge of this.#edges.values()) if (edge.to === source.slice(1)) reach(assignedBy(edge.from), level);
    }
    return levels;
  }
}
