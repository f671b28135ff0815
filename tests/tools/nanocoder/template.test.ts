import { describe, expect, test } from "bun:test";
import { parseKeepingNumbers } from "../../../lib/session/json.ts";
import type { Dialect } from "../../../lib/tools/nanocoder/shell-state.ts";
import { compileTemplate } from "../../../lib/tools/nanocoder/template.ts";
import { BOTH, DECLARED, faultsOf, render, runScript } from "./shells.ts";

const HOSTILE = [
  "$(touch pwned)",
  "`touch pwned`",
  "x'; touch pwned; '",
  'x"; touch pwned; "',
  "a\ntouch pwned\nb",
  "E\ntouch pwned\nE\nEOF\ntouch pwned",
  "\\'; touch pwned; #",
  "*) touch pwned;; esac)",
  "}$(touch pwned)",
  "a$'b $& $` $$ $1",
  "a\\\nb\\\\\nc\\",
  "{{ b }}{{/ a }}",
  "",
];

const quoted = (value: string) => `'${value}'`;
const line = (value: string) => `${value}\n`;

/** A body, what it prints for a value, and in which shells it is valid. */
type Row = readonly [title: string, body: string, printed: (value: string) => string, shells?: readonly Dialect[]];

const PLACES: readonly Row[] = [
  ["a word", "printf '%s|' {{ a }} end", (v) => `${v}|end|`],
  ["a part of a word", "printf %s pre{{ a }}post", (v) => `pre${v}post`],
  ["an assignment", 'x={{ a }} ; printf %s "$x"', (v) => v],
  ["double quotes", 'printf %s "-l {{ a }}"', (v) => `-l ${quoted(v)}`],
  ["single quotes", "printf %s 'say {{ a }}'", (v) => `say ${quoted(v)}`],
  ["$'…'", "printf %s $'it\\'s {{ a }}\\n'", (v) => `it's ${quoted(v)}\n`, ["bash"]],
  ['$"…"', 'printf %s $"{{ a }}"', quoted, ["bash"]],
  ["a comment, where it stays as it is", "# {{ a }} {{# f }}x\necho ok", () => "ok\n"],
  ["a comment after ;", "echo a;# {{ a }}\necho b", () => "a\nb\n"],
  ["# inside a word", "printf %s a#{{ a }}", (v) => `a#${v}`],
  ["$# and ${#x}", "x=abc; printf '%s %s %s' $# {{ a }} ${#x}", (v) => `0 ${v} 3`],
  ["after a continued line", "printf %s \\\n  {{ a }}", (v) => v],
  ["a here-document", "cat <<E\n{{ a }}\nE", line],
  ["a line of a here-document", "cat <<EOF\nName: {{ a }}!\nEOF", (v) => `Name: ${v}!\n`],
  ["a here-document with a line that is nearly its end", "cat <<E\nE \n E\nEE\n{{ a }}\nE", (v) => `E \n E\nEE\n${v}\n`],
  ["a here-document with its tabs dropped", "cat <<-E\n\t{{ a }}\n\tE", line],
  ["a here-document whose delimiter has spaces", 'cat <<"E O F"\n{{ a }}\nE O F', line],
  ["the first of two here-documents", "cat <<X; cat <<Y\n{{ a }}\nX\ny\nY", (v) => `${v}\ny\n`],
  ["the second of two here-documents", "cat <<X; cat <<\\Y\nx\nX\n{{ a }}\nY", (v) => `x\n${v}\n`],
  ["beside a here-document", "cat <<E && printf %s {{ a }}\nbody\nE", (v) => `body\n${v}`],
  ["a here-string", "cat <<< {{ a }}", line, ["bash"]],
  ["a command substitution", "x=$(printf '%s.' {{ a }}); printf %s \"$x\"", (v) => `${v}.`],
  ["a command substitution in double quotes", "printf %s \"<$(printf '%s.' {{ a }})>\"", (v) => `<${v}.>`],
  ["substitutions nested in double quotes", 'printf %s "$(printf %s "$(printf \'%s.\' "{{ a }}")")"', (v) => `${quoted(v)}.`],
  ["case … esac in a substitution", "printf %s \"$(case x in y) ;; x) printf '%s.' {{ a }};; esac)\"", (v) => `${v}.`],
  ["after case … esac in a substitution", "printf %s $(case x in y) ;; x) printf z;; esac){{ a }}", (v) => `z${v}`],
  ["a case pattern", "case {{ a }} in ({{ a }}) printf same;; *) printf other;; esac", () => "same"],
  ["a here-document in a substitution", 'printf %s "$(cat <<E\n{{ a }}.\nE\n)"', (v) => `${v}.`],
  ["a substitution in a here-document", "cat <<E\n$(printf '%s.' {{ a }})\nE", (v) => `${v}.\n`],
  ["double quotes in a substitution in a here-document", "cat <<E\n$(printf '%s.' \"{{ a }}\")\nE", (v) => `${quoted(v)}.\n`],
  ["backticks", "x=`printf '%s.' {{ a }}`; printf %s \"$x\"", (v) => `${v}.`],
  ["double quotes in backticks", 'x=`printf \'%s.\' "{{ a }}"`; printf %s "$x"', (v) => `${quoted(v)}.`],
  [
    "backticks in backticks",
    "x=`printf '%s.' \\`printf '%s_' {{ a }} | tr '\\\\\\\\n' ' '\\` | tr '\\\\n' ' '`; printf %s {{ a }}",
    (v) => v,
  ],
  ["backticks in a here-document", "cat <<E\n`printf '%s.' {{ a }}`\nE", (v) => `${v}.\n`],
  ["a default of an expansion", "IFS=; set -f; printf %s ${u:-{{ a }}}", (v) => v],
  ["after a quoted pattern of an expansion", "x=a.txt; printf %s \"${x%'.txt'}\" {{ a }}", (v) => `a${v}`],
  ["after arithmetic", "printf '%s %s' $(( 2 * (3 + 1) )) {{ a }}", (v) => `8 ${v}`],
  ["a subshell", "(printf %s {{ a }})", (v) => v],
  ["a function", 'f() { printf %s "$1"; }; f {{ a }}', (v) => v],
  ["a loop", 'for x in {{ a }}; do printf %s "$x"; done', (v) => v],
  ["[[ … ]]", "[[ {{ a }} == {{ a }} ]] && printf same", () => "same", ["bash"]],
  ["a regular expression", "[[ x{{ a }} =~ ^(x){{ a }}$ ]] && printf same", () => "same", ["bash"]],
  ["an array", "x=({{ a }} z); printf '%s|' \"${x[@]}\"", (v) => `${v}|z|`, ["bash"]],
  ["a process substitution", "cat <(printf %s {{ a }})", (v) => v, ["bash"]],
  ["a redirection", "printf %s x > ./f{{ o }}; cat ./f; printf %s {{ a }}", (v) => `x${v}`],
];

