/**
 * The examples of docs/sdk.md and of the SDK's docstrings are type-checked and run: a tool file is followed by a call and by
 * what the call returns, a program by what it prints, or by a comment that says so.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import ts from "typescript";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { chatReply, startEndpoint } from "../../fixtures/endpoint.ts";
import { createWorkspace } from "../../fixtures/workspace.ts";
import { ended, orreryCommand, runOrrery } from "../../host/orrery.ts";
import { placeOf, runLaunch } from "./run-launch.ts";
import { callModule } from "./run-module.ts";

const repository = join(import.meta.dirname, "../../..");

interface Example {
  readonly language: "ts" | "python";
  readonly source: string;
  readonly tool: string;
  /** As it is printed. */
  readonly command: string;
  readonly input: JsonObject;
  readonly returns: unknown;
}

interface Program {
  readonly source: string;
  readonly prints: string;
}

const page = readFileSync(join(repository, "docs/sdk.md"), "utf8");
const examples = readExamples(page);
const documented = ["lib/tools/sdk/define.ts", "lib/agent/base-agent.ts"].flatMap(readDocstrings);
const programs = [...readPrograms(page), ...documented];
const programPaths = programs.map((_program, index) => `program-${index}.ts`);

let folder = "";
const paths = examples.map(({ language }, index) => `example-${index}.${language === "ts" ? "ts" : "py"}`);
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "orrery-docs-")));
  for (const [index, { source }] of examples.entries()) writeFileSync(join(folder, paths[index] ?? ""), source);
  for (const [index, { source }] of programs.entries()) writeFileSync(join(folder, programPaths[index] ?? ""), source);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("docs/sdk.md", () => {
  test("has examples in both languages, and a call and its result after each", () => {
    expect(examples.filter(({ language }) => language === "ts").length).toBeGreaterThan(3);
    expect(examples.filter(({ language }) => language === "python").length).toBeGreaterThan(3);
    expect(programs.length - documented.length).toBe(3);
  });

  test("is not alone: tool, Tool, ValidationError and Agent have an example each where they are declared", () => {
    expect(documented.map(({ of }) => of).toSorted()).toEqual(["BaseAgent", "Tool", "ValidationError", "tool"]);
  });

  test("has TypeScript that is free of type errors under the strictest options", () => {
    const files = paths.filter((path) => path.endsWith(".ts")).map((path) => join(folder, path));
    // A tool file sees nothing but what is provided; a program has the types of its host.
    expect(typeErrors(files, "lib/tools/sdk/define.ts", { types: [], lib: ["lib.esnext.d.ts", "lib.dom.d.ts"] })).toEqual([]);
    const programFiles = [...programPaths.map((path) => join(folder, path)), join(repository, "text-modules.d.ts")];
    expect(typeErrors(programFiles, "mod.ts", {
      types: ["bun"],
      typeRoots: [join(repository, "node_modules/@types")],
      jsx: ts.JsxEmit.ReactJSX,
      jsxImportSource: "hono/jsx",
      lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    })).toEqual([]);
  }, 120_000);

  for (const [index, { language, tool, input, returns }] of examples.entries()) {
    test(`tells what ${tool} in ${language} returns`, async () => {
      expect((await call(language, join(folder, paths[index] ?? ""), tool, input)).result).toMatchObject({
        is_error: false,
        data: returns,
      });
    });
  }

  for (const { language, source, tool, command, returns } of examples) {
    test(`tells what the command line prints for ${tool} in ${language}`, async () => {
      const workspace = await createWorkspace();
      try {
        await workspace.write(`.orrery/tools/example.${language === "ts" ? "ts" : "py"}`, source);
        const start = { cwd: workspace.path, home: workspace.home };
        expect((await runOrrery(["trust"], start)).code).toBe(0);
        const shim = `orrery() { ${orreryCommand().map((word) => `'${word}'`).join(" ")} "$@"; }`;
        const { PATH = "" } = process.env;
        const env = { PATH, HOME: workspace.home, ORRERY_HOME: workspace.home, DENO_NO_UPDATE_CHECK: "1" };
        const { code, stdout, stderr } = await ended(
          spawn("sh", ["-c", `${shim}\n${command}`], { cwd: workspace.path, env, stdio: ["ignore", "pipe", "pipe"] }),
        );
        // The page says that a person must agree, and what happens where there is none.
        const asks = /approval(: |=)"always"/.test(source);
        expect([code, asks ? null : JSON.parse(stdout)]).toEqual(asks ? [4, null] : [0, returns]);
        if (asks) expect(`${stdout}${stderr}`).toContain("approv");
      } finally {
        await workspace.remove();
      }
    }, 30_000);
  }

  for (const [index, { prints }] of programs.entries()) {
    test(`tells what a program prints: ${prints.split("\n")[0]}`, async () => {
      const weather = [{ name: "get_weather", arguments: { city: "San Francisco" } }];
      const endpoint = await startEndpoint([
        chatReply({ calls: weather }),
        chatReply({ text: "It is 65 degrees and sunny in San Francisco." }),
      ]);
      try {
        expect(await runProgram(programs[index]?.source ?? "", endpoint.url, index)).toEqual({ stdout: prints, stderr: "" });
      } finally {
        await endpoint.close();
      }
    }, 30_000);
  }
});

