import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkspaceProgram, workspaceProgram, workspaceProgramOf, workspaceVariable } from "../../lib/gate/program-place.ts";

let root: string;
let workspace: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orrery-program-")));
  workspace = join(root, "w");
  mkdirSync(join(workspace, "bin"), { recursive: true });
  writeFileSync(join(workspace, "bin/mine"), "");
  for (const name of ["check.py", "guard.sh", "guard"]) writeFileSync(join(workspace, name), "");
  symlinkSync(join(workspace, "bin/mine"), join(root, "link"));
  symlinkSync("/bin/true", join(workspace, "outward"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const context = (path = "/usr/bin:/bin") => ({ workspace, path, home: "/home/me" });

describe("workspaceProgram()", () => {
  test("finds a program in the workspace by any way of naming it", () => {
    const inside = [
      ["./bin/mine"],
      ["bin/gone"],
      [join(workspace, "bin/mine")],
      [join(root, "link")],
      ["./outward"],
      ["../w/bin/mine"],
      ["python3", "check.py"],
      ["python3", "-u", "./check.py"],
      ["env", "A=1", "./bin/mine"],
      ["bash", "-c", "true && ./bin/mine"],
      ["sh", "-ec", "bin/mine"],
      ["timeout", "5", "./x"],
      ["nohup", "bash", "./x.sh"],
      ["node", "--x", "tools/y.js"],
      ["sh", "not-there-yet.sh"],
      ["python3", "-u", "later.py", "x"],
      ["/usr/bin/env", "scripts/x.sh"],
      ["env", "-i", "sh", "later.sh"],
    ];
    expect(inside.filter((argv) => workspaceProgram(argv, context()) === null)).toEqual([]);
  });

  test("finds what lies there behind any runner, with any options", () => {
    const runners = [
      "timeout -s KILL 10",
      "env -u FOO",
      "env --unset=FOO -S",
      "stdbuf -o L",
      "nice -n 5",
      "ionice -c3",
      "setpriv --nnp",
      "flock /tmp/l",
      "busybox sh",
      "sudo -n -u me",
      "nohup",
      "setsid -w",
      "time -p",
      "watch -n 1",
      "unshare -r",
      "chroot /",
      "a-runner-nobody-knows --flag x",
      "/opt/bin/another",
    ];
    const commands = runners.flatMap((runner) =>
      ["./guard.sh", "guard.sh", "guard", "make guard", "--run=./guard.sh"].map((own) => `${runner} ${own}`)
    );
    expect(commands.filter((command) => workspaceProgram(command.split(" "), context()) === null)).toEqual([]);
    expect(commands.filter((command) => workspaceProgramOf(command, context()) === null)).toEqual([]);
  });

  test("finds what takes its code from the folder it is started in", () => {
    const inside = [
      "make guard",
      "/usr/bin/make -C /opt/x",
      "just check",
      "npm run -s guard",
      "npx mycheck",
      "/opt/node/bin/npx -y mysrv",
      "env npx -y mysrv",
      "env -C / sh home/me/x",
      "yarn --version",
      "bun run x",
      "deno task x",
      "cargo run",
      "go run .",
      "pytest",
      "git status",
      "python3 -m mycheck",
      "python3.12 -u -m mycheck",
      "python3 -c pass",
      "node -r ./x /opt/y.js",
      "node -e 1",
      "perl -I. /opt/x.pl",
      "ruby x",
      "sh",
      "sh -s",
      "xargs sh",
      "xargs -n1 cat",
      "find /opt -name x -exec {} ;",
      "timeout 5 find / -name later.sh -exec {} ;",
      "unknown-runner find / -name later.sh -execdir {} ;",
      "env xargs a-guard",
      "env awk -f x/make",
      "docker compose up",
      "docker run -v .:/w image",
      "awk -f ./later.awk",
      "sed s/x/make/e",
      "curl -K later https://example.com",
      "cat guard.sh",
      "tool --file=check.py",
      "tool -fcheck.py",
      "tool @check.py",
      "tool a,check.py",
      "tool bin/later",
      "tool +!./later",
      "python3 /dev/stdin",
      "/proc/self/cwd/later",
      "tool /proc/self/cwd/later",
      "tool " + "x ".repeat(30_000),
    ];
    expect(inside.filter((command) => workspaceProgram(command.split(" "), context()) === null)).toEqual([]);
    for (const text of ["exec env -u X ./later.sh", "make x", "flock /l -c 'make x'"]) {
      expect([text, workspaceProgram(["env", "sh", "-c", text], context()) !== null]).toEqual([text, true]);
      expect([text, workspaceProgram(["flock", "/l", text], context()) !== null]).toEqual([text, true]);
    }
  });

  test("leaves alone what cannot lead there", () => {
    const outside = [
      ["true"],
      ["/bin/true"],
      ["../other/x"],
      ["cat"],
      ["jq", "."],
      ["jq", ".", "./not-there.json"],
      ["curl", "-sf", "-H", "content-type: application/json", "https://example.com/a/b"],
      ["date", "-u"],
      ["/usr/local/bin/guard", "--flag", "--tool=bash", '{"tool": "bash", "input": {"a": [1, 2]}}'],
      ["a-guard", "bin2", "origin/main", "s/a/b/", "https://example.com"],
      ["python3", "/opt/check.py", "x"],
      ["python3", "-u", "-I", "-m", "http.server"],
      ["node", "/opt/server.js", "--port", "1"],
      ["sh", "/opt/check.sh", "x"],
      ["bash", "-c", "echo ./x"],
      ["bash", "--norc", "-ec", "/opt/guard --flag"],
      ["timeout", "-k", "1", "5", "/opt/guard", "--flag"],
      ["env", "A=1", "no-such-program.sh"],
      ["docker", "run", "-i", "--rm", "image", "node", "x"],
      ["find", "/opt", "-name", "x"],
      ["awk", "{ print $1 }"],
      [],
    ];
    expect(outside.filter((argv) => workspaceProgram(argv, context()) !== null)).toEqual([]);
  });

  test("looks a bare name up on the child's PATH", () => {
    expect(workspaceProgram(["mine"], context(`${workspace}/bin:/bin`))).toBe("mine");
    expect(workspaceProgram(["mine"], context("bin"))).toBe("mine");
    expect(workspaceProgram(["check.py"], context(":/bin"))).toBe("check.py");
    expect(workspaceProgram(["mine"], context())).toBeNull();
    expect(["mine", "./mine", "true", "/bin/true"].map((each) => isWorkspaceProgram(each, context(`/bin:${workspace}/bin`))))
      .toEqual([true, true, false, false]);
  });

  test("passes over what lies on the PATH and cannot be started", () => {
    mkdirSync(join(root, "notes"));
    writeFileSync(join(root, "notes/mine"), "");
    expect(workspaceProgram(["mine"], context(`${root}/notes:${workspace}/bin`))).toBe("mine");
    chmodSync(join(root, "notes/mine"), 0o755);
    expect(workspaceProgram(["mine"], context(`${root}/notes:${workspace}/bin`))).toBeNull();
  });

  test("takes apart what env -S does", () => {
    const inside = ["env -Smine", "env -iS mine", "env --split-string=mine x", "nice env -Smine", "env A=1 env -Smine", "env -S ${X}"];
    const path = context(`/usr/bin:/bin:${workspace}/bin`);
    expect(inside.filter((each) => workspaceProgram(each.split(" "), path) === null)).toEqual([]);
    expect(workspaceProgram(["env", "-S-S".repeat(50_000)], path)).not.toBeNull();
    expect(workspaceProgram([...Array.from({ length: 9000 }, () => "env"), "-Sx"], path)).not.toBeNull();
    expect(workspaceProgram(["env", "-S", "printf '%s %s' a"], path)).toBeNull();
  });

  test("knows the variables that lead a program there", () => {
    const inside = [
      "NODE_OPTIONS=--require ./x.js",
      "PYTHONPATH=.",
      "PATH=/bin:",
      "LD_PRELOAD=/opt/$x.so",
      "BASH_ENV=later",
      "FILE=check.py",
    ];
    const found = (each: string) => workspaceVariable({ [each.split("=", 1)[0] ?? ""]: each.slice(each.indexOf("=") + 1) }, context());
    expect(inside.filter((each) => found(each) === null)).toEqual(["LD_PRELOAD=/opt/$x.so"]);
    expect(["A=1", "PATH=/opt/bin:/bin", "TOKEN=a.b/c", "NODE_ENV=production", "FILE=/opt/x"].filter((each) => found(each) !== null))
      .toEqual([]);
  });
});

describe("a program of the user's, by its first line", () => {
  const tool = (line: string, name = "tool") => {
    const path = join(root, name);
    writeFileSync(path, `${line}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const path = () => context(`${workspace}/bin:/usr/bin:/bin`);

  const INSIDE = [
    "#!/usr/bin/env mine",
    "#!/usr/bin/env -S mine --flag",
    "#!/usr/bin/env -Smine",
    "#!/usr/bin/env -S -u HOME A=1 mine",
    "#!/usr/bin/env -S PATH=bin:/bin mine",
    "#!/usr/bin/env tsx",
    "#!bin/mine",
    "#! ./bin/mine -x",
    "#!guard",
    "#!bin/mine\r",
    "#!/bin/sh guard.sh",
    "#!/bin/sh -c ./guard.sh",
    "#!/usr/bin/make -f",
    "#!/usr/bin/python3 check.py",
  ];

  test("leads into the workspace wherever that leads, and however it is started", () => {
    for (const line of INSIDE) {
      const own = tool(line);
      const ways = [[own], ["nice", own, "x"], ["env", own], ["a-runner", "--run", own], ["timeout", "5", own]];
      expect({ line, missed: ways.filter((argv) => workspaceProgram(argv, path()) === null) }).toEqual({ line, missed: [] });
      expect({ line, found: workspaceProgramOf(`true && ${own} x`, path()) }).not.toEqual({ line, found: null });
      expect({ line, own: isWorkspaceProgram(own, path()) }).toEqual({ line, own: true });
      const named = context(`${root}:${workspace}/bin:/usr/bin:/bin`);
      expect({ line, found: workspaceProgram(["tool"], named) }).not.toEqual({ line, found: null });
    }
    expect(workspaceProgram([tool("#!/usr/bin/env mine")], path())).toBe(`${join(root, "tool")} (#!/usr/bin/env mine)`);
  });

  test("leads there through interpreters that are scripts themselves, and ends with a circle of them", () => {
    tool("#!/usr/bin/env -S mine x", "inner");
    tool(`#!${join(root, "inner")} y`, "outer");
    expect(workspaceProgram([tool(`#!/usr/bin/env ${join(root, "outer")}`)], path())).not.toBeNull();
    expect(workspaceProgram([tool(`#!${join(root, "tool")}`)], path())).toBeNull();
  });

  test("leads there under any name", () => {
    const place = { ...path(), workspace: join(root, "größe") };
    mkdirSync(place.workspace);
    writeFileSync(join(place.workspace, "é"), "");
    for (const line of [`#!${join(place.workspace, "x")}`, `#!/usr/bin/env -S PATH=${place.workspace} é`, "#!/bin/sh é"]) {
      expect({ line, found: workspaceProgram([tool(line)], place) }).not.toEqual({ line, found: null });
    }
  });

  test("leads nowhere by what everyday scripts begin with", () => {
    const lines = [
      "#!/bin/sh",
      "#!/bin/sh -e",
      "#!/bin/bash -eu",
      "#!/usr/bin/env bash",
      "#!/usr/bin/env python3",
      "#!/usr/bin/env -S python3 -u",
      "#!/usr/bin/python3 -sP",
      "#!/usr/bin/perl -w",
      "#!/usr/bin/env -S node --no-warnings",
      "#!/usr/bin/env -S A=1 perl -w",
      "#!/usr/bin/awk -f",
      "#!/bin/sh -",
      "#!/bin/bash --login",
      "#!/usr/bin/env -S bash -euo pipefail",
      "#!/usr/bin/env -S bash -O extglob --",
      "#!/usr/bin/perl -CSD",
      "#!/usr/bin/python3 -Wignore",
      "#!/usr/bin/env -S python3 -b -W ignore -X utf8 --",
      "#!/usr/bin/env -S node --experimental-strip-types --disable-warning=ExperimentalWarning",
      "#!/usr/bin/ruby --disable-gems",
      "no first line",
    ];
    expect(lines.filter((line) => workspaceProgram([tool(line), "x"], context()) !== null)).toEqual([]);
  });

  test("leads there by what stands behind the options of its interpreter", () => {
    const ways = [
      "bash -- -c",
      "bash -euo pipefail x.sh",
      "bash -o x.sh",
      "bash -O extglob -c ./x",
      "sh - x",
      "sh --",
      "python3 -W ignore x.py",
      "python3 -X pycache_prefix=. x.py",
      "python3 -- x.py",
      "node --experimental-loader=./x.mjs /opt/y.mjs",
    ];
    expect(ways.filter((way) => workspaceProgram(way.split(" "), context()) === null)).toEqual([]);
  });

  test("leads nowhere by a shim that is called as what it stands for", () => {
    const shims = ["python3", "node", "bash", "ruby", "perl"].map((name) => tool("#!/usr/bin/env bash", name));
    const named = context(`${root}:/usr/bin:/bin`);
    expect(shims.filter((shim) => isWorkspaceProgram(shim, named) || workspaceProgram([shim, join(root, "tool")], named) !== null)).toEqual(
      [],
    );
    expect(["python3", "node"].filter((name) => isWorkspaceProgram(name, named))).toEqual([]);
    expect(workspaceProgram(["python3", "x.py"], named)).toBe("python3");
  });

  test("is of no account where the file is only read", () => {
    expect(workspaceProgram(["cat", tool("#!bin/mine")], context())).toBeNull();
    chmodSync(join(root, "tool"), 0o644);
    expect(workspaceProgram(["a-runner", join(root, "tool")], context())).toBeNull();
  });
});

describe("workspaceProgramOf()", () => {
  test("looks at every word in the place of a command", () => {
    const inside = [
      "./bin/mine",
      "  A=1 ./bin/mine x",
      "true; ./x",
      "true && ./x",
      "true | ./x",
      "(./x)",
      "echo $(./x)",
      "if ./x; then true; fi",
      '"./bin/mine" y',
      "exec ./x",
      "bash ./x",
      "true\n./x",
      "! ./x",
      "`./x`",
    ];
    expect(inside.filter((command) => workspaceProgramOf(command, context()) === null)).toEqual([]);
  });

  test("takes what it cannot know for a yes", () => {
    const unknown = [
      "$GUARD x",
      "${GUARD:-guard} x",
      '"$(cat name)"',
      "`cat name`",
      'eval "$x"',
      "source $x",
      ". ./later",
      "guard-tool $x",
      'guard-tool "$(cat)"',
      "guard-tool *",
      "guard-tool {a,b}",
      "guard-tool ~me/x",
      "sh -c $x",
      "cat x | sh",
      "echo x | bash -s",
      "PATH=bin:$PATH mine",
      "export PATH=.",
      "read PATH; mine",
      "cd bin && mine",
      "trap ./x EXIT",
      "x=1 ./x",
      "case $x in a) make x;; esac",
      'case "$x" in\n (a|b) true;;\n *) ./x ;;\nesac',
      "for x in 1; do ./x; done",
      "f() { ./x; }; f",
      "function f { make x; }; f",
      "cat <(./x)",
      "tool <<E\n$(./x)\nE",
      "sh <<'E'\ntrue\nE",
      "cat <<E; ./x\nE",
      "cat <<E\nE\n./x",
      "[[ $(./x) ]]",
      "[[ a ]] && ./x",
      "echo ${x:-$(./x)}",
      'echo "a $(echo "b $(./x)")"',
      "echo $'\\'' ./x\n./x",
      "a=(1 2); ./x",
      "tool < guard.sh",
      "echo 'unclosed",
      "echo )",
      "# ./y\n./x",
    ];
    expect(unknown.filter((command) => workspaceProgramOf(command, context()) === null)).toEqual([]);
  });

  test("leaves alone everyday commands", () => {
    const outside = [
      "",
      "true",
      "jq -e .tool.name",
      "grep -q x < ./not-there",
      "/usr/bin/env true",
      "echo './x is fine'",
      "cat >> guard.sh",
      'input=$(cat); case "$(echo "$input" | jq -r .tool.name)" in bash|write_*) echo "no: $input" >&2; exit 1 ;; *) ;; esac',
      'if grep -q "rm -rf"; then echo no >&2; exit 1; fi',
      'x=$(date +%s); [ "$x" -gt 5 ] && [[ $x =~ ^(1|2)$ ]] || exit $?',
      'while read -r line; do echo "$line"; done',
      "~/bin/guard --flag",
      '"$HOME/bin/guard" --flag ${HOME}/x',
      "/usr/local/bin/guard --flag # ./x",
      "cat <<'E'\n./x $(./x)\nE\ntrue",
      "f() { echo 1; }; f",
      `echo '{"action":"deny","reason":"no"}'`,
      "head -c 9000 /dev/zero | tr '\\0' x; sleep 1",
      "command -v node > /dev/null",
    ];
    expect(outside.filter((command) => workspaceProgramOf(command, context()) !== null)).toEqual([]);
  });

  test("reads what is relative from the folder that the command is started in", () => {
    const deep = { ...context(), cwd: join(workspace, "bin") };
    expect(workspaceProgramOf("../check.py", deep)).toBe("../check.py");
    expect(workspaceProgramOf("../check.py", context())).toBeNull();
    expect(workspaceProgramOf("env mine", deep)).toBe("mine");
    expect(workspaceProgramOf("../../check.py", deep)).toBeNull();
  });

  test("comes to an end with a command of any length", () => {
    const long = ["sh ".repeat(50_000), `${"sh ".repeat(50)}./x`, "$(".repeat(10_000), "(".repeat(10_000), "`".repeat(10_001)];
    expect(long.filter((command) => workspaceProgramOf(command, context()) === null)).toEqual([]);
    expect(workspaceProgramOf("true;".repeat(1000), context())).toBeNull();
  });
});