describe("a value is inert and seen as it is in", () => {
  for (const [title, body, printed, shells = BOTH] of PLACES) {
    test(title, () => {
      for (const dialect of shells) {
        for (const value of HOSTILE) {
          const script = renderOrNull(body, value, dialect);
          if (script === null) continue;
          expect({ value, dialect, ...runScript(script, dialect) }).toEqual({ value, dialect, stdout: printed(value), pwned: false });
        }
      }
    });
  }
});

/** Null for a value that would end a quoted here-document: that fails the call. */
function renderOrNull(body: string, value: string, dialect: Dialect): string | null {
  try {
    return render(body, { a: value, b: "B" }, dialect);
  } catch (error) {
    if (body.includes('<<"') || body.includes("<<\\")) return null;
    throw error;
  }
}

const BACKTICK = "`";
const REFUSED: readonly (readonly [title: string, body: string, fault: string, shells?: readonly Dialect[]])[] = [
  ["right after $", "echo ${{ a }}", "tag_after_dollar@6"],
  ["right after $ in double quotes", 'echo "${{ a }}"', "tag_after_dollar@7"],
  ["right after $ in a here-document", "cat <<E\n${{ a }}\nE", "tag_after_dollar@9"],
  ["right after $, as a section", "echo ${{# f }}x{{/ f }}", "tag_after_dollar@6"],
  ["right after a backslash", "echo \\{{ a }}", "tag_after_backslash@6"],
  ["right after a backslash in double quotes", 'echo "\\{{ a }}"', "tag_after_backslash@7"],
  ["right after a backslash at the end of a section", "echo {{# f }}\\{{/ f }}", "tag_after_backslash@14"],
  ["in $((…))", "echo $(( {{ a }} + 1 ))", "tag_arithmetic@9"],
  ["in ((…))", "(( x = {{ a }} ))", "tag_arithmetic@7"],
  ["in $[…]", "echo $[{{ a }}]", "tag_arithmetic@7", ["bash"]],
  ["in a subscript", "x[{{ a }}]=1", "tag_arithmetic@2"],
  ["in quotes in a subscript", 'x["{{ a }}"]=1', "tag_arithmetic@3"],
  ["in a subscript of an expansion", "echo ${x[{{ a }}]}", "tag_arithmetic@9"],
  ["in an offset of an expansion", "echo ${x:{{ a }}:1}", "tag_arithmetic@9"],
  ["in a subscript in an array", "x=([{{ a }}]=1)", "tag_arithmetic@4", ["bash"]],
  ["before an arithmetic operator of [[", "[[ {{ a }} -eq 1 ]]", "tag_arithmetic@3"],
  ["after an arithmetic operator of [[", "[[ 1 -lt {{ a }} ]]", "tag_arithmetic@9"],
  ["after -v in [[", "[[ -v {{ a }} ]]", "tag_arithmetic@6"],
  ["in backticks inside double quotes", `echo "${BACKTICK}echo {{ a }}${BACKTICK}"`, "tag_backticks_in_quotes@12"],
  ["as the delimiter of a here-document", "cat <<{{ a }}\nx\n", "tag_here_delimiter@6"],
  ["as the name of an expansion", "echo ${{{ a }}}", "tag_parameter@7"],
  ["in an expansion inside double quotes", 'echo "${x:-{{ a }}}"', "tag_parameter@11"],
  ["where bash expands the target twice", "echo x >&{{ a }}", "tag_read_twice@9"],
  ["where bash evaluates an argument", "let x={{ a }}", "tag_read_twice@6"],
  ["where bash evaluates a declared list", "declare -a x={{ a }}", "tag_read_twice@13"],
  ["where bash evaluates the subscript of a name", "test -v {{ a }}", "tag_read_twice@8"],
  ["after declare -i, which makes assignments arithmetic", "declare -i x; x={{ a }}", "tag_read_twice@16"],
  ["after $'…' in sh, which may not know it", "echo $'\\'' {{ a }}", "tag_unreadable@11", ["sh"]],
  ["in $'…' in sh", "echo $'{{ a }}'", "tag_ansi_in_sh@7", ["sh"]],
  ["after a here-document whose substitution goes past its end", "cat <<E\n$(echo\nE\n)\nE\necho {{ a }}", "tag_unreadable@26"],
  ["where bash takes a line for the end of a here-document", "echo $(cat <<E\nEx {{ a }}\nE\n)", "tag_here_end@18"],
  ["in an array in a substitution, where bash loses backslashes", "echo $(x=({{ a }}); echo)", "tag_unreadable@10", ["bash"]],
  ["where only a kept section opens a quote", '{{# f }}"{{/ f }}x {{ a }}', "tag_ambiguous@19"],
  ["where an absent value would begin a comment", "echo {{ o }}#{{ a }}", "tag_ambiguous@13"],
];