function typeErrors(files: readonly string[], orrery: string, options: ts.CompilerOptions): readonly string[] {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    noImplicitOverride: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    paths: { orrery: [join(repository, orrery)], valibot: [join(repository, "node_modules/valibot/dist/index.d.mts")] },
    ...options,
  });
  // What is wrong elsewhere is for the check of the whole.
  const own = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName));
  return own.flatMap((file) => ts.getPreEmitDiagnostics(program, file)).map(({ file, messageText }) =>
    `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
  );
}

/** As an embedder's own program: "orrery" and "valibot" are packages there, and this endpoint is in the place of the model's. */
async function runProgram(source: string, endpoint: string, index: number): Promise<{ stdout: string; stderr: string }> {
  const home = join(folder, `home-${index}`);
  mkdirSync(join(home, "node_modules"), { recursive: true });
  symlinkSync(repository, join(home, "node_modules/orrery"));
  symlinkSync(join(repository, "node_modules/valibot"), join(home, "node_modules/valibot"));
  const file = join(home, "program.ts");
  writeFileSync(file, source.replaceAll("http://127.0.0.1:11434/v1", endpoint));
  const args = "Deno" in globalThis ? ["run", "-A", "--no-check", "--config", join(repository, "deno.json"), file] : [file];
  const { PATH = "", DENO_DIR, HOME = "/", XDG_CACHE_HOME } = process.env;
  const env = {
    PATH,
    HOME: home,
    ORRERY_HOME: home,
    // Where Deno has its packages.
    DENO_DIR: DENO_DIR ?? join(XDG_CACHE_HOME ?? join(HOME, ".cache"), "deno"),
  };
  const child = spawn(process.execPath, args, { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said.stderr += text));
  await new Promise<void>((resolve) => child.once("close", () => resolve()));
  return said;
}

async function call(language: Example["language"], file: string, name: string, input: JsonObject) {
  const description = {
    name,
    description: "",
    parameters: {},
    read_only: false,
    speculation_safe: false,
    approval: "never",
    timeout_ms: 30_000,
  } as const;
  if (language === "python") return python.read(name, await runLaunch(python.call(file, description, toInput(input), placeOf())));
  return await callModule(file, name, input, { workspace: folder, env: { PATH: process.env["PATH"] ?? "" } });
}

interface Fence {
  readonly language: string;
  readonly text: string;
}

function fencesOf(page: string): readonly Fence[] {
  return [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({ language, text }));
}

function isProgram(fences: readonly Fence[], index: number): boolean {
  return fences[index]?.language === "ts" && fences[index + 1]?.language === "text";
}

function readPrograms(page: string): readonly Program[] {
  const fences = fencesOf(page);
  return fences.flatMap(({ text }, index) => isProgram(fences, index) ? [{ source: text, prints: fences[index + 1]?.text ?? "" }] : []);
}

/** What a program of a docstring prints stands behind each line that prints. */
function readDocstrings(path: string): readonly (Program & { readonly of: string })[] {
  const text = readFileSync(join(repository, path), "utf8");
  const found = text.matchAll(/^ \* @example\n \* ```ts\n((?: \*.*\n)*?) \* ```\n \*\/\nexport (?:abstract )?(?:class|function) (\w+)/gm);
  return [...found].map(([, block = "", of = ""]) => {
    const source = block.replaceAll(/^ \* ?/gm, "");
    return { of, source, prints: [...source.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, said]) => `${said}\n`).join("") };
  });
}

function readExamples(page: string): readonly Example[] {
  const fences = fencesOf(page);
  return fences.flatMap(({ language, text }, index) => {
    if ((language !== "ts" && language !== "python") || isProgram(fences, index)) return [];
    const command = /^orrery tools call (\w+) --input '(.*)'\n$/.exec(fences[index + 1]?.text ?? "");
    const returned = fences[index + 2];
    if (command === null || returned?.language !== "json") throw new Error(`An example of docs/sdk.md has no call or no result:\n${text}`);
    const [, tool = "", input = ""] = command;
    return [{
      language,
      source: text,
      tool,
      command: command[0],
      input: JSON.parse(input) as JsonObject,
      returns: JSON.parse(returned.text) as unknown,
    }];
  });
}
