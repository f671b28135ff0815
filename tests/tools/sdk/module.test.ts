import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { JsonObject } from "../../../lib/session/json.ts";
import { NOTHING_CAPTURED, type Run } from "../../../lib/session/launch.ts";
import type { Place } from "../../../lib/tools/sdk/language.ts";
import { typescript } from "../../../lib/tools/sdk/module-tool.ts";
import { callModule, describeModuleFile } from "./run-module.ts";

const onDeno = "Deno" in globalThis;

const files: Readonly<Record<string, string>> = {
  "shop.ts": `
    import { Tool, tool, type ToolContext, ValidationError } from "orrery";
    import * as v from "valibot";
    import { shout } from "./parts/shout.ts";

    console.log("loading");

    export const greet = tool({
      name: "greet",
      description: "Greet somebody.",
      parameters: v.object({ name: v.string(), times: v.optional(v.number(), 2) }),
      read_only: true,
      async execute({ name, times }, { status, progress, signal }) {
        console.log("greeting");
        status("thinking", name);
        progress("greet", 50);
        return { text: shout(name).repeat(times), aborted: signal.aborted };
      },
    });

    export const same = greet;

    export class Refund extends Tool {
      readonly name = "refund";
      readonly description = "Pay back.";
      readonly parameters = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };
      readonly approval = "always" as const;
      execute({ amount }: { amount: number }, _context: ToolContext) {
        if (amount <= 0) throw new ValidationError("Amount must be positive");
        throw amount > 100 ? "too much" : new TypeError("no till");
      }
    }

    export const helper = () => 1;
    const hidden = tool({ name: "hidden", description: "", parameters: v.object({}), execute: () => hidden.name });
  `,
  "parts/shout.ts": "export const shout = (text: string): string => `${text.toUpperCase()}!`;",
  "plain.js": `
    import { tool } from "orrery";
    const where = { cwd: process.cwd(), mine: process.env.MINE, path: typeof process.env.PATH, left: process.env.LEFT_OVER };
    export default tool({ name: "where", description: "", parameters: { type: "object", properties: {} }, execute: () => where });
  `,
  "listed.js": `
    import { Tool, tool } from "orrery";
    const of = (name) => tool({ name, description: "", parameters: { type: "object", properties: {} }, execute: () => name });
    class Third extends Tool {
      name = "third"; description = ""; parameters = { type: "object", properties: {} };
      execute() { return "third"; }
    }
    export const first = of("first");
    export const tools = [first, of("second"), Third];
  `,
  "idle.js": `
    import { Tool } from "orrery";
    export class Idle extends Tool { name = "idle"; description = ""; parameters = { type: "object", properties: {} }; }
  `,
  "late.js": `
    import { tool } from "orrery";
    const parameters = { type: "object", properties: {} };
    export default tool({ name: "late", description: "", parameters, timeoutMs: -1, execute: () => 1 });
  `,
  "bare.js": 'import { tool } from "orrery"; export default tool({ name: "bare", description: "d", execute() {} });',
  "nameless.js": 'import { tool } from "orrery"; export default tool({ description: "d", parameters: {}, execute() {} });',
  "text-time.js": `
    import { tool } from "orrery";
    export default tool({ name: "slow", description: "d", parameters: {}, timeoutMs: "abc", execute() {} });
  `,
  "agent.ts": 'import { Agent, tool } from "orrery"; export default class extends Agent { tools = [tool] }',
  "base.ts": `
    import { Tool } from "orrery";
    export abstract class Base extends Tool {
      readonly description = "d";
      readonly parameters = { type: "object" };
      execute() { return this.name; }
    }
    export class First extends Base { readonly name = "first"; }
    export class Second extends Base { readonly name = "second"; }
  `,
  "derived.ts": `
    import { Tool } from "orrery";
    export class Search extends Tool {
      readonly name: string = "search";
      readonly description = "d";
      readonly parameters = { type: "object" };
      execute() { return this.name; }
    }
    export class Fast extends Search { override readonly name = "fast"; }
    export class Archive extends Search { override execute() { return "archived"; } }
    class Local extends Search { override readonly name = "local"; }
    export const local = new Local();
    export class Started extends Tool { readonly name = "started"; readonly description = "d"; readonly parameters = { type: "object" }; }
    export class Whole extends Started { override readonly name = "whole"; execute() { return 1; } }
  `,
  "needs.ts": `
    import { Tool } from "orrery";
    export class Index extends Tool {
      readonly name = "index";
      readonly description = "d";
      readonly parameters = { type: "object" };
      constructor(readonly path: string) { super(); this.path = path.trim(); }
      execute() { return this.path; }
    }
    export class Small extends Index {}
    export class Made extends Index { override readonly name = "made"; }
    export const made = new Made(" /a ");
    export class Optional extends Tool {
      readonly name = "optional";
      readonly description = "d";
      readonly parameters = { type: "object" };
      constructor(readonly path = "/b") { super(); }
      execute() { return this.path; }
    }
  `,
  "none.ts": "export const x: number = 1;",
  "syntax.ts": "export const x: number = 1;\nexport const y = ;\n",
  "unclosed.ts": `import { tool } from "orrery";
import * as v from "valibot";
export const a = tool({ name: "one", description: "x", parameters: v.object({}), execute: () => 1 ;
`,
  "twice.ts": "export const a = 1;\nexport const a = 2;\nlet b; let b;\n",
  "far.ts": 'import "./syntax.ts";\nexport const x = 1;\n',
  "gathered.ts": 'await Promise.any([Promise.reject(new Error("no till")), Promise.reject(new TypeError("no key"))]);',
  "missing.ts": 'import "./not-there.ts";',
  "throws.ts": 'throw new Error("at load");',
  "schema.ts": `
    import { tool } from "orrery";
    import * as v from "valibot";
    export const when = tool({ name: "when", description: "", parameters: v.object({ at: v.date() }), execute: () => 1 });
  `,
  "twins.ts": `
    import { tool } from "orrery";
    const make = () => tool({ name: "twin", description: "", parameters: { type: "object" }, execute: () => 1 });
    export const a = make();
    export const b = make();
  `,
  "uncaught.ts": `
    import { tool } from "orrery";
    const wait = () => new Promise((resolve) => setTimeout(resolve, 20_000));
    const fail = (text) => { throw new Error(text); };
    const ways = {
      timer: () => void setTimeout(() => fail("in a timer")),
      promise: () => void Promise.reject(new TypeError("in a promise")),
      text: () => void setTimeout(() => { throw "a text"; }),
      heard: () => {
        for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, () => {});
        setTimeout(() => fail("heard"));
        void Promise.reject(new Error("heard"));
        return new Promise((resolve) => setTimeout(resolve, 100, "went on"));
      },
      handled: () => Promise.reject(new Error("x")).catch(() => "handled"),
    };
    const parameters = { type: "object", properties: { way: { type: "string" } } };
    export default tool({ name: "fails", description: "", parameters, execute: ({ way }) => ways[way]() ?? wait() });
  `,
  "uncaught-load.ts": `
    setTimeout(() => { throw new Error("while it loads"); });
    await new Promise((resolve) => setTimeout(resolve, 20_000));
  `,
  "construct.ts": `
    import { Tool } from "orrery";
    export class Needy extends Tool {
      readonly name = "needy";
      readonly description = "";
      readonly parameters = {};
      constructor() { super(); throw new Error("needs a till"); }
      execute() {}
    }
  `,
};