describe("a tag is refused at load, at its place,", () => {
  for (const [title, body, fault, shells = BOTH] of REFUSED) {
    test(title, () => {
      for (const dialect of shells) expect(faultsOf(body, dialect)).toContain(fault);
    });
  }

  test("and one construct that cannot be read is reported once", () => {
    expect(faultsOf("coproc x\necho {{ a }} {{ b }}")).toHaveLength(1);
  });
});

/** Bodies that would run something of a value, by the kind of place; each of them did in bash 5.2. */
const READ_TWICE: Readonly<Record<string, readonly string[]>> = {
  "as operators of test, without quotes": [
    "x={{ a }}; [ $x = y ]",
    "x={{ a }}; while test -n $x; do :; done",
    "f() { [ -z $1 ]; }; f {{ a }}",
    "set -- {{ a }}; [ $1 = x ]",
    'set -- {{ l }}; [ "$@" ]',
    "for f in {{ l }}; do [ -e $f ]; done",
    "x={{ a }}; [ ${x:-none} ]",
    "x={{ a }}; [ ${x##*/} ]",
    "[ $(echo {{ a }}) = y ]",
    "x=$(basename {{ a }}); [ $x = y ]",
  ],
  "in variables that are assigned unsaid": [
    "read -r <<< {{ a }}; echo $((REPLY + 1))",
    "echo {{ a }} | while read; do echo $((REPLY)); done",
    "set -- -b {{ a }}; while getopts b: o; do n=$OPTARG; done; echo $((n * 2))",
    "mapfile <<< {{ a }}; echo $((MAPFILE[0]))",
    ": {{ a }}; echo $((_))",
    "n=$(cat <<EOF\n{{ a }}\nEOF\n); echo $((n))",
    'emit() { echo "$1"; }; n=$(emit {{ a }}); echo $((n))',
  ],
  "by way of its name": [
    "width={{ a }}\nfor v in width; do (( ${!v} < 1 )); done",
    "n={{ a }}; m=n; echo $((m))",
    'n={{ a }}; [[ "n" -gt 3 ]]',
    "n={{ a }}; [[ 1+n -gt 3 ]]",
    'k=n; read -r "$k" <<< {{ a }}; echo $((n))',
    'k=n; printf -v "$k" %s {{ a }}; echo $((n))',
    "f() { local -n r=$1; r={{ a }}; }; f n; echo $((n))",
    "f() { local x; x[0]=1; local x={{ a }}; }; f",
    "f() { read -ra x; local x={{ a }}; }; f",
    "f() { mapfile x; local x={{ a }}; }; f",
    "f() { printf -v 'x[0]' 1; local x={{ a }}; }; f",
  ],
  "however the command is spelled": [
    "builtin declare {{ a }}=1",
    "command declare {{ a }}=1",
    "command -p printf -v {{ a }} x",
    "builtin -- command unset {{ a }}",
    "builtin let {{ a }}",
    "command read {{ a }} <<<x",
    "builtin test -v {{ a }}",
    "command [ -v {{ a }} ]",
    "time -- declare {{ a }}=1",
    "time -p declare {{ a }}=1",
    "! \\unset {{ a }}",
    'de""clare {{ a }}=1',
    "$'declare' {{ a }}=1",
    "X=1 >y unset {{ a }}",
    "{declare,{{ a }}=1}",
    "if ! builtin unset {{ a }}; then :; fi",
    "x=$(unset {{ a }})",
  ],
  "as a name, however its option is written": [
    "printf -v{{ a }} x",
    'printf "-v" {{ a }} x',
    "printf {-v,{{ a }}} x",
    "read -pi {{ a }} <<<x",
    "read x {{ a }} <<<x",
    "wait -n -p {{ a }}",
    "mapfile -C {{ a }} -c 1 x",
    "getopts a {{ a }}",
    "compgen -W {{ a }}",
    "alias x={{ a }}",
    "f() { local {{ a }}; }",
    "f() { local -a x={{ a }}; }",
    "export {{ a }}",
    "readonly -a x={{ a }}",
  ],
  "where it may be the option itself": [
    "test -{{ a }} {{ b }}",
    "test {{ a }} {{ b }}",
    "[ {{ a }} {{ b }} ]",
    "[ ! {{ a }} {{ b }} ]",
    "[ x -a -v {{ a }} ]",
    "test {{# f }}-v{{/ f }} {{ a }}",
    "printf {{ a }} x",
    "printf {{ l }}",
    "printf {{# f }}%s{{/ f }} {{ a }}",
    "test {{ l }}",
    "[ {{ l }} ]",
  ],
  "as the value of a variable that calculates or runs it": [
    "RANDOM={{ a }}",
    "SRANDOM={{ a }}",
    "HISTCMD={{ a }}",
    "OPTIND+={{ a }}",
    "export RANDOM={{ a }}",
    "readonly OPTIND={{ a }}",
    "f() { local RANDOM={{ a }}; }",
    "printf -v RANDOM %s {{ a }}",
    "read RANDOM <<<{{ a }}",
    "for RANDOM in {{ a }}; do :; done",
    "export PS4={{ a }}",
    "BASH_ENV={{ a }}",
    "ENV={{ a }} sh",
    '"declare" -i n; n={{ a }}',
    "declare '-i' n; n={{ a }}",
    "builtin declare -i n; n={{ a }}",
    "n={{ a }}; declare -i n",
  ],
  "as a variable that is read again": [
    "n={{ a }}; echo ${!n}",
    "n={{ a }}\ndeclare -i total; total=$n",
    'n={{ a }}\nprintf -v "$n" x',
    'n={{ a }}; unset "x[$n]"',
    "n={{ a }}; echo $((n+1))",
    "n={{ a }}; echo $(( ${n:-1} ))",
    "n={{ a }}; (( n ))",
    "n={{ a }}; let m=n",
    "n={{ a }}; [[ $n -gt 3 ]]",
    "n={{ a }}; [[ n -gt 3 ]]",
    "n={{ a }}; echo ${x:n}",
    "n={{ a }}; x[n]=1",
    "n={{ a }}; x[$n]=1",
    "n={{ a }}; echo ${x[n]}",
    "n={{ a }}; echo ${n@P}",
    'n={{ a }}; [ -v "$n" ]',
    'n={{ a }}; declare -a x; declare x="$n"',
    "n={{ a }}; exec {x[$n]}<&1",
    "n={{ a }}; for ((i=n;i<1;i++)); do :; done",
    "n={{ a }}; echo `echo $((n))`",
    "cat <<E\n$((n))\nE\nn={{ a }}",
  ],
  "on its way through variables, functions, loops and pipes": [
    'n={{ a }}; m=$n; o="$m"; echo $((o))',
    "f() { echo $(($1)); }; f {{ a }}",
    'function f { echo $(($1)); }; n={{ a }}; f "$n"',
    "set -- {{ a }}; echo $(( $1 ))",
    "for x in {{ l }}; do echo $((x)); done",
    "x=({{ l }}); echo $((x[0]))",
    "read -r n <<< {{ a }}; echo $((n))",
    "read -r n <<E\n{{ a }}\nE\necho $((n))",
    "echo {{ a }} | while read -r n; do echo $((n)); done",
    "mapfile -t x <<< {{ a }}; echo $((x))",
    "n=$(echo {{ a }}); echo $((n))",
    ": ${n:={{ a }}}; echo $((n))",
    "printf -v n %s {{ a }}; echo $((n))",
    "[[ {{ a }} =~ (.*) ]]; echo $((BASH_REMATCH[1]))",
    "n={{ a }}; coproc cat\necho $((n))",
  ],
};

