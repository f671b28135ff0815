/**
 * Bodies in which bash looks a second time into a word that may hold a value: as a name, an expression, an option, a
 * list. Written in all the ways in which such a command can be spelled.
 */
import fc from "fast-check";
import type { Values } from "./shell-grammar.ts";

/** A place for a value: a tag, or a variable that was given one. */
const hole = fc.constantFrom(
  "{{ a }}",
  "{{ a }}",
  "{{ b }}",
  "{{ l }}",
  '"$x"',
  "$x",
  '"${x}"',
  "$y",
  '"$1"',
  "$(echo {{ a }})",
  "{{ o }}",
);

const spelled = (name: string) =>
  fc.constantFrom(name, name, name, `"${name}"`, `\\${name}`, `${name.slice(0, 1)}''${name.slice(1)}`, `$'${name}'`, `'${name}'`);

const prefix = fc.constantFrom(
  ...[
    "",
    "",
    "",
    "builtin ",
    "command ",
    "command -p ",
    "builtin -- ",
    "command -- builtin ",
    "time ",
    "time -- ",
    "time -p ",
    "! ",
    "X=1 ",
    ">/dev/null ",
  ],
);

const declaring = fc.constantFrom("declare", "typeset", "local", "export", "readonly").chain(spelled);
const special = fc.constantFrom("RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "n", "m");

const ARGUMENTS: readonly ((name: string, first: string, second: string) => string)[] = [
  (name, first) => `${name} ${first}`,
  (name, first) => `${name} ${first}=1`,
  (name, first) => `${name} z=${first}`,
  (name, first) => `${name} -a z=${first}`,
  (name, first) => `${name} "z=${first.replaceAll('"', "")}"`,
  (name, first) => `${name} "-i" n; n=${first}`,
  (name, first) => `${name} -i n; n=${first}`,
  (name, first) => `${name} -n r=${first}; r=1`,
  (name, first) => `${name} -p ${first}`,
];

const declaration = fc.tuple(prefix, declaring, fc.constantFrom(...ARGUMENTS), hole, hole).map(([before, name, write, first, second]) =>
  before + write(name, first, second)
);

const taking = fc.tuple(
  prefix,
  fc.constantFrom("unset", "let", "read", "wait", "mapfile", "getopts", "printf", "test", "[", "compgen").chain(spelled),
  fc.array(
    fc.oneof(
      { weight: 2, arbitrary: hole },
      fc.constantFrom("-v", '"-v"', "-p", "-pi", "-a", "-r", "x", "%s", "-n", "--", "!", "=", "-W", "-C", "{-v,z}", "$'\\x2dv'"),
    ),
    {
      minLength: 1,
      maxLength: 4,
    },
  ),
  fc.constantFrom("", "", " <<< 1", " </dev/null"),
).map(([before, name, words, after]) => `${before}${name} ${words.join(" ")}${/\[["']?$/.test(name) ? " ]" : ""}${after}`);

const attached = fc.tuple(
  fc.constantFrom("printf -v", "printf '-v'", "read -p", "read -pi", "read -a", "test -", "[ -", "wait -n -p", "mapfile -C"),
  hole,
  hole,
)
  .map(([name, first, second]) => `${name}${first} ${second} x${name.startsWith("[") ? " ]" : ""} <<< 1`);

const assigned = fc.tuple(special, hole, fc.constantFrom("", "export ", "readonly ", "typeset -i m; ")).chain(([name, value, before]) =>
  fc.constantFrom(
    `${before}${name}=${value}`,
    `${before}${name}+=${value}`,
    `printf -v ${name} %s ${value}`,
    `read ${name} <<< ${value}`,
    `for ${name} in ${value}; do :; done`,
    `echo ${value} | while read -r ${name}; do :; done`,
    `mapfile ${name} <<< ${value}`,
    `${name}=(${value})`,
    `: \${${name}:=${value.startsWith("{{") ? value : "z"}}`,
  )
);

const calculated = fc.constantFrom(
  ...[
    "echo $((NAME))",
    "(( NAME ))",
    "echo $[NAME]",
    "let z=NAME",
    "[[ NAME -eq 1 ]]",
    "[[ $NAME -lt 1 ]]",
    "[[ -v $NAME ]]",
    "echo ${z:NAME}",
    "echo ${z:0:$NAME}",
  ],
  ...[
    "z[NAME]=1",
    "z[$NAME]=1",
    "echo ${z[NAME]}",
    "echo ${!NAME}",
    "echo ${NAME@P}",
    "for ((i=NAME;i<1;i++)); do :; done",
    'unset "z[$NAME]"',
    'printf -v "$NAME" z',
    "[ $NAME = y ]",
    "test -n $NAME",
    "[ $(echo $NAME) = y ]",
    "m=NAME; echo $((m))",
    "m=NAME; echo $(( ${!m} ))",
    '[[ "NAME" -gt 3 ]]',
    "source <(echo z=$NAME)",
    "echo $((REPLY + MAPFILE[0] + _))",
  ],
  ...[
    "echo `echo $((NAME))`",
    'echo "$(( ${NAME} ))"',
    "cat <<E\n$((NAME))\nE",
    'declare "$NAME=1"',
    "declare -i z=$NAME",
    "f() { local -i z=$NAME; }; f",
    "exec {z[NAME]}<&1",
  ],
);

const used = fc.tuple(
  fc.constantFrom(
    "",
    "n={{ b }}\n",
    "n=$x; ",
    "read -r n <<< {{ a }}; ",
    "read -r <<< {{ a }}; n=$REPLY; ",
    "mapfile <<< {{ a }}; ",
    'k=n; read -r "$k" <<< {{ a }}; ',
    "set -- -b {{ a }}; while getopts b: o; do n=$OPTARG; done; ",
    "n=$(cat <<E\n{{ a }}\nE\n)\n",
    "for n in {{ l }}; do :; done; ",
    "n=$(printf %s {{ a }}); ",
    'n="pre $x"; ',
    "n=({{ l }}); ",
  ),
  calculated,
  fc.constantFrom("n", "x", "y", "1"),
).map(([before, expression, name]) => before + expression.replaceAll("NAME", name));

const TAIL = ["", "", "\necho $n $m >/dev/null", "; echo done"];
const HEAD = ["x={{ a }}\n", "x={{ a }}; y=$x\n", 'x={{ b }}\nset -- "$x"\n', "f() { x=$1; }; f {{ a }}\n", "y={{ a }}\n", ""];

/** Well-formed or not, whatever is accepted must run nothing of the values. */
export const attacks: fc.Arbitrary<string> = fc.tuple(
  fc.constantFrom(...HEAD),
  fc.oneof(declaration, { weight: 2, arbitrary: taking }, attached, assigned, { weight: 2, arbitrary: used }),
  fc.constantFrom(
    ...[
      "STEP",
      "STEP",
      "STEP",
      "if STEP; then :; fi",
      "g() { STEP; }; g {{ a }}",
      "z=$(STEP)",
      "case x in (x) STEP;; esac",
      "{{# t }}STEP{{/ t }}",
      "{ STEP; }",
      "{{# o }}echo x; {{/ o }}STEP",
    ],
  ),
  fc.constantFrom(...TAIL),
).map(([head, step, around, tail]) => head + around.replace("STEP", () => step) + tail);

const strike = fc.constantFrom(
  ...[
    "a[$(touch pwned)]",
    "a[$(touch pwned)]",
    "x[$(touch pwned)]=1",
    "-v",
    "v",
    "-i",
    "$(touch pwned)",
    "touch pwned",
    "x=($(touch pwned))",
    "($(touch pwned))",
    "-va[$(touch pwned)]",
    "-v a[$(touch${IFS}pwned)]",
    "a -o -v a[$(touch${IFS}pwned)]",
    "a[$(touch${IFS}pwned)]",
    "-a",
    "z",
    "=",
  ],
);

export const strikes: fc.Arbitrary<Values> = fc.record({
  a: strike,
  b: strike,
  n: fc.constant({ number: "7" }),
  t: fc.constant(true),
  z: fc.constant(false),
  o: fc.option(strike),
  l: fc.array(strike, { maxLength: 3 }),
});
