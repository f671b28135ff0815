import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { scriptGiven, scriptsGiven } from "../../lib/agent/script-place.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orrery-script-")));
  for (const name of ["p.py", "x.js", "x.sh", "ignore", "mod/__main__.py", "pkg/tool.py", "sub/deep.py", "tools/on-path"]) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), "");
  }
  chmodSync(join(root, "tools/on-path"), 0o755);
});
afterEach(() => rmSync(root, { recursive: true }));

const given = (argv: readonly string[]) => scriptGiven(argv, { workspace: root, path: `${root}/tools:/usr/bin:/bin` });

describe("the script that a command has run", () => {
  const found: readonly (readonly [string, string])[] = [
    ["python3 p.py", "p.py"],
    ["python3 later.py x", "later.py"],
    ["python3 -W ignore p.py", "p.py"],
    ["python3 -X dev p.py", "p.py"],
    ["python3 -uW ignore -X dev p.py", "p.py"],
    ["python3 -I -E -s p.py", "p.py"],
    ["python3 --check-hash-based-pycs never p.py", "p.py"],
    ["python3 --a-flag-of-next-year value p.py", "p.py"],
    ["python3 mod", "mod/__main__.py"],
    ["python3 -m mod x", "mod/__main__.py"],
    ["python3 -um pkg.tool", "pkg/tool.py"],
    ["python3 -mpkg.tool", "pkg/tool.py"],
    ["perl -n p.py", "p.py"],
    ["perl -I lib.d p.py", "p.py"],
    ["php -d a.b=c.d p.py", "p.py"],
    ["ruby -r ./x.js p.py", "p.py"],
    ["node -r ./p.py x.js", "x.js"],
    ["node --title some x.js", "x.js"],
    ["bash -O extglob x.sh", "x.sh"],
    ["bash --rcfile p.py x.sh", "x.sh"],
    ["timeout -s KILL 10 ./x.sh", "./x.sh"],
    ["sudo -u me -p x.js ./x.sh", "./x.sh"],
    ["time -p ./x.sh", "./x.sh"],
    ["env -u HOME A=1 python3 -W ignore p.py", "p.py"],
    ["env PATH=tools on-path", "tools/on-path"],
    ["env -C sub python3 deep.py", "sub/deep.py"],
    ["uv run p.py", "p.py"],
    ["poetry run python p.py", "p.py"],
  ];

  test("is found behind any options of any runner", () => {
    const relative = (path: string | null) => path?.replace(`${root}/`, "") ?? null;
    expect(found.filter(([command, script]) => relative(given(command.split(" "))) !== script)).toEqual([]);
    expect(given(["env", "-S", "python3 -W ignore p.py"])).toBe("p.py");
    expect(given(["env", "-Spython3 p.py"])).toBe("p.py");
    expect(given(["nice", "env", "-iS", "A='b c' python3 p.py"])).toBe("p.py");
    expect(scriptsGiven(["sh", "-c", "python3 -X dev p.py && ./x.sh"], { workspace: root, path: "/bin" })).toEqual(["p.py", "./x.sh"]);
  });

  test("is none where code is given, or what lies elsewhere", () => {
    const none = [
      "python3 -c p.py",
      "python3 -uc pass p.py",
      "python3 -m http.server",
      "python3 -I -m mod",
      "python3 -Pm mod",
      "node -e x.js",
      "node --eval=1 x.js",
      "ls p.py",
      "python3",
      "env -S",
      "env",
    ];
    expect(none.filter((command) => given(command.split(" ")) !== null)).toEqual([]);
  });
});