describe("a value that bash would read again is refused", () => {
  for (const [title, bodies] of Object.entries(READ_TWICE)) {
    test(title, () => {
      for (const body of bodies) expect([body, faultsOf(body).length > 0]).toEqual([body, true]);
    });
  }

  test("unless it cannot be more than a number", () => {
    const inert = new Map([...DECLARED].map(([name, declared]) => [name, { ...declared, inert: true }]));
    const bodies = ["n={{ a }}; echo $((n+1))", "declare -i n; n={{ a }}", "let n={{ a }}", "test -{{ a }} {{ b }}", "RANDOM={{ a }}"];
    for (const body of bodies) expect([body, compileTemplate(body, "bash", inert).faults]).toEqual([body, []]);
  });

  test("and a list where one word is meant", () => {
    for (const body of ["x={{ l }}", "> {{ l }}", "cat < {{ l }}", "export {{ l }}", "readonly {{ l }}", "f() { local x={{ l }}; }; f"]) {
      expect([body, faultsOf(body).some((fault) => /tag_(?:list|read_twice)/.test(fault))]).toEqual([body, true]);
    }
  });

  test("but not what common scripts do", () => {
    for (
      const body of [
        'printf "%s\\n" {{ a }} {{ l }}',
        'x={{ a }}; [ "$x" = y ] && [ -n "$x" ] && [[ $x = y ]]',
        'arr=({{ l }}); for i in "${!arr[@]}"; do echo "$i: ${arr[$i]}"; done',
        "declare x={{ a }}; declare -r T={{ b }}",
        'i=0; max=5; f() { echo "$1"; }; f {{ a }}; f 3; [ $i -lt $max ] && echo $((i + 1))',
        "printf -- {{ a }}",
        'printf -v x %s {{ a }}; echo "$x"',
        "[ {{ a }} = {{ b }} ] || [ -n {{ a }} ] && test -f {{ a }}",
        '[ {{ a }} = x -o {{ b }} = y ] && [ "$HOME" = {{ a }} ]',
        "[[ -f {{ a }} && {{ b }} == x* ]]",
        'read -r -p {{ a }} x; read -r line < {{ a }}; echo "$line"',
        'f() { local dir={{ a }}; cd -- "$dir"; }; f {{ b }}',
        'export NAME={{ a }} OTHER={{ b }}; exec prog "$NAME"',
        'x={{ a }}; case $x in *[!0-9]*) exit 2;; esac; echo "${x%.txt}" "${#x}" ${x:-none}',
        'i=0; for f in {{ l }}; do i=$((i + 1)); echo "$i $f"; done',
        "declare -A seen; for k in {{ l }}; do seen[$k]=1; done",
        'args=({{ l }}); prog "${args[@]}" "${args[0]}"; echo ${#args[@]}',
        "command -v {{ a }} && command grep -- {{ a }} file && exec rg -- {{ b }}",
        "if ! time kubectl get pods -n {{ a }}; then exit $?; fi",
        "count=$(grep -c x file); if (( count > 3 )); then echo {{ a }}; fi",
        "shift $#; exit {{ a }}",
        'IFS=, read -ra parts <<< {{ a }}; echo "${parts[0]}"',
        'find . -name {{ a }} -exec ls {} + | while read -r f; do echo "$f"; done',
        "unset FOO; typeset -i n=0; n=5; wait; echo {{ a }}",
      ]
    ) expect([body, faultsOf(body)]).toEqual([body, []]);
  });
});

