/**
 * Arbitrary well-formed tool bodies together with what a program must see when they run. The bodies are written from
 * a grammar of the shell that knows nothing of the compiler under test.
 *
 * Every body prints each argument that its commands saw, ended by a NUL. Field splitting and globbing are off, so
 * that an unquoted expansion is one word.
 */
import fc from "fast-check";

export type Value = string | boolean | null | readonly string[] | { readonly number: string };
export interface Values {
  readonly [name: string]: Value;
}

/** A piece of a word. `text`: what it becomes; `quoted`: it makes a word even if that is empty. */
interface Segment {
  readonly source: string;
  readonly seen: (values: Values) => { readonly text: string; readonly quoted: boolean };
}

interface Word {
  readonly source: string;
  readonly words: (values: Values) => readonly string[];
}

export interface Script {
  readonly source: string;
  /** Every argument that is printed. */
  readonly seen: (values: Values) => readonly string[];
}

export interface Flavour {
  readonly bash: boolean;
}

/** What a body may start with. */
export const PRELUDE = "IFS='\u001f'; set -f\n";

export const PARAMETERS = new Map([
  ["a", { optional: false, list: false }],
  ["b", { optional: false, list: false }],
  ["n", { optional: false, list: false }],
  ["t", { optional: false, list: false }],
  ["z", { optional: false, list: false }],
  ["o", { optional: true, list: false }],
  ["l", { optional: false, list: true }],
]);

// deno-fmt-ignore
const hostile = fc.constantFrom(
  "'", '"', "\\", "`", "$", "$(touch pwned)", "`touch pwned`", "\n", "\nE\n", "\nEOF\n", "E", "\n\tE\n", "\t", "E)", "\nE)\n",
  ";touch pwned;", "\ntouch pwned\n", " ", "-", "--x", "#", "&", "|", "*", "?", "~", "!", "\r", "{{ b }}", "{{/ a }}", "{{# a }}", ")",
  "}", "(", "{", "))", "]]", "]", "${x}", "$x", "$'", "$&", "<<E", "\u0001", "\u007f", "\u0081", "\u0088", "é", "😀", "\uffff", "\u2028",
  "<", ">", "=", ";;", "esac", "in", "%", "^",
);
const text = fc.array(fc.oneof({ weight: 5, arbitrary: hostile }, { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) }), {
  maxLength: 6,
}).map((parts) => parts.join("").replaceAll(/[\0\u001f]/g, ""));

export const values: fc.Arbitrary<Values> = fc.record({
  a: text,
  b: text,
  n: fc.constantFrom("0", "5", "-3", "3.0", "1e21", "9007199254740993", "0.30000000000000004").map((number) => ({ number })),
  t: fc.constant(true),
  z: fc.constant(false),
  o: fc.option(text),
  l: fc.array(text, { maxLength: 3 }),
});

function textsOf(value: Value | undefined): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === "string") return [value];
  if (typeof value === "boolean") return [String(value)];
  return "number" in value ? [value.number] : value;
}

const tagName = fc.constantFrom("a", "a", "a", "b", "b", "n", "t", "z", "o");
const tag = (name: string) => fc.constantFrom(`{{ ${name} }}`, `{{${name}}}`, `{{  ${name}\t}}`);
const anyTag = tagName.chain((name) => fc.tuple(fc.constant(name), tag(name)));
const listTag = fc.constantFrom("a", "b", "l", "l", "n", "o").chain((name) => fc.tuple(fc.constant(name), tag(name)));
const plain = fc.constantFrom("x", "foo", "-", "a=b", ".", "/p", "é", "1", "x#y", ":", "%", "esac", "case", "in", "{{.Names}}", "{{end}}");

/** What the seed documents for a value inside the author's quotes. */
function insideQuotes(name: string): (values: Values) => string {
  return (given) => textsOf(given[name]).map((each) => `'${each}'`).join(" ");
}

const withoutTrailingLines = (output: string) => output.replace(/\n+$/, "");

