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

/** Ways in which something that is run by a word reaches an interpreter, and what there runs it. */
const SCRIPTS = [
  "echo $(($1))",
  "echo $((x))",
  "read -r n; echo $((n))",
  'eval "$1"',
  'eval "$x"',
  "cat | bash",
  'f() { echo $(($2)); }; f 1 "$@"',
  "shift; echo $(($1))",
  'bash -c "$1"',
  "bash -c 'echo $((x))'",
  'for n in "$@"; do echo $((n)); done',
  "[ $1 = z ]",
  '"$@"',
  "n=${1:-3}; (( n > 2 ))",
  "echo ok",
];

const PROGRAMS = [
  "awk 'BEGIN { system(ARGV[1]) }' VALUE",
  "awk 'BEGIN { system(ENVIRON[\"x\"]) }'",
  "awk -v c=VALUE 'BEGIN { system(c) }'",
  "awk '{ system($0) }' <<< VALUE",
  "awk 'BEGIN { ARGV[1] | getline }' VALUE",
  "sed 's/^//e' <<< VALUE",
  "perl -ne print VALUE",
  "perl -e 'system($ENV{x})'",
  "perl -e 'eval <STDIN>' <<< VALUE",
  "python3 -c 'import os, sys; os.system(sys.argv[1])' VALUE",
  "python3 <<< 'import os; os.system(os.environ[\"x\"])'",
  "make -f - VALUE <<< 'all:'",
  "make -f - <<< 'all: ; @echo $(x)'",
  "printf 'all:\\n\\t%s\\n' VALUE | make -f -",
  "find . -maxdepth 0 -exec bash -c VALUE ';'",
  "find . -maxdepth 0 -exec bash -c 'echo $(($1))' _ VALUE ';'",
  "bash VALUE",
  "VALUE",
  "env VALUE",
  "timeout 2 VALUE",
  "bash <(echo VALUE)",
  "source <(echo VALUE)",
  "PATH=VALUE:$PATH cat",
];

const FILES = ["w.sh", "./w.sh", '"$f"', '"${f}"', "d/w.sh"];
const writing = fc.constantFrom(
  ...[
    "echo VALUE > F",
    "cat > F <<E\nVALUE\nE\n",
    "echo VALUE | tee F",
    "cat <<< VALUE >> F",
    "{ echo VALUE; } > F",
    "g() { echo VALUE; }; g > F",
  ],
  ...[
    "(echo VALUE) > F",
    "echo VALUE > o; cp o F",
    "echo VALUE > o; mv o F",
    'printf "%s" VALUE > F',
    "exec 4> F; echo VALUE >&4",
    "echo VALUE &> F",
  ],
);
const running = fc.constantFrom(
  ...[
    "bash F",
    ". F",
    "source F",
    "sh < F",
    "cat F | bash",
    "chmod +x F; F",
    'bash -c "$(cat F)"',
    'eval "$(<F)"',
    "read -r n < F; echo $((n))",
  ],
  ...[
    "n=$(cat F); echo $((n))",
    "env bash F",
    "while read -r n; do echo $((n)); done < F",
    "mapfile z < F; echo $((z))",
    "python3 F",
    "bash <(cat F)",
  ],
);
const filed = fc.tuple(writing, running, fc.constantFrom(...FILES), fc.constantFrom(...FILES), hole).map(([write, run, to, from, value]) =>
  `mkdir -p d; cd d; ln -sf . d; f=w.sh\n${write.replaceAll("F", () => to).replaceAll("VALUE", () => value)}\n${
    run.replaceAll("F", () => from)
  }`
);

const scripted = fc.tuple(fc.constantFrom(...SCRIPTS), fc.constantFrom("bash", "env bash", "timeout 2 bash", "exec bash", "$BASH"), hole)
  .chain(
    ([script, shell, value]) =>
      fc.constantFrom(
        `${shell} -c '${script}' _ ${value}`,
        `${shell} -c '${script}' _ 1 ${value}`,
        `${shell} -c '${script}' ${value}`,
        `${shell} -c '${script}' _ 5 <<< ${value}`,
        `echo ${value} | ${shell} -c '${script}' _ 5`,
        `export x; ${shell} -c '${script}' _ 5`,
        `x=${value} ${shell} -c '${script}' _ 5`,
        `set -a; x=${value}; ${shell} -c '${script}' _ 5`,
        `declare -x x=${value}; ${shell} -c '${script}' _ 5`,
        `env x=${value} bash -c '${script}' _ 5`,
        `${shell} -s ${value} <<'E'\n${script}\nE\n`,
        `${shell} -s -- 5 ${value} <<'E'\n${script}\nE\n`,
        `echo '${script.replaceAll("'", "")}' | ${shell} -s ${value}`,
        `xargs -I{} ${shell} -c '${script}' _ {} <<< ${value}`,
        `xargs -I{} ${shell} -c 'echo {}' <<< ${value}`,
        `echo ${value} | xargs ${shell} -c '${script}' _`,
        `{ ${shell}; } <<< ${value}`,
        `(${shell}) <<E\n${value}\nE\n`,
        `g() { ${shell}; }; g <<< ${value}`,
        `g() { ${shell}; }; echo ${value} | g`,
        `exec <<< ${value}; ${shell}`,
        `if true; then ${shell}; fi <<< ${value}`,
        `echo ${value} | { read -r n; ${shell} -c "$n"; }`,
        `g() { ${script}; }; g ${value}`,
        `g() { ${script}; }; g 1 2 ${value}`,
        `set -- 1 ${value}; ${script}`,
      ),
  );

const programmed = fc.tuple(fc.constantFrom(...PROGRAMS), hole).map(([program, value]) => program.replaceAll("VALUE", () => value));

/** Bodies that hand something of a value to an interpreter: what is run has to be told. */
export const handovers: fc.Arbitrary<string> = fc.tuple(
  fc.constantFrom("x={{ a }}; export x\n", "export x={{ a }}; set -- {{ a }}\n", "x={{ a }}; y=$x\n"),
  fc.oneof({ weight: 3, arbitrary: scripted }, programmed, filed),
).map(([head, step]) => head + step);

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
    "x:=$(shell touch pwned)",
    "touch pwned |",
    "touch${IFS}pwned",
    "import os; os.system('touch pwned')",
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