describe("what a filter prints of a value", () => {
  test("is refused where the shell calculates it, unless it is a number", () => {
    for (const filter of ["tr a b", "cut -d. -f1", "sed s/a/b/", "awk '{ print $1 }'", "grep x", "rev | rev", "tr a b | head -n1"]) {
      const body = `x=$(echo {{ a }} | ${filter}); echo $((x))`;
      expect([body, faultsOf(body)]).toEqual([body, [expect.stringContaining("tag_arithmetic")]]);
    }
    for (const filter of ["tr -cd 0-9", "wc -l", "sed 's/[^0-9]//g'", "awk '{ print NF }'", "grep -c x", "sort | wc -w"]) {
      const body = `x=$(echo {{ a }} | ${filter}); echo $((x))`;
      expect([body, faultsOf(body)]).toEqual([body, []]);
    }
  });
});

describe("what one file may cost", () => {
  const ways = Array.from({ length: 5 }, (_, index) => `{{# p${index} }}$( {{/ p${index} }}`).join("");
  const body = `${ways}${"$( ".repeat(30)}${"a {{ p0 }}".repeat(900)}`;
  const optional = new Map(Array.from({ length: 5 }, (_, index) => [`p${index}`, { optional: true, list: false }]));

  test("ends the reading of it with a fault, and of all files together too", () => {
    const budget = { steps: 6_000_000 };
    const first = compileTemplate(body, "bash", optional, budget);
    expect(first.faults.map(({ code }) => code)).toContain("tag_too_costly");
    expect(6_000_000 - budget.steps).toBeLessThan(5_000_000);
    const second = compileTemplate(body, "bash", optional, budget);
    expect(second.faults.map(({ code }) => code)).toContain("tag_too_costly");
    expect(compileTemplate("cat {{ p0 }}", "bash", optional, budget).faults.map(({ code }) => code)).toEqual(["tag_too_costly"]);
    expect(-budget.steps).toBeLessThan(1_000_000);
  });

  test("counts what becomes of values, also in a script within the script", () => {
    const names = Array.from({ length: 400 }, (_, index) => `n${index}=$1`).join("; ");
    const costs = compileTemplate(`bash -c '${names}' _ {{ o }}`, "bash", DECLARED);
    expect(costs.faults.map(({ code }) => code)).toEqual(["tag_too_costly"]);
    const nested = Array.from({ length: 40 }, (_, index) => `n${index}=$1`).join("; ");
    expect(compileTemplate(`bash -c '${nested}' _ {{ o }}`, "bash", DECLARED).faults).toEqual([]);
  });

  test("lets a thousand files of a dozen lines load", () => {
    const budget = { steps: 120_000 };
    const lines = Array.from(
      { length: 12 },
      (_, index) => `x${index}={{ o }}; for f in a b c; do if [ -f "$f" ]; then grep -n -- "$x${index}" "$f" | head -n 5; fi; done`,
    );
    expect(compileTemplate(lines.join("\n"), "bash", DECLARED, budget).faults).toEqual([]);
    // As much again is refused, so that the whole is counted.
    expect(budget.steps).toBeLessThan(60_000);
  });

  test("is out of reach of a script with hundreds of sections", () => {
    const budget = { steps: 4_000_000 };
    const long = Array.from({ length: 150 }, (_, index) => `{{# f }}--x${index} {{ f }}{{/ f }} {{ o }}`).join(" ");
    expect(compileTemplate(`cmd ${long}`, "bash", DECLARED, budget).faults).toEqual([]);
    expect(budget.steps).toBeGreaterThan(2_000_000);
  });
});

