/** The examples of docs/sdk.md are type-checked and run: each file is followed by a call and by what the call returns. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import ts from "typescript";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { placeOf, runLaunch } from "./run-launch.ts";
import { callModule } from "./run-module.ts";

const repository = join(import.meta.dirname, "../../..");

interface Example {
  readonly language: "ts" | "python";
  readonly source: string;
  readonly tool: string;
  readonly input: JsonObject;
  readonly returns: unknown;
}

const examples = readExamples(readFileSync(join(repository, "docs/sdk.md"), "utf8"));

let folder = "";
const paths = examples.map(({ language }, index) => `example-${index}.${language === "ts" ? "ts" : "py"}`);
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "orrery-docs-")));
  for (const [index, { source }] of examples.entries()) writeFileSync(join(folder, paths[index] ?? ""), source);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("docs/sdk.md", () => {
  test("has examples in both languages, and a call and its result after each", () => {
    expect(examples.filter(({ language }) => language === "ts").length).toBeGreaterThan(3);
    expect(examples.filter(({ language }) => language === "python").length).toBeGreaterThan(3);
  });

  test("has TypeScript that is free of type errors under the strictest options", () => {
    const files = paths.filter((path) => path.endsWith(".ts")).map((path) => join(folder, path));
    const program = ts.createProgram(files, {
      strict: true,
      noEmit: true,
      noImplicitOverride: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      types: [],
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.Preserve,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: ["lib.esnext.d.ts", "lib.dom.d.ts"],
      paths: {
        orrery: [join(repository, "lib/tools/sdk/define.ts")],
        valibot: [join(repository, "node_modules/valibot/dist/index.d.mts")],
      },
    });
    const faults = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
      `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
    );
    expect(faults).toEqual([]);
  }, 60_000);

  for (const [index, { language, tool, input, returns }] of examples.entries()) {
    test(`tells what ${tool} in ${language} returns`, async () => {
      expect((await call(language, join(folder, paths[index] ?? ""), tool, input)).result).toMatchObject({
        is_error: false,
        data: returns,
      });
    });
  }
});

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

function readExamples(page: string): readonly Example[] {
  const fences = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({ language, text }));
  return fences.flatMap(({ language, text }, index) => {
    if (language !== "ts" && language !== "python") return [];
    const command = /^orrery tools call (\w+) --input '(.*)'\n$/.exec(fences[index + 1]?.text ?? "");
    const returned = fences[index + 2];
    if (command === null || returned?.language !== "json") throw new Error(`An example of docs/sdk.md has no call or no result:\n${text}`);
    const [, tool = "", input = ""] = command;
    return [{ language, source: text, tool, input: JSON.parse(input) as JsonObject, returns: JSON.parse(returned.text) as unknown }];
  });
}