let folder = "";
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "orrery-module-")));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a TypeScript tool file anywhere on the disk", () => {
  test("imports orrery and valibot without node_modules, and lists what it exports", async () => {
    const described = await describeFile("shop.ts");
    if (described.kind === "broken") throw new Error(JSON.stringify(described));
    expect(described.tools).toEqual([
      {
        name: "greet",
        description: "Greet somebody.",
        parameters: { type: "object", properties: { name: { type: "string" }, times: { type: "number", default: 2 } }, required: ["name"] },
        read_only: true,
        speculation_safe: false,
        approval: "never",
        timeout_ms: 30_000,
      },
      {
        name: "refund",
        description: "Pay back.",
        parameters: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
        read_only: false,
        speculation_safe: false,
        approval: "always",
        timeout_ms: 30_000,
      },
    ]);
  });

  test("answers a call with the value, and sends what it tells", async () => {
    const { result, messages } = await callFile("shop.ts", "greet", { name: "ada" });
    expect(result).toEqual({ is_error: false, text: '{"text":"ADA!ADA!","aborted":false}', data: { text: "ADA!ADA!", aborted: false } });
    const timestamp = expect.any(String);
    expect(messages).toEqual([
      { type: "agent_status", data: { status: "thinking", message: "ada" }, timestamp },
      { type: "progress_update", data: { task_id: "greet", progress: 50 }, timestamp },
    ]);
  });

  test("fails by ValidationError, by an error and by something else, each as an error result", async () => {
    expect((await callFile("shop.ts", "refund", { amount: 0 })).result).toEqual({ is_error: true, text: "Amount must be positive" });
    expect((await callFile("shop.ts", "refund", { amount: 1 })).result).toEqual({ is_error: true, text: "TypeError: no till" });
    expect((await callFile("shop.ts", "refund", { amount: 101 })).result).toEqual({
      is_error: true,
      text: "The tool threw what is not an error: too much",
    });
  });

  test("may be JavaScript with a default export, and sees the workspace and the call's environment", async () => {
    const { result } = await callFile("plain.js", "where", {}, { MINE: "1" });
    expect(result.data).toEqual({ cwd: folder, mine: "1", path: "string" });
  });

  test("may export a list of tools, as an agent has them", async () => {
    const described = await describeFile("listed.js");
    expect(described.kind === "described" ? described.tools.map(({ name }) => name) : described).toEqual(["first", "second", "third"]);
    expect((await callFile("listed.js", "third", {})).result.data).toBe("third");
  });

  test("may export a class that others are derived from: without a name it is no tool", async () => {
    const described = await describeFile("base.ts");
    expect(described.kind === "described" ? described.tools.map(({ name }) => name) : described).toEqual(["first", "second"]);
    expect((await callFile("base.ts", "second", {})).result.data).toBe("second");
  });

  test("may export a class that others are derived from: with all that makes a tool it is one, unless one of them has its name", async () => {
    const described = await describeFile("derived.ts");
    expect(described.kind === "described" ? described.tools.map(({ name }) => name) : described).toEqual([
      "local",
      "search",
      "fast",
      "whole",
    ]);
    expect((await callFile("derived.ts", "search", {})).result.data).toBe("archived");
  });

  test("may export a class that needs arguments: it is told of, and keeps no other from being a tool", async () => {
    const described = await describeFile("needs.ts");
    expect(described).toMatchObject({
      kind: "described",
      tools: [{ name: "made" }, { name: "optional" }],
      notices: [{
        severity: "warning",
        code: "class_not_made",
        message: "The class Small is not used, as its constructor needs arguments",
      }],
    });
    expect((await callFile("needs.ts", "made", {})).result.data).toBe("/a");
  });

  test("may have no tools: it is a part of others", async () => {
    expect(await describeFile("none.ts")).toEqual({ kind: "described", tools: [], notices: [] });
  });

  test("that no longer has the tool is an error result", async () => {
    expect((await callFile("none.ts", "greet", {})).result).toEqual({
      is_error: true,
      text: `Cannot call "greet" as ${join(folder, "none.ts")} no longer has a tool of that name`,
    });
  });

  const faults: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    "syntax.ts": { code: "module_load", line: 2, column: 18 },
    "far.ts": { code: "module_load", message: expect.stringMatching(/syntax\.ts\W.*2\D+18/s) },
    "gathered.ts": { code: "module_load", message: expect.stringContaining(onDeno ? "All promises" : "(no till; TypeError: no key)") },
    "missing.ts": { code: "module_load", message: expect.stringContaining("not-there.ts") },
    "throws.ts": { code: "module_load", message: "Cannot load the file: at load" },
    "schema.ts": {
      code: "tool_invalid",
      message: expect.stringContaining('The tool "when" is wrong: the parameters cannot be shown to a model: The "date" schema'),
    },
    "twins.ts": { code: "tool_invalid", message: 'The file has two tools named "twin"' },
    "idle.js": { code: "tool_invalid", message: 'The tool "idle" is wrong: it has no execute()' },
    "bare.js": { code: "tool_invalid", message: expect.stringContaining('The tool "bare" is wrong: parameters must be a valibot schema') },
    "nameless.js": { code: "tool_invalid", message: expect.stringContaining("A tool without a name is wrong: name: Invalid type") },
    "text-time.js": { code: "tool_invalid", message: expect.stringMatching(/The tool "slow" is wrong: timeoutMs: .*received "abc"/) },
    "agent.ts": {
      code: "module_load",
      message: expect.stringMatching(/'Agent'.*; what a tool runs in knows only tool, Tool, ValidationError of "orrery"/),
    },
    "late.js": { code: "tool_invalid", message: 'The tool "late" is wrong: timeoutMs: must be above 0' },
    "construct.ts": { code: "module_load", message: "Cannot load the file: needs a till" },
  };
  for (const [file, fault] of Object.entries(faults)) {
    test(`that has no tools to offer says what is wrong: ${file}`, async () => {
      const described = await describeFile(file);
      if (described.kind === "described") throw new Error("it was described");
      expect(described.diagnostics).toMatchObject([{ severity: "error", ...fault }]);
    });
  }
});