describe("a value that would end a quoted here-document", () => {
  const body = "cat <<'E'\n{{ a }}\nE\n";

  test("fails the call, also together with text around the tag", () => {
    expect(() => render(body, { a: "x\nE\ntouch pwned" })).toThrow('value of "a"');
    expect(() => render(body, { a: "E" })).toThrow("would end the here-document");
    expect(() => render("cat <<'EOF'\nE{{ a }}F\nEOF\n", { a: "O" })).toThrow("would end the here-document");
    expect(() => render("cat <<'EOF'\n{{ a }}OF\nEOF\n", { a: "x\nE" })).toThrow("would end the here-document");
  });

  test("is only a value that has the whole line", () => {
    for (const value of ["E ", " E", "EE", "xE\n", "", "e"]) {
      expect(runScript(render(body, { a: value }), "bash").stdout).toBe(`${value}\n`);
    }
  });

  test("fails the call where <<- would drop its tabs", () => {
    expect(() => render("cat <<-'E'\nx{{ a }}\nE\n", { a: "1\n\t2" })).toThrow("drop the tabs");
    expect(() => render("cat <<-'E'\n{{ a }}\nE\n", { a: "\t2" })).toThrow("drop the tabs");
    expect(render("cat <<-'E'\n\t{{ a }}\nE\n", { a: "2\t" })).toContain("\t2\t");
  });
});

