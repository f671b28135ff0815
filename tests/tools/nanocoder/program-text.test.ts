/** Values in programs of other languages: warned of where they are run, and nowhere else. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import { renderTemplate } from "../../../lib/tools/nanocoder/render.ts";
import { compileTemplate } from "../../../lib/tools/nanocoder/template.ts";

const HEAD = `---
name: t
description: A test.
parameters:
  a: { type: string, required: true }
  n: { type: integer, required: true }
---
`;
const FIRST_LINE = HEAD.split("\n").length;

/** Where a second evaluation is warned of, in the body, and all that is said there. */
async function warned(body: string): Promise<readonly { readonly at: string; readonly said: string }[]> {
  const { diagnostics } = await parseDefinition(HEAD + body, { defaultShell: "bash" });
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return diagnostics.filter(({ code }) => code === "second_evaluation").map(({ line, column, message, remedy }) => ({
    at: `${(line ?? 0) - FIRST_LINE + 1}:${column}`,
    said: `${message} ${remedy}`,
  }));
}

describe("a value in a program text is warned of where it stands:", () => {
  const cases: readonly (readonly [body: string, at: string, said: string])[] = [
    ["awk {{ a }} f", "1:5", "ENVIRON"],
    ["awk '{ print }\n/{{ a }}/' f", "2:2", "ENVIRON"],
    ["gawk -F : -v b=1 '/'{{ a }}'/' f", "1:21", "gawk"],
    ['x={{ a }}\nawk "/$x/" f', "2:9", "`$x`, which holds something of a value, is part of a program that awk reads"],
    ["sed s/{{ a }}/b/ f", "1:7", "ENVIRON"],
    ["sed -i -ne {{ a }} f", "1:12", "sed"],
    ["sed --expression={{ a }} f", "1:18", "sed"],
    ["jq -r .[{{ a }}] f", "1:9", "jq --arg x {{ name }}"],
    ["jq --arg b c {{ a }} f", "1:14", "jq --arg"],
    ["python3 -c {{ a }}", "1:12", "sys.argv[1]"],
    ["/usr/bin/python3.12 -Ic 'print('{{ a }}')'", "1:33", "sys.argv[1]"],
    ["sudo -u bob perl -ne {{ a }} f", "1:22", "$ARGV[0]"],
    ["timeout 5 node --eval={{ a }}", "1:23", "process.argv[1]"],
    ["ruby -e 1 -e {{ a }}", "1:14", "ARGV[0]"],
    ["php -r {{ a }}", "1:8", "$argv[1]"],
    ["echo {{ a }} | python3 -", "1:23", "python3"],
    ["python3 <<E\nprint({{ a }})\nE", "2:7", "python3"],
    ["node <<< {{ a }}", "1:10", "node"],
    ["echo {{ a }} | xargs -I % sh -c 'ls %'", "1:39", "shell text"],
    ["find {{ a }} -exec sh -c 'ls {}' ';'", "1:33", "shell text"],
    ["ls | xargs perl -e {{ a }}", "1:20", "perl"],
  ];
  for (const [body, at, said] of cases) {
    test(JSON.stringify(body), async () => {
      const found = await warned(body);
      expect(found.map((each) => each.at)).toEqual([at]);
      expect(found[0]?.said).toContain(said);
    });
  }
});

describe("a value is not warned of as", () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    "an argument of a program": [
      "python3 -c 'import sys' {{ a }}",
      "python3 -c 'import sys' -c {{ a }}",
      "python3 script.py -c {{ a }}",
      "python3 -m mod {{ a }}",
      "python3 - {{ a }} <<'E'\nimport sys\nE",
      "perl -e 'print' -- {{ a }}",
      "node -e 1 {{ a }}",
      "awk '{ print }' {{ a }}",
      "awk -f p.awk {{ a }}",
      "sed -n 1p {{ a }}",
      "sed -i -e s/a/b/ {{ a }}",
      "sed -f p.sed {{ a }}",
      "jq . {{ a }}",
      "jq --arg x {{ a }} '.[$x]' f",
      "jq '.[$x]' f --arg x {{ a }}",
      "sh script.sh {{ a }}",
      "bash -o pipefail script.sh -c {{ a }}",
      "find . -name {{ a }} -exec sh -c 'ls -- \"$@\"' sh {} +",
      "echo {{ a }} | xargs sh -c 'ls -- \"$@\"' sh",
    ],
    "a variable": ["awk -v x={{ a }} '{ print x }'", "x={{ a }} awk '{ print ENVIRON[\"x\"] }'", "env X={{ a }} sh -c 'ls -- \"$X\"'"],
    "input": [
      "echo {{ a }} | python3 -c 'import sys'",
      "echo {{ a }} | awk '{ print }'",
      "grep -e {{ a }} f | sed s/a/b/ | jq .",
      "echo {{ a }} | bash script.sh",
      "echo {{ a }} | sh -c cat",
      "perl -ne print <<E\n{{ a }}\nE",
    ],
    "a word of another program": [
      "echo sh -c {{ a }}",
      "grep -r awk {{ a }}",
      "apt-get install jq {{ a }}",
      "git log --grep python3 -c {{ a }}",
    ],
    "a number": ["python3 -c 'print('{{ n }}')'", 'n={{ n }}; awk "NR==$n" f', "sed -n {{ n }}p f", "jq .[{{ n }}] f"],
  };
  for (const [what, bodies] of Object.entries(cases)) {
    for (const body of bodies) test(`${what}: ${JSON.stringify(body)}`, async () => expect(await warned(body)).toEqual([]));
  }
});

describe("the remedy shows the value as it is, whatever it is, and is not warned of:", () => {
  const value = '-n \'; "$(touch x)" \\n \\ {} /&%s\n漢';
  const remedies: readonly (readonly [program: string, body: string])[] = [
    ["sh", "sh -c 'printf %s \"$1\"' sh {{ a }}"],
    ["python3", "python3 -c 'import sys; sys.stdout.write(sys.argv[1])' {{ a }}"],
    ["perl", "perl -e 'print $ARGV[0]' -- {{ a }}"],
    ["node", "node -e 'process.stdout.write(process.argv[1])' -- {{ a }}"],
    ["ruby", "ruby -e 'print ARGV[0]' -- {{ a }}"],
    ["php", "php -r 'echo $argv[1];' -- {{ a }}"],
    ["awk", 'x={{ a }} awk \'BEGIN { printf "%s", ENVIRON["x"] }\''],
    ["jq", "jq -nj --arg x {{ a }} '$x'"],
  ];
  for (const [program, body] of remedies) {
    const isThere = spawnSync("/bin/bash", ["-c", `command -v ${program}`]).status === 0;
    test.skipIf(!isThere)(`${program}${isThere ? "" : " (which is not installed)"}`, async () => {
      expect(await warned(body)).toEqual([]);
      const { pieces } = compileTemplate(body, "bash", new Map([["a", { optional: false, list: false }]]));
      const rendered = renderTemplate(pieces, new Map([["a", value]]));
      const script = rendered.kind === "script" ? rendered.text : "";
      expect(spawnSync("/bin/bash", ["-c", script], { encoding: "utf8" }).stdout).toBe(value);
    });
  }
});