describe("a TypeScript tool file that is wrong in several places", () => {
  const { stringContaining } = expect;
  // Deno's parser stops at the first.
  const faults: Readonly<Record<string, readonly object[]>> = onDeno
    ? {
      "unclosed.ts": [{ line: 3, column: 99, message: stringContaining("Expected ',', got ';'") }],
      "twice.ts": [{ line: 2, column: 14, message: stringContaining("'a' has already been declared") }],
    }
    : {
      "unclosed.ts": [
        { line: 3, column: 99, message: 'Cannot load the file: Expected "}" but found ";"' },
        { line: 3, column: 100, message: 'Cannot load the file: Expected ")" but found end of file' },
      ],
      "twice.ts": [
        { line: 2, column: 14, message: 'Cannot load the file: "a" has already been declared' },
        { line: 3, column: 12, message: 'Cannot load the file: "b" has already been declared' },
      ],
    };
  for (const [file, expected] of Object.entries(faults)) {
    test(`says of each where and why: ${file}`, async () => {
      const described = await describeFile(file);
      if (described.kind === "described") throw new Error("it was described");
      expect(described.diagnostics).toMatchObject(expected);
      expect(described.diagnostics.length).toBe(expected.length);
    });
  }
});

describe("an error that a tool file leaves to nobody", () => {
  const ways: Readonly<Record<string, readonly [boolean, string]>> = {
    timer: [true, "in a timer"],
    promise: [true, "TypeError: in a promise"],
    text: [true, "The tool threw what is not an error: a text"],
    heard: [false, '"went on"'],
    handled: [false, '"handled"'],
  };
  for (const [way, [is_error, text]] of Object.entries(ways)) {
    test(`is the call's error at once, unless the file listens for it: ${way}`, async () => {
      expect((await callFile("uncaught.ts", "fails", { way })).result).toMatchObject({ is_error, text });
    });
  }

  test("is why a file does not load", async () => {
    expect(await describeFile("uncaught-load.ts")).toMatchObject({
      kind: "broken",
      diagnostics: [{ code: "module_load", message: "Cannot load the file: while it loads" }],
    });
  });
});