describe("rendering", () => {
  test("is as the seed prints it", () => {
    expect(render("echo {{ a }}", { a: "; rm -rf /; #" })).toBe("echo '; rm -rf /; #'");
    expect(render('x -l "{{ a }}"', { a: "app=api" })).toBe(`x -l "'app=api'"`);
    expect(render("x {{ l }}", { l: ["it's", parseKeepingNumbers("1"), true] })).toBe("x 'it'\\''s' '1' 'true'");
  });

  test("keeps the text of numbers", () => {
    for (const token of ["3.0", "9007199254740993", "1e21", "-0"]) {
      expect(render("x {{ a }}", { a: parseKeepingNumbers(token) })).toBe(`x '${token}'`);
    }
  });

  test("puts in nothing for what is absent, null or an empty list, and quotes for an empty string", () => {
    expect(render("x {{ o }}|{{ f }}|{{ l }}|{{ a }}", { f: null, l: [], a: "" })).toBe("x |||''");
  });

  test("gives elements that are no strings as JSON", () => {
    expect(render("x {{ l }}", { l: [null, { k: [1] }, ["a"]] })).toBe(`x 'null' '{"k":[1]}' '["a"]'`);
  });

  test("never looks at a value again", () => {
    expect(render("x {{ a }} {{ b }}", { a: "{{ b }}{{# f }}", b: "$&" })).toBe("x '{{ b }}{{# f }}' '$&'");
  });
});