export function scripts(flavour: Flavour): fc.Arbitrary<Script> {
  const { script, document, words } = fc.letrec<
    {
      segment: Segment;
      word: Word;
      command: Script;
      statement: Script;
      script: Script;
      commands: Script;
      document: Script;
      words: readonly Word[];
    }
  >((tie) => {
    const lazySegment = tie("segment");
    const word = tie("word");
    const words = tie("words");
    const script = tie("script");
    return {
      segment: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        {
          weight: 4,
          arbitrary: anyTag.map(([name, source]): Segment => ({
            source,
            seen: (given) => ({ text: textsOf(given[name]).join(" "), quoted: textsOf(given[name]).length > 0 }),
          })),
        },
        { weight: 3, arbitrary: plain.map((source): Segment => ({ source, seen: () => ({ text: source, quoted: false }) })) },
        fc.constantFrom(
          [`\\'`, "'"],
          ['\\"', '"'],
          ["\\\\", "\\"],
          ["\\`", "`"],
          ["\\$x", "$x"],
          ["\\#", "#"],
          ["\\\n", ""],
          ["$#", "0"],
          ["${#IFS}", "1"],
          ["$((1 + (2)))", "3"],
          ['"$#"', "0"],
          ["''", ""],
          ["${u:-d}", "d"],
          ['"${u:-"d } e"}"', "d } e"],
          [`"\${s%'}b'}"`, ""],
          ['"\\$x"', "$x"],
          ['"\\\\"', "\\"],
          ["'it'\\''s \"'", "it's \""],
          ['"`printf x`"', "x"],
          ["${u+`printf x`}", ""],
          ['"a\nb"', "a\nb"],
          ["'$(('", "$(("],
        )
          .map(([source = "", text = ""]): Segment => ({
            source,
            seen: () => ({ text, quoted: /^['"\\]/.test(source) && source !== "\\\n" }),
          })),
        { weight: 3, arbitrary: doubleQuoted(script) },
        { weight: 2, arbitrary: singleQuoted() },
        ...(flavour.bash ? [ansiQuoted()] : []),
        {
          weight: 2,
          arbitrary: script.map((inner): Segment => ({
            source: `$(${spaced(inner.source)})`,
            seen: (given) => ({ text: withoutTrailingLines(output(inner, given)), quoted: false }),
          })),
        },
        script.map((inner): Segment => ({
          source: `\`${inner.source.replaceAll(/[\\$`]/g, "\\$&")}\``,
          seen: (given) => ({ text: withoutTrailingLines(output(inner, given)), quoted: false }),
        })),
        fc.tuple(
          fc.constantFrom("${u:-", "${u-"),
          fc.array(lazySegment.filter(({ source }) => !/^(?:\{\{(?:\.|end)|\$')/.test(source)), { minLength: 1, maxLength: 2 }),
          fc.constant("}"),
        ).map(([open, inner, close]): Segment => ({
          source: `${open}${inner.map(({ source }) => source).join("")}${close}`,
          seen: (given) => joinSegments(inner, given),
        })),
      ),
      word: fc.oneof(
        { weight: 4, arbitrary: fc.array(lazySegment, { minLength: 1, maxLength: 3 }).map(toWord) },
        { weight: 2, arbitrary: listTag.map(([name, source]): Word => ({ source, words: (given) => textsOf(given[name]) })) },
      ),
      words: fc.array(word, { minLength: 1, maxLength: 3 }),
      command: fc.oneof(
        { weight: 4, arbitrary: fc.tuple(words, fc.constantFrom(" ", "  ", " \\\n", "\t")).map(([list, gap]) => printing(list, gap)) },
        fc.tuple(fc.constantFrom(...BLOCKS), tie("commands")).map(toBlock),
        lazySegment.map((one): Script => ({ source: `! : x ${one.source} = y z`, seen: () => [] })),
        words.map((list): Script => ({
          source: `for w in x ${list.map(({ source }) => source).join(" ")}; do printf '%s\\0' "$w"; done`,
          // bash takes `esac` for a keyword there, inside of a `case`; so the first word is another.
          seen: (given) => ["x", ...list.flatMap(({ words }) => words(given))],
        })),
        words.map((list): Script => ({
          source: `f() { printf '%s\\0' "$@"; }; f ${list.map(({ source }) => source).join(" ")}`,
          seen: (given) => atLeastOne(list.flatMap(({ words }) => words(given))),
        })),
        fc.array(lazySegment, { minLength: 1, maxLength: 3 }).map((inner): Script => ({
          source: `v=${inner.map(({ source }) => source).join("")}; printf '%s\\0' "$v"`,
          seen: (given) => [joinSegments(inner, given).text],
        })),
        fc.array(lazySegment, { minLength: 1, maxLength: 2 }).map((inner): Script => ({
          source: `v='x'${inner.map(({ source }) => source).join("")} ; printf '%s\\0' "\${v#x}"`,
          seen: (given) => [joinSegments(inner, given).text],
        })),
        anyTag.map(([, source]): Script => ({
          source: `case x${source} in (y) ;; x${source}) printf 'same\\0';; *) printf 'other\\0'; esac`,
          seen: () => ["same"],
        })),
        fc.tuple(lazySegment, fc.boolean()).map(([inner, kept]): Script => ({
          source: kept
            ? `{{# t }}printf '%s\\0' x${inner.source}{{/ t }}`
            : `:{{# z }} ${inner.source}{{/ z }}{{^ t }} ${inner.source}{{/ t }}`,
          seen: (given) => kept ? [`x${joinSegments([inner], given).text}`] : [],
        })),
        fc.tuple(words, words).map(([left, right]): Script => ({
          source: `printf '%s\\0' ${left.map(({ source }) => source).join(" ")} | cat && printf '%s\\0' ${
            right.map(({ source }) => source).join(" ")
          }`,
          seen: (
            given,
          ) => [...atLeastOne(left.flatMap(({ words }) => words(given))), ...atLeastOne(right.flatMap(({ words }) => words(given)))],
        })),
        ...(flavour.bash ? bashOnly(lazySegment, script) : []),
      ),
      statement: fc.oneof(
        {
          weight: 4,
          arbitrary: fc.tuple(
            tie("command"),
            fc.constantFrom("\n", '; # it\'s "a" `comment` {{ a }} $( {{# t }}\n', " # {{ b }}\n", "\n\n# '{{ l }}\n"),
          ).map(([command, end]): Script => ({ ...command, source: command.source + end })),
        },
        { weight: 2, arbitrary: tie("document") },
      ),
      commands: fc.array(tie("command"), { minLength: 1, maxLength: 2 }).map((list): Script => ({
        source: list.map(({ source }) => `${source}\n`).join(""),
        seen: (given) => list.flatMap(({ seen }) => seen(given)),
      })),
      document: hereDocument(word, script),
      script: fc.array(tie("statement"), { minLength: 1, maxLength: 2 }).map((list): Script => ({
        source: list.map(({ source }) => source).join(""),
        seen: (given) => list.flatMap(({ seen }) => seen(given)),
      })),
    };
  });
  // Not inside of substitutions, where bash 5.2 itself is wrong: two here-documents on one line, one in a block, arrays.
  const block = fc.tuple(fc.constantFrom(...BLOCKS), script).map(toBlock);
  const pair = fc.tuple(document, document).map(([left, right]) => bothDocuments(left, right));
  const array = words.map((list): Script => ({
    source: `arr=(${list.map(({ source }) => source).join("\n")}); printf '%s\\0' "\${arr[@]}"`,
    seen: (given) => atLeastOne(list.flatMap(({ words }) => words(given))),
  }));
  return fc.oneof({ weight: 6, arbitrary: script }, pair, block, ...(flavour.bash ? [array] : []));
}

/** `$((` would be arithmetic. */
function spaced(source: string): string {
  return source.startsWith("(") ? ` ${source}` : source;
}

/** What a substitution of a script is: its arguments, each ended by a NUL that shells drop. */
function output(inner: Script, given: Values): string {
  return inner.seen(given).join("");
}

function joinSegments(segments: readonly Segment[], given: Values): { text: string; quoted: boolean } {
  const seen = segments.map((segment) => segment.seen(given));
  return { text: seen.map(({ text }) => text).join(""), quoted: seen.some(({ quoted }) => quoted) };
}

function toWord(segments: readonly Segment[]): Word {
  return {
    source: segments.map(({ source }) => source).join(""),
    words: (given) => {
      const { text, quoted } = joinSegments(segments, given);
      return text !== "" || quoted ? [text] : [];
    },
  };
}

/** `printf '%s\0'` without arguments prints one that is empty. */
function atLeastOne(list: readonly string[]): readonly string[] {
  return list.length === 0 ? [""] : list;
}

function printing(list: readonly Word[], gap: string): Script {
  return {
    source: `printf '%s\\0'${list.map(({ source }) => gap + source).join("")}`,
    seen: (given) => atLeastOne(list.flatMap(({ words }) => words(given))),
  };
}

function toBlock([[open, close], inner]: readonly [readonly [string, string], Script]): Script {
  return { source: open + inner.source + close, seen: inner.seen };
}

const BLOCKS = [
  ["if :; then\n", "fi"],
  ["case x in\n(y) ;; x) ", ";; esac"],
  ["case x in x|z) ", ";; esac"],
  ["while :; do\n", "break; done"],
  ["{ ", "}"],
  ["( ", ")"],
] as const;

function doubleQuoted(script: fc.Arbitrary<Script>): fc.Arbitrary<Segment> {
  const part = fc.oneof(
    { weight: 3, arbitrary: listTag.map(([name, source]) => ({ source, seen: insideQuotes(name) })) },
    {
      weight: 2,
      arbitrary: fc.constantFrom("x", " ", "it's", "#", "(", ")", "}", ";", "<<E", "\n", "case x in").map((source) => ({
        source,
        seen: () => source,
      })),
    },
    fc.constantFrom(["\\$", "$"], ["\\`", "`"], ['\\"', '"'], ["\\\\", "\\"], ["\\\n", ""], ["$#", "0"], ["$((2*3))", "6"], [
      "${u:-x}",
      "x",
    ], ["${u#'}'}", ""]).map(([source = "", text = ""]) => ({ source, seen: () => text })),
    {
      weight: 2,
      arbitrary: script.map((inner) => ({
        source: `$(${spaced(inner.source)})`,
        seen: (given: Values) => withoutTrailingLines(output(inner, given)),
      })),
    },
  );
  return fc.array(part, { maxLength: 3 }).map((parts) => ({
    source: `"${parts.map(({ source }) => source).join("")}"`,
    seen: (given) => ({ text: parts.map(({ seen }) => seen(given)).join(""), quoted: true }),
  }));
}

function singleQuoted(): fc.Arbitrary<Segment> {
  const part = fc.oneof(
    listTag.map(([name, source]) => ({ source, seen: insideQuotes(name) })),
    fc.constantFrom("x", '"', "$", "`", "\\", "$(", "#", "\n").map((source) => ({ source, seen: () => source })),
  );
  return fc.array(part, { maxLength: 3 }).map((parts) => ({
    source: `'${parts.map(({ source }) => source).join("")}'`,
    seen: (given) => ({ text: parts.map(({ seen }) => seen(given)).join(""), quoted: true }),
  }));
}

function ansiQuoted(): fc.Arbitrary<Segment> {
  const part = fc.oneof(
    listTag.map(([name, source]) => ({ source, seen: insideQuotes(name) })),
    fc.constantFrom(["x", "x"], ["\\'", "'"], ["\\n", "\n"], ['"', '"'], ["\\\\", "\\"], ["$(", "$("], ["`", "`"]).map((
      [source = "", text = ""],
    ) => ({ source, seen: () => text })),
  );
  return fc.array(part, { maxLength: 3 }).map((parts) => ({
    source: `$'${parts.map(({ source }) => source).join("")}'`,
    seen: (given) => ({ text: parts.map(({ seen }) => seen(given)).join(""), quoted: true }),
  }));
}

function bashOnly(segment: fc.Arbitrary<Segment>, script: fc.Arbitrary<Script>): fc.Arbitrary<Script>[] {
  return [
    anyTag.map(([, source]) => ({ source: `[[ x${source} == x${source} && ( 1 < 2 ) ]] && printf 'same\\0'`, seen: () => ["same"] })),
    anyTag.map(([, source]) => ({ source: `[[ x${source} =~ ^(x)${source}$ ]] && printf 'match\\0'`, seen: () => ["match"] })),
    segment.map((one) => ({ source: `cat <<< x${one.source}; printf '\\0'`, seen: (given) => [`x${joinSegments([one], given).text}\n`] })),
    script.map((inner) => ({ source: `cat <(${spaced(inner.source)})`, seen: inner.seen })),
    segment.map((one) => ({
      source: `((1+(2))) && for ((i=0;i<1;i++)); do printf '%s\\0' x${one.source}; done`,
      seen: (given) => [`x${joinSegments([one], given).text}`],
    })),
    fc.tuple(segment, segment).map(([left, right]) => ({
      source: `y=aXb; printf '%s\\0' "x"\${y/X/}${left.source}; function g { printf '%s\\0' x"$@"; }; g ${right.source}`,
      seen: (given) => [`xab${joinSegments([left], given).text}`, `x${toWord([right]).words(given).join("")}`],
    })),
  ];
}

const DELIMITERS = [
  { source: "E", delimiter: "E", quoted: false },
  { source: "EOF", delimiter: "EOF", quoted: false },
  { source: " E", delimiter: "E", quoted: false },
  { source: "'E'", delimiter: "E", quoted: true },
  { source: "\\EOF", delimiter: "EOF", quoted: true },
  { source: '"E O F"', delimiter: "E O F", quoted: true },
];

/** A statement of one here-document, and maybe another word on its command line. */
function hereDocument(word: fc.Arbitrary<Word>, script: fc.Arbitrary<Script>): fc.Arbitrary<Script> {
  const literal = fc.constantFrom("x", "it's", 'say "hi"', " ", "#", "(", "case", "\n", "\n", "q").map((source) => ({
    source,
    seen: () => source,
  }));
  const tagged = listTag.map(([name, source]) => ({ source, seen: (given: Values) => textsOf(given[name]).join(" ") }));
  // In a here-document a continued line is joined before anything in it is read, quoted or not.
  const joined = ({ source }: { source: string }) => !/\\(?:\{\{[^}]*\}\})*\n/.test(source);
  const expanding = fc.oneof(
    fc.constantFrom(["\\$", "$"], ["\\`", "`"], ["\\\\", "\\"], ["\\\n", ""], ["$#", "0"], ["${u:-x}", "x"], ["$((1+1))", "2"], [
      "\\x",
      "\\x",
    ]).map(([source = "", text = ""]) => ({ source, seen: () => text })),
    script.filter(joined).map((inner) => ({
      source: `$(${spaced(inner.source)})`,
      seen: (given: Values) => withoutTrailingLines(output(inner, given)),
    })),
    word.filter(joined).map((one) => ({
      source: `\`printf '%s' x${one.source}\``.replace(/`.*`/s, (all) => `\`${all.slice(1, -1).replaceAll(/[\\$`]/g, "\\$&")}\``),
      seen: (given: Values) => withoutTrailingLines(`x${firstGlued(one, given)}`),
    })),
  );
  const part = fc.oneof({ weight: 2, arbitrary: literal }, { weight: 3, arbitrary: tagged });
  const beside = fc.option(word.filter(({ source }) => !source.includes("\n")));
  return fc.tuple(
    fc.constantFrom(...DELIMITERS),
    fc.constantFrom("<<", "<<-"),
    fc.array(part, { maxLength: 5 }),
    fc.array(expanding, { maxLength: 2 }),
    beside,
  )
    .map(([{ source, delimiter, quoted }, operator, parts, more, other]) => {
      const all = quoted ? parts : [...parts, ...more];
      const body = all.map((each) => each.source).join("");
      const also = other === null ? "" : ` && printf '%s\\0' ${other.source}`;
      return {
        body,
        delimiter,
        strips: operator === "<<-",
        source: `cat ${operator}${source} && printf '\\0'${also}\n${body}\n${operator === "<<-" ? "\t" : ""}${delimiter}\n`,
        seen: (
          given: Values,
        ) => [`${all.map(({ seen }) => seen(given)).join("")}\n`, ...(other === null ? [] : atLeastOne(other.words(given)))],
      };
    })
    // Lines of the author's that end the document, or tabs that `<<-` strips, are not what is tested here.
    .filter(({ body, delimiter, strips }) =>
      !body.split("\n").some((line) => line.replace(/^\t+/, "").startsWith(delimiter)) && !(strips && /(?:^|\n)\t/.test(body))
    );
}

