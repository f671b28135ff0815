/** Our sources are checked with an embedder's program, by that program's own options: they must be right under these too. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const onDeno = "Deno" in globalThis;
const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");

const PROGRAM = `
import { Agent, createApp, createClient, openAgent, Tool, tool, ValidationError } from "orrery";
import * as v from "valibot";

const double = tool({
  name: "double",
  description: "Double.",
  parameters: v.object({ n: v.number() }),
  inProcess: true,
  execute: ({ n }, { status }) => {
    status("thinking", n.toFixed());
    if (n < 0) throw new ValidationError("too little");
    return { n: 2 * n };
  },
});

class Doubling extends Agent {
  override readonly tools = [double];
}

await using agent = new Doubling({ model: "local/none" });
const answer: string = await agent.generateResponse("2");
console.log(answer, await createApp(agent), createClient, openAgent, Tool);
`;

/** What `bun init` writes, and the types that TypeScript 6 no longer looks for by itself. */
const OPTIONS = {
  lib: ["ESNext"],
  target: "ESNext",
  module: "Preserve",
  moduleDetection: "force",
  jsx: "react-jsx",
  allowJs: true,
  types: ["bun"],
  moduleResolution: "bundler",
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  noFallthroughCasesInSwitch: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
};

let folder = "";
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "orrery-embedder-")));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/orrery"));
  for (const name of ["valibot", "@types"]) symlinkSync(join(modules, name), join(folder, "node_modules", name));
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS, files: ["program.ts"] }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(command: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => void (said += text));
  const code = await new Promise((resolve) => child.once("close", resolve));
  return `${code} ${said}`;
}

test.skipIf(onDeno)("a program that embeds us is right by the options of bun init (checked once, from Bun)", async () => {
  expect(await run(join(modules, ".bin/tsc"), "-p", ".")).toBe("0 ");
}, 600_000);

test.skipIf(onDeno)("a program that embeds us is right by Deno's own options, wherever it lies (checked once, from Bun)", async () => {
  expect(await run(join(modules, "deno/deno"), "check", "--quiet", "--config", join(root, "deno.json"), join(folder, "program.ts"))).toBe(
    "0 ",
  );
}, 600_000);
