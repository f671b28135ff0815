/**
 * What of a value goes where in a script: from tags into variables, substitutions, pipes and functions, and on from
 * there. The order of the script plays no part, so a variable that gets a value anywhere counts as having it everywhere.
 *
 * F1  A word that the shell calculates, takes for a name, or runs, must not hold anything of a value.
 * F2  What a command prints about a value is not the value: it is warned of, unless the command is one that prints it.
 */
import {
  ANYWHERE,
  assignedBy,
  type Edge,
  ENVIRONMENT,
  EVERY_ARGUMENT,
  type Fact,
  type FactKind,
  FOLLOWING,
  givenTo,
  type Hit,
  type Level,
  type Meter,
  namedBy,
  numberedBy,
  type ProgramText,
  RUNNING,
  type SecondReading,
  type Sink,
  SPECIAL,
  tagSource,
  TELLING,
} from "./shell-source.ts";

type Levels = ReadonlyMap<string, Level>;
type Read = (program: ProgramText) => SecondReading;

export class Flows {
  readonly #edges = new Map<string, Edge>();
  readonly #sinks = new Map<string, Sink>();
  readonly #programs = new Map<string, readonly ProgramText[]>();
  readonly #facts = new Set<Fact>();
  readonly #meter: Meter;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  flow(edge: Edge): void {
    this.#meter.spent += TELLING;
    this.#edges.set(`${edge.to}\0${edge.from}\0${edge.level}\0${edge.when ?? ""}\0${edge.unless ?? ""}`, edge);
  }

  sink(sink: Sink): void {
    this.#meter.spent += TELLING;
    const { kind, from, at, of = "", when = "", through } = sink;
    this.#sinks.set([kind, ...from, at, of, when, through?.command, ...(through?.as ?? [])].join("\0"), sink);
  }

  /** A word that is, or may be, the name of a variable is put into another. */
  name(to: string, name: string, at: number): void {
    // `$((m))` takes a digit for a number, `${!m}` for an argument.
    if (/^(?:\d+|[@*])$/.test(name)) return this.flow({ to: numberedBy(to), from: EVERY_ARGUMENT, level: "value", at });
    this.flow({ to: namedBy(to), from: name, level: "value", at });
    this.flow({ to: name, from: assignedBy(to), level: "value", at });
  }

  note(kind: FactKind, name: string): void {
    this.#facts.add(`${kind}:${name}`);
  }

  /** A command was given a program. */
  program(command: string, program: ProgramText): void {
    const others = this.#programs.get(command) ?? [];
    if (!others.some(({ at, when }) => at === program.at && when === program.when)) this.#programs.set(command, [...others, program]);
  }

  /** What reaches a place where it matters. `inert`: tags whose values are harmless everywhere. */
  hits(tags: readonly number[], inert: ReadonlySet<number>, read: Read): readonly Hit[] {
    const levels = this.#spread(tags.filter((at) => !inert.has(at)).map(tagSource));
    return this.#live(read).flatMap((sink) => hitOf(sink, levels) ?? []);
  }

  /** Says of one source whether what stands there is run. */
  reaching(read: Read): (source: string) => boolean {
    const live = this.#live(read);
    return (source) => {
      const levels = this.#spread([source]);
      return live.some((sink) => hitOf(sink, levels) !== null);
    };
  }

  /** Places that matter in this script, as far as it has what they depend on. */
  #live(read: Read): readonly Sink[] {
    const readings = (texts: readonly ProgramText[]) =>
      texts.filter((text) => this.#holds(text)).map((text) => ({ text, reading: read(this.#seen(text)) }));
    const given = new Map([...this.#programs].map(([command, texts]) => [command, readings(texts)]));
    const runs = ({ through }: Sink) =>
      through === undefined || (given.get(through.command) ?? []).some(({ reading }) => reading.runs(through.as));
    const inherited = [...given].flatMap(([command, all]) =>
      all.flatMap(({ text, reading }) => environmentOf(command, text, reading.names))
    );
    return [...this.#assigned(), ...inherited, ...this.#sinks.values()].filter((sink) => this.#holds(sink) && runs(sink));
  }

  /** A shell that inherits functions may do anything with what it is given. */
  #seen(text: ProgramText): ProgramText {
    return text.language === null && this.#facts.has("exporting:functions") ? { ...text, source: null } : text;
  }

  /** Variables that hold a value itself. */
  holders(tags: readonly number[], inert: ReadonlySet<number>): readonly string[] {
    const levels = this.#spread(tags.filter((at) => !inert.has(at)).map(tagSource));
    return [...levels].flatMap(([name, level]) => level === "value" && /^[A-Za-z_]\w*$|^@@$/.test(name) ? [name] : []);
  }

  /** What is assigned to variables that calculate it, or that make the shell or another program run it. */
  #assigned(): readonly Sink[] {
    return [...this.#edges.values()].filter(({ to, from }) => from !== to).flatMap(({ to, from, at }): readonly Sink[] => {
      if (SPECIAL.has(to) || this.#facts.has(`integer:${to}`)) return [{ kind: "read_twice", from: [from], at }];
      return RUNNING.test(to) ? [{ kind: "named", from: [from], at }] : [];
    });
  }

  #holds({ when, unless }: { readonly when?: Fact; readonly unless?: Fact }): boolean {
    return (when === undefined || this.#facts.has(when)) && (unless === undefined || !this.#facts.has(unless));
  }

  #spread(sources: readonly string[]): Levels {
    const levels = new Map<string, Level>(sources.map((source) => [source, "value"]));
    // What was too much already is refused, whatever is found.
    if (this.#meter.spent > this.#meter.most) return levels;
    this.#meter.spent += this.#edges.size * FOLLOWING;
    const edges = [...this.#edges.values()].filter((edge) => this.#holds(edge));
    const next = Map.groupBy(edges, ({ from }) => from);
    const before = Map.groupBy(edges, ({ to }) => to);
    const open = [...levels.keys()];
    const reach = (to: string, reached: Level) => {
      if (levels.get(to) === "value" || levels.get(to) === reached) return;
      levels.set(to, reached);
      open.push(to);
    };
    for (let source = open.pop(); source !== undefined; source = open.pop()) {
      const level = levels.get(source) ?? "output";
      for (const edge of next.get(source) ?? []) reach(edge.to, level === "value" && edge.level === "value" ? "value" : "output");
      // A copy of a name names the same variable.
      if (/^[*#]/.test(source)) { for (const edge of next.get(source.slice(1)) ?? []) reach(`${source.charAt(0)}${edge.to}`, level); }
      if (source.startsWith("=")) { for (const edge of before.get(source.slice(1)) ?? []) reach(assignedBy(edge.from), level); }
    }
    return levels;
  }
}

/** A program may run what it finds in its environment. */
function environmentOf(command: string, { language, at }: ProgramText, names: SecondReading["names"]): readonly Sink[] {
  const sources = names === null ? [ENVIRONMENT, givenTo(command, "")] : names.flatMap((name) => [name, givenTo(command, name)]);
  return sources.map((source) => ({ kind: "evaluated", from: [source], at, language }));
}

function hitOf({ kind, from, at, language = null }: Sink, levels: Levels): Hit | null {
  const reached = from.map((source) => levelOf(source, kind, levels));
  if (reached.includes(undefined)) return null;
  const last = from.at(-1) ?? "";
  const level = reached.includes("output") ? "output" : "value";
  return { kind, level, name: last.startsWith("tag:") ? null : last, language, at: last.startsWith("tag:") ? Number(last.slice(4)) : at };
}

function levelOf(source: string, kind: Sink["kind"], levels: Levels): Level | undefined {
  const level = levels.get(source) ?? (kind === "arithmetic" ? levels.get(namedBy(source)) : undefined);
  if (level !== undefined || !levels.has(ANYWHERE) || !/^[A-Za-z_]\w*$/.test(source)) return level;
  return kind === "arithmetic" ? "output" : undefined;
}