function firstGlued(word: Word, given: Values): string {
  return word.words(given).join("");
}

/** Two here-documents that begin on one line. */
function bothDocuments(left: Script, right: Script): Script {
  const [first, second] = [left, right].map((
    { source },
  ) => [source.slice(0, source.indexOf("\n")), source.slice(source.indexOf("\n") + 1)]);
  return {
    source: `${first?.[0]}; ${second?.[0]}\n${first?.[1]}${second?.[1]}`,
    seen: (given) => [...left.seen(given), ...right.seen(given)],
  };
}

// deno-fmt-ignore
const TOKENS = [
  "{{ a }}", "{{ a }}", "{{ b }}", "{{ l }}", "{{ o }}", "{{# t }}", "{{/ t }}", "{{# o }}", "{{/ o }}", "{{^ z }}", "{{/ z }}", "'", "'", '"', '"', "`", "`", "\\`", "\\", "$(", ")",
  "$((", "))", "((", "(", "${u:-", "${u#", "${u", "}", "$", "$'", '$"', "#", " #", "\n", "\n", "\n", ";", ";;", " ", " ", "&&", "|", "<<E", "<<-E", "<<'E'", "<<\\E", "<<<", "E\n", "\nE\n", "\nE\n",
  "\tE\n", "EOF", "<<EOF", "\nEOF\n", "echo ", "cat ", "case x in ", "esac", "x)", "[[ ", " ]]", "==", "=~", "a=(", "v=", "if :; then ", "fi", "for i in ", "; do ", "; done", "{ ", "; }", "f() ",
  "function f ", "!", "@(", "<(", ">(", "a", "1", "\\\n", "$#", "${#u}", "$$", "time ", "-p", "select ", "in", "do", '\\"', "\\'", "\\$", "||", "&", ">&", "2>&1", "<", "{", "[", "]", "$[", "v[1]=",
  "+=", "[ ", "\t", "declare ", "local ", "-a ", "-i ", "export ", "unset ", "read ", "test -v ", "let ", "OPTIND=",
];

