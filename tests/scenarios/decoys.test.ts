/** What lies in the current directory is the workspace's, never the program's own. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { isSourceOnBun, runOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(async () => {
  await workspace.remove();
});

const ADD = `import { readFileSync } from "node:fs";
import { tool } from "orrery";
import * as v from "valibot";
const parameters = v.object({ left: v.number() });
export default tool({ name: "add", description: "d", parameters, execute: ({ left }) => left + readFileSync("notes.txt").length - 4 });
`;

/** `bun main.ts` itself obeys the files of the current directory, before we run. */
test.skipIf(isSourceOnBun)("settings, packages and modules in the current directory have no effect (not bun main.ts)", async () => {
  const evil = `require("node:fs").writeFileSync(${JSON.stringify(join(workspace.path, "evil"))}, "");\nthrow new Error("evil");\n`;
  await workspace.write("evil.js", evil);
  for (const path of ["lib/supervisor/worker.js", "lib/supervisor/worker.ts", "cli/main.ts", "cli/main.js", "worker.js"]) {
    await workspace.write(path, evil);
  }
  await workspace.write("bunfig.toml", 'preload = ["./evil.js"]\n');
  await workspace.write(".env", "FROM_DOTENV=evil\nORRERY_TRUST_WORKSPACE=1\n");
  await workspace.write("deno.json", '{ "imports": { "valibot": "./evil.js" } }\n');
  const own = ["valibot", "orrery", "fs", "node:fs", "hono"];
  const aliases = Object.fromEntries([...own, "#evil"].map((name) => [name, "./evil.js"]));
  const settings = { name: "orrery", type: "commonjs", main: "./evil.js", exports: "./evil.js", imports: aliases, browser: aliases };
  await workspace.write("package.json", JSON.stringify({ ...settings, sideEffects: ["./evil.js"], bun: { preload: ["./evil.js"] } }));
  const paths = Object.fromEntries(own.map((name) => [name, ["./evil.js"]]));
  await workspace.write("tsconfig.json", JSON.stringify({ compilerOptions: { baseUrl: ".", paths } }));
  for (const name of own) {
    await workspace.write(`node_modules/${name}/package.json`, '{ "main": "index.js" }');
    await workspace.write(`node_modules/${name}/index.js`, evil);
  }
  await workspace.write(".orrery/tools/add.ts", ADD);
  await workspace.write("notes.txt", "plain\n");
  const replies = [
    {
      calls: [
        { name: "read_file", arguments: { path: "notes.txt" } },
        { name: "bash", arguments: { command: "env" } },
        { name: "add", arguments: { left: 40 } },
      ],
    },
    { text: "{{result read_file}} {{result bash}} sum={{result add}}" },
  ];
  await workspace.write("script.json", JSON.stringify({ replies }));

  const { code, stdout, stderr } = await runOrrery(["run", "--trust-workspace", "--model", "script:script.json", "go"], {
    cwd: workspace.path,
    home: workspace.home,
  });
  expect([code, stderr.includes("evil")]).toEqual([0, false]);
  expect(stdout).toContain("plain");
  expect(stdout).toContain("sum=42");
  expect(stdout).not.toContain("FROM_DOTENV");
  expect(existsSync(join(workspace.path, "evil"))).toBe(false);
});