describe("sections", () => {
  const body = "x{{# f }}Y{{/ f }}{{^ f }}N{{/ f }}";
  const number = parseKeepingNumbers;

  test("take as false what the seed takes as false", () => {
    for (const value of ["", number("0"), number("-0"), number("0.0"), false, [], null, undefined]) {
      expect(render(body, { f: value })).toBe("xN");
    }
    for (const value of ["0", " ", "false", [number("0")], [""], true, number("1e-3")]) expect(render(body, { f: value })).toBe("xY");
  });

  test("nest, also under the same name", () => {
    const nested = "{{# f }}X{{# f }}Y{{/ f }}{{^ f }}no{{/ f }}Z{{/ f }}.";
    expect(render(nested, { f: "1" })).toBe("XYZ.");
    expect(render(nested, {})).toBe(".");
    expect(render("{{# f }}1{{# o }}2{{/ o }}{{/ f }}", { f: "x", o: "" })).toBe("1");
  });

  test("keep the space after them", () => {
    expect(render("get -n {{ a }} {{# f }}-l {{ f }}{{/ f }}", { a: "default" })).toBe("get -n 'default' ");
  });

  test("may change the quoting as long as no tag depends on it", () => {
    const pair = '{{# f }}"{{/ f }}text{{# f }}"{{/ f }} {{ a }}';
    expect(render(`printf %s ${pair}`, { f: "1", a: "x" })).toBe(`printf %s "text" 'x'`);
    expect(render("{{# f }}it's {{/ f }}", { f: "1" })).toBe("it's ");
  });

  test("that are not balanced are errors, each at its place", () => {
    expect(faultsOf("{{# f }}x")).toEqual(["unclosed_section@0"]);
    expect(faultsOf("x{{/ f }}")).toEqual(["stray_close@1"]);
    expect(faultsOf("{{# f }}A{{# o }}B{{/ f }}C{{/ o }}")).toEqual(["crossed_sections@18"]);
  });

  test("in a comment are text, unless they hold lines", () => {
    expect(render("# {{# f }}x{{/ f }} {{# f }}\necho hi", {})).toBe("# {{# f }}x{{/ f }} {{# f }}\necho hi");
    expect(render("# {{# f }}\necho hi\n# {{/ f }}\necho ho", {})).toBe("# \necho ho");
  });
});

describe("what is no tag", () => {
  test("stays as it is", () => {
    for (
      const text of [
        "{{.Names}}",
        "{{ a.b }}",
        "{{a-b}}",
        "{{1a}}",
        "{{}}",
        "{{&a}}",
        "{{>a}}",
        "{{!a}}",
        "{{ # a }}",
        "{{=<% %>=}}",
        "{{end}}",
        "{{else}}",
      ]
    ) {
      expect(render(`echo '${text}'`, {})).toBe(`echo '${text}'`);
    }
    expect(render("echo '{{{ a }}}'", { a: "v" })).toBe(`echo '{'\\''v'\\''}'`);
  });

  test("is a tag of an undeclared name only in that it renders as nothing", () => {
    const { pieces, undeclared, faults } = compileTemplate(
      "x{{ nope }}{{# nope }}y{{/ nope }}{{^ nope }}z{{/ nope }}{{ toString }}",
      "sh",
      DECLARED,
    );
    expect(faults).toEqual([]);
    expect(undeclared.map(({ name }) => name)).toEqual(["nope", "nope", "nope", "toString"]);
    expect(pieces.length).toBeGreaterThan(0);
    expect(render("x{{ nope }}{{# nope }}y{{/ nope }}{{^ nope }}z{{/ nope }}{{ toString }}", {})).toBe("xz");
  });

  test("may have spaces and lines around its name", () => {
    expect(render("x {{a}} {{  a  }} {{\n a\n}} {{#  f  }}y{{/  f }}", { a: "1", f: "1" })).toBe("x '1' '1' '1' y");
  });
});

test("a hundred optional sections are read without many ways", () => {
  const body = Array.from({ length: 100 }, (_, index) => `{{# f }}--x${index} {{ f }}{{/ f }} {{# o }}-o {{ o }}{{/ o }} {{ l }}`).join(
    " ",
  );
  expect(faultsOf(`cmd ${body}`)).toEqual([]);
});
