import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toInput } from "../../../lib/session/json.ts";
import type { Launch } from "../../../lib/session/launch.ts";
import { languages, loadSdkFile, type SdkFile, type SdkPorts } from "../../../lib/tools/sdk/files.ts";
import { createDescriptionCache, type DescriptionCache } from "../../../lib/tools/sdk/description-cache.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { readToolFiles, type ToolFile } from "../../../lib/tools/tool-files.ts";
import { placeOf, runLaunch } from "./run-launch.ts";

let folder = "";
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "orrery-sdk-files-"))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("loadSdkFile()", () => {
  test("runs nothing of a file that is not trusted, and can name none of its tools", async () => {
    const launches: Launch[] = [];
    const file = await write("untrusted.py", GREET);
    expect(await load(file, { untrusted: "nobody said so", launches })).toEqual({
      kind: "untrusted",
      origin: { system: "sdk", scope: "workspace", path: file.path },
      reason: "nobody said so",
    });
    expect(launches).toEqual([]);
  });

  test("gives tools that check, plan and read like any other", async () => {
    const file = await write("greet.py", GREET);
    const [greet] = toolsOf(await load(file));
    if (greet === undefined || file.kind !== "text") throw new Error("there is no tool");
    expect(greet).toMatchObject({
      name: "greet",
      description: "Greet somebody.",
      digest: file.digest,
      read_only: true,
      speculation_safe: false,
      approval: "never",
    });
    expect(greet.input_schema).toEqual({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
    expect(greet.check(toInput({ name: 1 })).map(({ pointer }) => pointer)).toEqual(["/name"]);
    const input = toInput({ name: "ada" });
    const plan = greet.plan(input, { ...placeOf(), state: { reads: {}, tasks: {}, scratch: {} } });
    if (plan.kind !== "launch") throw new Error(`planned as ${plan.kind}`);
    expect([plan.program, plan.program_digest]).toEqual([file.path, file.digest]);
    expect(plan.launch.timeout_ms).toBe(4321);
    expect(greet.read(await runLaunch(plan.launch), input).result.data).toBe("hello ada");
  });

  test("gives tools that are gated and speculated as they say of themselves", async () => {
    for (
      const [given, approval, speculation_safe] of [
        ['approval="always", speculation_safe=True', "always", true],
        ['approval="destructive"', "destructive", false],
      ] as const
    ) {
      const [greet] = toolsOf(await load(await write("asks.py", GREET.replace("read_only=True", given))));
      expect(greet).toMatchObject({ read_only: false, approval, speculation_safe });
    }
  });

  test("asks a file once for what it has, until the file changes", async () => {
    const cache = memoryCache();
    const launches: Launch[] = [];
    const first = await load(await write("kept.py", GREET), { cache, launches });
    const second = await load(await write("kept.py", GREET), { cache, launches });
    expect(launches.length).toBe(1);
    expect(toolsOf(second).map(({ name }) => name)).toEqual(toolsOf(first).map(({ name }) => name));
    expect(toolsOf(await load(await write("kept.py", GREET.replaceAll("greet", "wave")), { cache, launches })).map(({ name }) => name))
      .toEqual(["wave"]);
    expect(launches.length).toBe(2);
  });

  test("asks again if what was kept cannot be read, and keeps nothing of a file that is broken", async () => {
    const cache = memoryCache("garbage");
    const launches: Launch[] = [];
    expect(toolsOf(await load(await write("again.py", GREET), { cache, launches })).length).toBe(1);
    for (let round = 0; round < 2; round++) {
      const file = await load(await write("broken.py", "import nothing_of_that_name"), { cache, launches });
      expect(file).toMatchObject({ kind: "broken", diagnostics: [{ code: "python_load", line: 1 }] });
    }
    expect(launches.length).toBe(3);
  });

  test("keeps what a file said on the disk, for its path and its bytes", async () => {
    const cache = createDescriptionCache(join(folder, "kept"));
    const launches: Launch[] = [];
    const file = await write("disk.py", GREET);
    const first = toolsOf(await load(file, { cache, launches }));
    const again = toolsOf(await load(file, { cache: createDescriptionCache(join(folder, "kept")), launches }));
    expect(again.map(({ name, input_schema }) => ({ name, input_schema }))).toEqual(
      first.map(({ name, input_schema }) => ({ name, input_schema })),
    );
    expect(launches.length).toBe(1);
    await load(await write("elsewhere.py", GREET), { cache, launches });
    await load(await write("disk.py", `${GREET}# changed\n`), { cache, launches });
    expect(launches.length).toBe(3);
    expect(readdirSync(join(folder, "kept")).length).toBe(2);
  });

  test("asks afresh where files are checked, and forgets what a file said that no longer loads", async () => {
    const cache = createDescriptionCache(join(folder, "afresh"));
    const launches: Launch[] = [];
    await write("part.py", "WORD = 'hello '");
    const file = await write("whole.py", GREET.replace('"hello "', "WORD").replace("@tool", "from part import WORD\n@tool"));
    expect(toolsOf(await load(file, { cache, launches })).length).toBe(1);
    expect(toolsOf(await load(file, { cache, launches, afresh: true })).length).toBe(1);
    expect(launches.length).toBe(2);
    rmSync(join(folder, "part.py"));
    expect((await load(file, { cache })).kind).toBe("tools");
    expect(await load(file, { cache, afresh: true })).toMatchObject({ kind: "broken", diagnostics: [{ code: "python_load" }] });
    expect((await load(file, { cache })).kind).toBe("broken");
  });

  test("needs no disk that can be written", async () => {
    const launches: Launch[] = [];
    const cache = createDescriptionCache(join((await write("no-folder.py", GREET)).path, "kept"));
    const file = await write("again.py", GREET);
    for (let round = 0; round < 2; round++) expect(toolsOf(await load(file, { cache, launches })).length).toBe(1);
    expect(launches.length).toBe(2);
  });

  test("takes a file without tools for a part of others, and says so; louder of one that imports what makes tools", async () => {
    const cache = memoryCache();
    for (const [text, severity] of [["WORD = 1", "info"], ["from stella_sdk import tool", "warning"]] as const) {
      const file = await write("part.py", text);
      for (let round = 0; round < 2; round++) {
        expect(await load(file, { cache })).toMatchObject({ kind: "tools", tools: [], diagnostics: [{ severity, code: "no_tools" }] });
      }
    }
  });

  test("says what a file seems to mean as a tool and does not offer, also where it was kept", async () => {
    const cache = createDescriptionCache(join(folder, "noticed"));
    const launches: Launch[] = [];
    const file = await write("method.py", `${GREET}\nclass Shop:\n    @tool\n    def price(self): pass\n`);
    for (let round = 0; round < 2; round++) {
      expect(await load(file, { cache, launches })).toMatchObject({
        kind: "tools",
        tools: [{ name: "greet" }],
        diagnostics: [{ severity: "warning", code: "method_not_registered" }],
      });
    }
    expect(launches.length).toBe(1);
  });

  test("refuses a name that belongs to a built-in", async () => {
    expect(await load(await write("reads.py", GREET.replaceAll("greet", "read_file")))).toMatchObject({
      kind: "broken",
      diagnostics: [{ severity: "error", code: "reserved_name", message: 'The name "read_file" is reserved: it is a built-in tool' }],
    });
  });

  test("says of a schema that is no schema which tool has it", async () => {
    const source =
      'from stella_sdk import Tool\nclass Odd(Tool):\n    name = "odd"\n    description = "d"\n    parameters = {"type": "nothing"}\n    def execute(self):\n        pass\n';
    expect(await load(await write("odd.py", source))).toMatchObject({
      kind: "broken",
      diagnostics: [{ severity: "error", message: expect.stringContaining('The parameters of "odd"') }],
    });
  });

  test("passes on why a file could not be read", async () => {
    const diagnostic = { severity: "error", code: "unreadable", message: "no", remedy: "Make it readable." } as const;
    expect(await load({ kind: "unreadable", path: "/x.py", diagnostic })).toEqual({
      kind: "broken",
      origin: { system: "sdk", scope: "workspace", path: "/x.py" },
      names: [],
      diagnostics: [diagnostic],
    });
  });
});

test("every extension belongs to one language", () => {
  expect(languages.flatMap(({ extensions }) => extensions).toSorted()).toEqual([".js", ".py", ".ts"]);
});

const GREET = `from stella_sdk import tool

@tool(read_only=True, timeout_ms=4321)
def greet(name: str) -> str:
    """Greet somebody."""
    return "hello " + name
`;

async function write(name: string, text: string): Promise<ToolFile> {
  writeFileSync(join(folder, name), text);
  const file = (await readToolFiles(folder, ".py")).find(({ path }) => path.endsWith(`/${name}`));
  if (file === undefined) throw new Error("the file was not found");
  return file;
}

interface LoadOptions {
  readonly untrusted?: string;
  readonly cache?: DescriptionCache;
  readonly launches?: Launch[];
  readonly afresh?: boolean;
}

function load(file: ToolFile, options: LoadOptions = {}): Promise<SdkFile> {
  const ports: SdkPorts = {
    afresh: options.afresh ?? false,
    place: placeOf(),
    cache: options.cache ?? memoryCache(),
    run: (launch) => {
      options.launches?.push(launch);
      return runLaunch(launch);
    },
  };
  return loadSdkFile(file, "workspace", python, options.untrusted ?? null, ports);
}

function toolsOf(file: SdkFile) {
  if (file.kind !== "tools") throw new Error(JSON.stringify(file));
  return file.tools;
}

function memoryCache(initial?: unknown): DescriptionCache {
  const kept = new Map<string, unknown>();
  return {
    read: async ({ path, digest }) => kept.get(path + digest) ?? initial,
    write: async ({ path, digest }, tools) => void kept.set(path + digest, tools),
    forget: async ({ path, digest }) => void kept.delete(path + digest),
  };
}
