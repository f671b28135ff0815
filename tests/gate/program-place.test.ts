import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workspaceProgram, workspaceProgramOf } from "../../lib/gate/program-place.ts";

let root: string;
let workspace: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orrery-program-")));
  workspace = join(root, "w");
  mkdirSync(join(workspace, "bin"), { recursive: true });
  writeFileSync(join(workspace, "bin/mine"), "");
  writeFileSync(join(workspace, "check.py"), "");
  symlinkSync(join(workspace, "bin/mine"), join(root, "link"));
  symlinkSync("/bin/true", join(workspace, "outward"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const context = (path = "/usr/bin:/bin") => ({ workspace, path });

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

  test("leaves alone what only reads the workspace", () => {
    const outside = [
      ["true"],
      ["/bin/true"],
      ["../other/x"],
      ["jq", ".", "./package.json"],
      ["git", "-C", ".", "log"],
      ["python3", "-m", "http.server"],
      ["bash", "-c", "echo ./x"],
      ["node", "-e", "1"],
      ["node", "-e", "a.b"],
      ["env", "no-such-program.sh"],
      [],
    ];
    expect(outside.filter((argv) => workspaceProgram(argv, context()) !== null)).toEqual([]);
  });

  test("looks a bare name up on the child's PATH", () => {
    expect(workspaceProgram(["mine"], context(`${workspace}/bin:/bin`))).toBe("mine");
    expect(workspaceProgram(["mine"], context("bin"))).toBe("mine");
    expect(workspaceProgram(["check.py"], context(":/bin"))).toBe("check.py");
    expect(workspaceProgram(["mine"], context())).toBeNull();
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
    const outside = ["", "true", "jq -e .tool ./file", "grep -q x < ./file", "/usr/bin/env true", "echo './x is fine'"];
    expect(outside.filter((command) => workspaceProgramOf(command, context()) !== null)).toEqual([]);
  });

  test("reads what is relative from the folder that the command is started in", () => {
    const deep = { ...context(), cwd: join(workspace, "bin") };
    expect(workspaceProgramOf("../check.py", deep)).toBe("../check.py");
    expect(workspaceProgramOf("../check.py", context())).toBeNull();
    expect(workspaceProgramOf("env mine", deep)).toBe("mine");
  });

  test("comes to an end with a command of any length", () => {
    expect(workspaceProgramOf("sh ".repeat(50_000), context())).toBeNull();
    expect(workspaceProgramOf(`${"sh ".repeat(50)}./x`, context())).toBe("./x");
  });
});