/** Bodies that may be well-formed or not: any tokens in any order, and bodies of the grammar with a mistake or two. */
export function oddBodies(flavour: Flavour): fc.Arbitrary<string> {
  const token = fc.constantFrom(...TOKENS);
  const soup = fc.array(token, { minLength: 2, maxLength: 16 }).map((tokens) => tokens.join(""));
  const mistake = fc.tuple(fc.double({ min: 0, max: 0.9999, noNaN: true }), fc.integer({ min: 0, max: 1 }), fc.option(token));
  const mistaken = fc.tuple(scripts(flavour), fc.array(mistake, { minLength: 1, maxLength: 2 })).map(([{ source }, mistakes]) =>
    mistakes.reduce((body, [where, dropped, added]) => {
      const at = Math.floor(where * body.length);
      return body.slice(0, at) + (added ?? "") + body.slice(at + dropped);
    }, source.slice(0, 700))
  );
  return fc.oneof(soup, mistaken).filter((body) => /\{\{ [abl]/.test(body));
}

/** Values that would leave a file called `pwned` behind if any of them were run, in each of the ways out of a quote. */
const poison = fc.array(
  // deno-fmt-ignore
  fc.constantFrom(
    "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "\ntouch pwned\n", "\nE\ntouch pwned\n", "\nEOF\ntouch pwned\nEOF\n", "x)\ntouch pwned\n#", "${x:=$(touch pwned)}",
    "\\'; touch pwned; #", '\\"; touch pwned #', "')\ntouch pwned\n('", "E\ntouch pwned\nE", "\\\ntouch pwned\n", "}; touch pwned; {", "}'\"; touch pwned; #", "a[$(touch pwned)]", "\n\tE\ntouch pwned\n",
    "E)\ntouch pwned\n", "]]\ntouch pwned\n", "* ) touch pwned ;; esac\ntouch pwned\n", "'\n\"\n`\ntouch pwned\n", "\\", "'", '"', ")", "$", '\\\\\n"$(touch pwned)"', "#\ntouch pwned", "''$(touch pwned)''",
    "\u0001'$(touch pwned)", "($(touch pwned))", "([$(touch pwned)]=1)",
  ),
  { minLength: 1, maxLength: 2 },
).map((parts) => parts.join(""));

export const venom: fc.Arbitrary<Values> = fc.record({
  a: poison,
  b: poison,
  n: fc.constant({ number: "7" }),
  t: fc.constant(true),
  z: fc.constant(false),
  o: fc.option(poison),
  l: fc.array(poison, { maxLength: 2 }),
});
