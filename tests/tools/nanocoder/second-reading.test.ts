/** Values that a script hands to an interpreter, in whatever way they get there. */
import { describe, expect, test } from "bun:test";
import { parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import { COMMON_SCRIPTS } from "./common-scripts.ts";

const HEAD = `---
name: t
description: A test.
parameters:
  a: { type: string, required: true }
  b: { type: string }
  n: { type: integer, required: true }
  l: { type: array, items: { type: string } }
---
`;
const FIRST_LINE = HEAD.split("\n").length;
const RISKS = ["second_evaluation", "named_command", "unknown_command"];

async function told(body: string): Promise<readonly string[]> {
  const { diagnostics } = await parseDefinition(HEAD + body, { defaultShell: "bash" });
  return diagnostics.filter(({ code, severity }) => severity === "error" || RISKS.includes(code))
    .map(({ code, line = 0, column }) => `${code} ${line - FIRST_LINE + 1}:${column}`);
}

const TOLD: Readonly<Record<string, readonly (readonly [body: string, where: string])[]>> = {
  "in its environment": [
    ["export n={{ a }}; bash -c 'echo $((n))'", "second_evaluation 1:27"],
    ["env X={{ a }} bash -c 'echo $((X))'", "second_evaluation 1:23"],
    ["X={{ a }} python3 -c 'import os; os.system(os.environ[\"X\"])'", "second_evaluation 1:22"],
    ["set -a; x={{ a }}; make build", "second_evaluation 1:20"],
    ["CC={{ a }} make", "second_evaluation 1:12"],
    ["export CC={{ a }}; make", "second_evaluation 1:20"],
    ["env CC={{ a }} make", "second_evaluation 1:16"],
    ["env GIT_SSH={{ a }} git fetch", "named_command 1:13"],
    ["GIT_SSH_COMMAND={{ a }} git fetch", "named_command 1:17"],
    ["PATH={{ a }}:$PATH; ls", "named_command 1:6"],
  ],
  "as an argument": [
    ["bash -s {{ a }} <<'E'\necho $(($1))\nE", "second_evaluation 1:9"],
    ["bash -c 'echo $(( $1 )); ls \"$2\"' _ {{ a }} {{ n }}", "second_evaluation 1:37"],
    ['bash -c \'f() { eval "$1"; }; shift; f "$1"\' _ 1 {{ a }}', "second_evaluation 1:49"],
    ["awk 'BEGIN { system(ARGV[1]) }' {{ a }}", "second_evaluation 1:33"],
    ["awk -v c={{ a }} 'BEGIN { system(c) }'", "second_evaluation 1:10"],
    ["perl -ne print {{ a }}", "second_evaluation 1:16"],
    ["make X={{ a }} -f -", "second_evaluation 1:8"],
    ["make {{ a }}", "second_evaluation 1:6"],
    ["echo 'eval \"$1\"' | bash -s {{ a }}", "second_evaluation 1:28"],
    ["f() { echo $(($1)); }; export -f f; bash -c 'f \"$1\"' _ {{ a }}", "second_evaluation 1:56"],
    ["psql -c {{ a }}", "second_evaluation 1:9"],
    ["git -c core.pager={{ a }} log", "second_evaluation 1:19"],
    ["watch {{ a }}", "second_evaluation 1:7"],
    ["env -S {{ a }}", "second_evaluation 1:8"],
    ["npx --call={{ a }}", "second_evaluation 1:12"],
    ["git grep -O{{ a }} -e x", "second_evaluation 1:12"],
    ["git config --global alias.zz {{ a }}; git zz", "second_evaluation 1:30"],
    ["git rebase main -x {{ a }}", "second_evaluation 1:20"],
    ["git difftool --extcmd={{ a }}", "second_evaluation 1:23"],
    ["git bisect run {{ a }}", "second_evaluation 1:16"],
    ["git submodule foreach --recursive {{ a }}", "second_evaluation 1:35"],
    ["uv run python -c {{ a }}", "second_evaluation 1:18"],
    ["bundle exec ruby -e {{ a }}", "second_evaluation 1:21"],
    ["autossh host {{ a }}", "second_evaluation 1:14"],
    ["pdsh -w host {{ a }}", "second_evaluation 1:14"],
    ["flock f -c {{ a }}", "second_evaluation 1:12"],
  ],
  "in its input": [
    ["xargs -I{} sh -c 'ls {}' <<< {{ a }}", "second_evaluation 1:25"],
    ["echo {{ a }} | xargs bash -c 'echo $(($1))' _", "second_evaluation 1:44"],
    ["echo {{ a }} | bash -c 'read -r n; echo $((n))'", "second_evaluation 1:48"],
    ["sed 's/^//e' <<< {{ a }}", "second_evaluation 1:13"],
    ["{ bash; } <<< {{ a }}", "second_evaluation 1:7"],
    ["f() { bash; }; f <<< {{ a }}", "second_evaluation 1:11"],
    ["printf '%s\\n' {{ a }} | make -f -", "second_evaluation 1:34"],
    ["psql <<E\nselect {{ a }};\nE", "second_evaluation 2:8"],
  ],
  "in a file that it has written": [
    ["echo {{ a }} > x.sh; . ./x.sh", "second_evaluation 1:30"],
    ["cat > run.py <<E\nprint({{ a }})\nE\npython3 run.py", "second_evaluation 4:15"],
    ['f=$(mktemp); echo {{ a }} > "$f"; bash "$f"', "second_evaluation 1:44"],
    ["tee go.sh <<< {{ a }}; cp go.sh it; chmod +x it; ./it", "second_evaluation 1:54"],
    ["echo {{ a }} > n; m=$(cat n); echo $((m))", "second_evaluation 1:40"],
    ["echo {{ a }} > n; read -r m < n; echo $((m))", "second_evaluation 1:43"],
    ["echo 'echo $(($1))' > x.sh; bash x.sh {{ a }}", "second_evaluation 1:39"],
    ["echo {{ a }} > Makefile; make", "second_evaluation 1:30"],
    ["dd of=x.sh status=none <<< {{ a }}; sh x.sh", "second_evaluation 1:44"],
  ],
  "as a name": [
    ["{{ a }} x", "named_command 1:1"],
    ["./scripts/{{ a }}.sh", "named_command 1:11"],
    ["sudo -n {{ a }}", "named_command 1:9"],
    ["timeout 5 {{ l }}", "named_command 1:11"],
    ["timeout -k 1 {{ n }} {{ a }}", "named_command 1:22"],
    ["sudo -u bob nice -n 5 timeout 5 env X=1 {{ a }}", "named_command 1:41"],
    ["stdbuf -oL {{ a }}", "named_command 1:12"],
    ["flock f {{ a }}", "named_command 1:9"],
    ["pkexec {{ a }}", "named_command 1:8"],
    ["systemd-run --user -- {{ a }}", "named_command 1:23"],
    ["xargs -a f {{ a }}", "named_command 1:12"],
    ["uv run {{ a }}", "named_command 1:8"],
    ["npx {{ a }}", "named_command 1:5"],
    ["find . -exec {{ a }}", "named_command 1:14"],
    ["find . -maxdepth 0 {{ l }}", "named_command 1:20"],
    ["bash {{ a }}", "named_command 1:6"],
    ['run() { "$@"; }; run {{ l }}', "named_command 1:11"],
    ['read "${k}" <<< {{ a }}; echo $((n))', "second_evaluation 1:35"],
    ['read "${k}_x" <<< {{ a }}; echo $((n_x))', "second_evaluation 1:39"],
  ],
};

describe("a script that hands a value to an interpreter is told of where that reads it:", () => {
  for (const [how, bodies] of Object.entries(TOLD)) {
    for (const [body, where] of bodies) {
      test(`${how}: ${JSON.stringify(body)}`, async () => expect(await told(body)).toEqual([where]));
    }
  }
});

test("a value that a function printed is refused where the shell calculates it, as is that of an option that splits", async () => {
  expect(await told("emit() { echo {{ a }}; }; n=$(emit); echo $((n))")).toEqual(["tag_arithmetic 1:47"]);
  expect(await told('k=n; read "${k}" <<< {{ a }}; echo $((n))')).toContain("tag_arithmetic 1:40");
  expect(await told("f() { echo $((${!#})); }; f 1 2 {{ a }}")).toEqual(["tag_arithmetic 1:19"]);
  expect(await told('f() { [ "$1" = x ] && shift; echo $(($1)); }; f x {{ a }}')).toEqual(["tag_arithmetic 1:39"]);
  expect(await told("x={{ a }}; read -p$x y")).toContain("tag_read_twice 1:21");
});

describe("nothing is said of a script that runs nothing of its values:", () => {
  for (const body of COMMON_SCRIPTS) test(JSON.stringify(body), async () => expect(await told(body)).toEqual([]));
});