describe("the import maps of Deno", () => {
  test("have the valibot that package.json pins, and orrery as a program and as a tool file knows it", () => {
    const root = join(import.meta.dirname, "../../..");
    const read = (name: string) => JSON.parse(readFileSync(join(root, name), "utf8"));
    const valibot = `npm:valibot@${read("package.json").dependencies.valibot}`;
    expect(read("deno.json").imports).toMatchObject({ orrery: "./mod.ts", valibot });
    expect(read("lib/platform/tool-files.json").imports).toEqual({ orrery: "../tools/sdk/define.ts", valibot });
  });
});

describe("a host that gave no reply", () => {
  test("makes an error result, and a description that says so", () => {
    const run: Run = {
      outcome: { kind: "timed_out", after_ms: 10 },
      stdout: NOTHING_CAPTURED,
      stderr: NOTHING_CAPTURED,
      duration_ms: 10,
      reaped: [],
    };
    expect(typescript.read("greet", run).result).toEqual({ is_error: true, text: expect.stringContaining("greet timed out after 10 ms") });
    const ends: readonly (readonly [Run["outcome"], RegExp])[] = [
      [run.outcome, /within ten seconds/],
      [{ kind: "exited", code: 0 }, /must not end its process/],
      [{ kind: "not_started", reason: "cannot_start" }, /can be started here/],
    ];
    for (const [outcome, remedy] of ends) {
      expect(typescript.readDescription({ ...run, outcome })).toMatchObject({
        kind: "broken",
        diagnostics: [{ code: "describe_failed", remedy: expect.stringMatching(remedy) }],
      });
    }
  });
});

function describeFile(file: string) {
  return describeModuleFile(join(folder, file), place());
}

function callFile(file: string, name: string, input: JsonObject, env: Readonly<Record<string, string>> = {}) {
  return callModule(join(folder, file), name, input, place(env));
}

function place(env: Readonly<Record<string, string>> = {}): Place {
  return { workspace: folder, env: { PATH: process.env["PATH"] ?? "", ...env } };
}
