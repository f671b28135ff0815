import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import * as v from "valibot";
import type { JsonObject } from "../../../lib/session/json.ts";
import type { HostReply } from "../../../lib/session/launch.ts";
import { compileTool } from "../../../lib/tools/sdk/compile-tool.ts";
import { Tool, tool, type ToolContext, ValidationError } from "../../../lib/tools/sdk/define.ts";
import { describeTool } from "../../../lib/tools/sdk/describe-tool.ts";
import { parseDescription } from "../../../lib/tools/sdk/description.ts";
import { invokeTool } from "../../../lib/tools/sdk/invoke.ts";
import { processorTime } from "../../fixtures/processor-time.ts";

const createTicket = tool({
  name: "create_ticket",
  description: "Create a support ticket.",
  parameters: v.object({
    title: v.pipe(v.string(), v.description("Ticket title")),
    description: v.pipe(v.string(), v.description("Detailed description of the issue")),
    priority: v.pipe(v.optional(v.string(), "medium"), v.description("Priority level (low, medium, high)")),
  }),
  execute({ title, priority }) {
    return { ticket_id: title.length, priority: priority.toUpperCase() };
  },
});

describe("tool()", () => {
  test("gives create_ticket the schema that the SDK's page prints", () => {
    const { name, description, parameters } = describeTool(createTicket);
    expect({ name, description, parameters }).toEqual({
      name: "create_ticket",
      description: "Create a support ticket.",
      parameters: {
        type: "object",
        properties: {
          title: { type: "string", description: "Ticket title" },
          description: { type: "string", description: "Detailed description of the issue" },
          priority: { type: "string", description: "Priority level (low, medium, high)", default: "medium" },
        },
        required: ["title", "description"],
      },
    });
  });

  test("takes whatever is always an object, and shows it as one", async () => {
    const [left, right] = [v.object({ a: v.string() }), v.object({ b: v.number() })];
    const kinds = [v.object({ kind: v.literal("a"), a: v.string() }), v.object({ kind: v.literal("b"), b: v.number() })] as const;
    const schemas: readonly (readonly [v.GenericSchema, JsonObject, JsonObject])[] = [
      [v.intersect([left, right]), { a: "x", b: 1 }, { a: "x" }],
      [v.pipe(v.intersect([left, right]), v.check(() => true)), { a: "x", b: 1 }, { b: 1 }],
      [v.variant("kind", kinds), { kind: "b", b: 1 }, { kind: "b" }],
      [v.union([left, right]), { b: 1 }, { c: 1 }],
      [v.lazy(() => left), { a: "x" }, {}],
    ];
    for (const [parameters, fits, unfit] of schemas) {
      const shown = describeTool(tool({ name: "t", description: "", parameters, execute: () => 1 }));
      const { schema, diagnostics } = await compileTool(shown);
      expect([shown.parameters["type"], diagnostics]).toEqual(["object", []]);
      expect(schema?.check(fits)).toEqual([]);
      expect(schema?.check(unfit)).not.toEqual([]);
    }
    for (const parameters of [v.union([left, v.string()]), v.intersect([v.string(), v.any()]), v.nullable(left)]) {
      expect(() => describeTool(tool({ name: "t", description: "", parameters, execute: () => 1 }))).toThrow(/must be an object schema/);
    }
  });

  test("hands execute the parsed value, defaults and transformations included", async () => {
    expect(await call(createTicket, { title: "abc", description: "d" })).toEqual({
      is_error: false,
      text: '{"ticket_id":3,"priority":"MEDIUM"}',
      data: { ticket_id: 3, priority: "MEDIUM" },
    });
    const parsed = tool({
      name: "t",
      description: "",
      parameters: v.object({ day: v.pipe(v.string(), v.transform((text) => new Date(text))) }),
      execute: ({ day }) => day.getUTCFullYear(),
    });
    expect(describeTool(parsed).parameters).toEqual({ type: "object", properties: { day: { type: "string" } }, required: ["day"] });
    expect((await call(parsed, { day: "2026-12-01" })).data).toBe(2026);
  });

  test("keeps execute callable with its types", () => {
    const result: { ticket_id: number; priority: string } = createTicket.execute(
      { title: "a", description: "b", priority: "low" },
      context(),
    );
    expect(result).toEqual({ ticket_id: 1, priority: "LOW" });
  });

  test("takes a JSON Schema as it is", async () => {
    const parameters = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const plain = tool({ name: "t", description: "", parameters, execute: (input) => input["n"] });
    expect(describeTool(plain).parameters).toEqual(parameters);
    expect((await call(plain, { n: 4 })).text).toBe("4");
  });

  test("asks nobody, speculates nothing and has thirty seconds unless it says otherwise", () => {
    expect(describeTool(createTicket)).toMatchObject({ read_only: false, speculation_safe: false, approval: "never", timeout_ms: 30_000 });
    const own = tool({ ...bare, read_only: true, speculation_safe: true, approval: "destructive", timeoutMs: 1_000_000 });
    expect(describeTool(own)).toMatchObject({ read_only: true, speculation_safe: true, approval: "destructive", timeout_ms: 600_000 });
  });

  test("refuses parameters that have no JSON Schema, by the tool's name", () => {
    expect(() => describeTool(tool({ ...bare, parameters: v.object({ at: v.date() }) }))).toThrow(/The tool "bare" is wrong: .*date/);
    expect(() => describeTool(tool({ ...bare, parameters: v.array(v.string()) }))).toThrow(/must be an object schema/);
  });

  const given: readonly (readonly [string, v.GenericSchema, readonly JsonObject[], object])[] = [
    ["a pattern with flags", v.object({ a: v.pipe(v.string(), v.regex(/^yes$/i)) }), [{ a: "YES" }], { a: { type: "string" } }],
    ["a pattern without flags", v.object({ a: v.pipe(v.string(), v.regex(/^a/)) }), [{ a: "ab" }], {
      a: { type: "string", pattern: "^a" },
    }],
    ["a pattern in old syntax", v.object({ a: v.pipe(v.string(), v.regex(/^\-$/)) }), [{ a: "-" }], { a: { type: "string" } }],
    [
      "what is trimmed first",
      v.object({ a: v.pipe(v.string(), v.trim(), v.maxLength(2), v.toLowerCase(), v.picklist(["ab"]), v.description("text")) }),
      [{ a: "  AB  " }],
      { a: { type: "string", description: "text" } },
    ],
    ["what is branded first", v.object({ a: v.pipe(v.string(), v.brand("x"), v.minLength(1)) }), [{ a: "a" }], {
      a: { type: "string", minLength: 1 },
    }],
    ["what has a fallback", v.object({ a: v.fallback(v.pipe(v.number(), v.minValue(1)), 7) }), [{ a: "none" }, {}], {
      a: { anyOf: [{ type: "number", minimum: 1 }, {}], default: 7 },
    }],
    ["a default that is made", v.object({ a: v.optional(v.number(), () => Math.random()) }), [{}], { a: { type: "number" } }],
    [
      "options of which two fit",
      v.object({ a: v.variant("k", [v.object({ k: v.literal("a") }), v.object({ k: v.literal("a"), n: v.optional(v.number()) })]) }),
      [{ a: { k: "a" } }],
      {
        a: {
          anyOf: [
            { type: "object", properties: { k: { const: "a" } }, required: ["k"] },
            { type: "object", properties: { k: { const: "a" }, n: { type: "number" } }, required: ["k"] },
          ],
        },
      },
    ],
  ];
  for (const [what, parameters, inputs, properties] of given) {
    test(`shows a schema that takes what valibot takes: ${what}`, async () => {
      const each = tool({ ...bare, parameters, execute: () => "taken" });
      const described = describeTool(each);
      expect(described.parameters["properties"]).toEqual(properties);
      const { schema } = await compileTool(described);
      for (const input of inputs) {
        expect(schema?.check(input)).toEqual([]);
        expect(await call(each, input)).toMatchObject({ text: '"taken"' });
      }
    });
  }

  test("shows a schema that contains itself", () => {
    interface Tree {
      readonly name: string;
      readonly below: readonly Tree[];
    }
    const tree: v.GenericSchema<Tree> = v.object({
      name: v.pipe(v.string(), v.trim(), v.minLength(1)),
      below: v.array(v.lazy(() => tree)),
    });
    const { $defs } = describeTool(tool({ ...bare, parameters: v.object({ tree }), execute: () => null })).parameters;
    const [shown] = Object.values($defs as object);
    expect(shown).toMatchObject({ properties: { name: { type: "string" }, below: { items: { $ref: expect.any(String) } } } });
    expect(JSON.stringify($defs)).not.toContain("minLength");
  });

  test("says what of the input does not fit where only valibot can tell", async () => {
    const even = tool({
      name: "even",
      description: "",
      parameters: v.object({ n: v.pipe(v.number(), v.check((n) => n % 2 === 0, "must be even")) }),
      execute: ({ n }) => n,
    });
    expect(describeTool(even).parameters).toEqual({ type: "object", properties: { n: { type: "number" } }, required: ["n"] });
    expect(await call(even, { n: 3 })).toEqual({ is_error: true, text: "The input does not fit:\n- n: must be even" });
  });
});

describe("a Tool class", () => {
  class Search extends Tool {
    readonly name = "search";
    readonly description = "Search.";
    readonly parameters = v.object({ query: v.string() });
    override readonly read_only = true;

    async execute({ query }: v.InferOutput<typeof this.parameters>, { status }: ToolContext) {
      status("thinking", query);
      return [query];
    }
  }

  test("is described and run like any other tool", async () => {
    expect(describeTool(new Search())).toMatchObject({ name: "search", read_only: true, approval: "never" });
    expect((await call(new Search(), { query: "tea" })).data).toEqual(["tea"]);
  });
});

describe("a field that is written as in another language", () => {
  for (const [written, meant] of [["readOnly", "read_only"], ["speculationSafe", "speculation_safe"], ["timeout_ms", "timeoutMs"]]) {
    test(`is refused with the name that counts: ${written}`, () => {
      const given = { ...bare, execute: () => 1, [String(written)]: 1 };
      const fault = `it has "${written}", which is written "${meant}"`;
      expect(() => tool(given)).toThrow(fault);
      class Odd extends Tool {
        readonly name = "odd";
        readonly description = "d";
        readonly parameters = v.object({});
        override execute() {}
      }
      expect(() => describeTool(Object.assign(new Odd(), { [String(written)]: 1 }))).toThrow(`The tool "odd" is wrong: ${fault}`);
    });
  }
});

describe("a tool that fails", () => {
  test("with ValidationError gives its message and no stack", async () => {
    const stacks: string[] = [];
    const refuses = tool({ ...bare, execute: () => Promise.reject(new ValidationError("Amount must be positive")) });
    expect(await call(refuses, {}, stacks)).toEqual({ is_error: true, text: "Amount must be positive" });
    expect(stacks).toEqual([]);
  });

  test("with any other error gives its message, and the stack to the log", async () => {
    const stacks: string[] = [];
    const breaks = tool({
      ...bare,
      execute: () => {
        throw new RangeError("too far");
      },
    });
    expect(await call(breaks, {}, stacks)).toEqual({ is_error: true, text: "RangeError: too far" });
    expect(stacks[0]).toContain("define.test.ts");
  });

  const thrown: readonly (readonly [unknown, string])[] = [
    ["a text", "The tool threw what is not an error: a text"],
    [undefined, "The tool threw what is not an error: undefined"],
    [{ code: 7 }, 'The tool threw what is not an error: {"code":7}'],
    [null, "The tool threw what is not an error: null"],
    [10n, "The tool threw what is not an error: 10"],
    [{ n: 10n }, "The tool threw what has no text"],
    [new Error(""), "Error"],
    [broken(new Error("kept"), "stack"), "kept"],
    [broken(new Error("lost"), "message"), "The tool threw what has no text"],
    [Object.assign(new Error(), { message: 5 }), "5"],
    [new ValidationError(), "ValidationError"],
    [Object.assign(new ValidationError(), { message: { n: 1 } }), "ValidationError: [object Object]"],
  ];
  for (const [value, text] of thrown) {
    test(`is an error result whatever it throws: ${text}`, async () => {
      expect(await call(tool({ ...bare, execute: () => Promise.reject(value) }), {})).toEqual({ is_error: true, text });
    });
  }
});

describe("a tool's return value", () => {
  const cyclic: unknown[] = [];
  cyclic.push({ again: cyclic });
  const unholdable: readonly (readonly [unknown, string])[] = [
    [{ rows: [1, NaN] }, '["rows"][1] is NaN'],
    [-Infinity, "the value is -Infinity"],
    [{ n: 1n }, '["n"] is of type bigint'],
    [() => 1, "the value is of type function"],
    [[Symbol("s")], "[0] is of type symbol"],
    [new Map([[1, 2]]), "the value is of type Map"],
    [{ all: new Set([1]) }, '["all"] is of type Set'],
    [new Uint8Array(2), "the value is of type Uint8Array"],
    [{ raw: [Buffer.from("hi")] }, '["raw"][0] is of type Buffer'],
    [[Array(4_294_967_295)], "[0] has 4294967295 places: 10000000 are the most"],
    [[Promise.resolve(1)], "[0] is of type Promise"],
    [{ error: new Error("x") }, '["error"] is of type Error'],
    [new Response("x"), "the value is of type Response"],
    [{ a: new Blob(["x"]) }, '["a"] is of type Blob'],
    [[new WeakRef({})], "[0] is of type WeakRef"],
    [(function* () {})(), "the value is of type Generator"],
    [[
      new (class Hidden {
        readonly #secret = 1;
        tell() {
          return this.#secret;
        }
      })(),
    ], "[0] is of type Hidden"],
    [{ a: Object(NaN) }, '["a"] is NaN'],
    [{ at: new Date(NaN) }, '["at"] is an invalid Date'],
    [cyclic, '[0]["again"] contains itself'],
    [{ toJSON: () => [NaN] }, "[0] is NaN"],
    [new Proxy([{ n: 1n }], {}), '[0]["n"] is of type bigint'],
    [
      {
        get till() {
          throw new RangeError("no till");
        },
      },
      "it cannot be read: RangeError: no till",
    ],
    [
      {
        toJSON: () => {
          throw new Error("no till");
        },
      },
      "it cannot be read: no till",
    ],
  ];
  for (const [value, fault] of unholdable) {
    test(`is an error that names the place if JSON cannot hold it: ${fault}`, async () => {
      expect(await call(tool({ ...bare, execute: () => value }), {})).toEqual({
        is_error: true,
        text: `The tool returned what JSON cannot hold: ${fault}`,
      });
    });
  }

  const holdable: readonly (readonly [unknown, string])[] = [
    [undefined, "null"],
    ["a text", '"a text"'],
    [{ a: undefined, b: [new Date(0)] }, '{"b":["1970-01-01T00:00:00.000Z"]}'],
    [{ error: "Order not found" }, '{"error":"Order not found"}'],
    [[cyclic.length, cyclic.length], "[1,1]"],
    [{ a: Object(3), b: Object("b"), c: Object(true), d: Object.create(null), e: {} }, '{"a":3,"b":"b","c":true,"d":{},"e":{}}'],
    [
      new (class Point {
        readonly x = 1;
      })(),
      '{"x":1}',
    ],
  ];
  for (const [value, text] of holdable) {
    test(`is its JSON text: ${text}`, async () => {
      expect(await call(tool({ ...bare, execute: () => value }), {})).toEqual({ is_error: false, text, data: JSON.parse(text) });
    });
  }

  test("is an error, soon, if it is nested without measure", async () => {
    let deep: unknown = [];
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    const began = processorTime();
    expect((await call(tool({ ...bare, execute: () => deep }), {})).text).toContain("nested too deeply");
    expect(processorTime() - began).toBeLessThan(5000);
  });

  test("is read once: what is checked is what is returned", async () => {
    const fickle = () => {
      let reads = 0;
      return () => reads++ === 0 ? 1 : NaN;
    };
    const [get, toJSON] = [fickle(), fickle()];
    const value = { list: [Object.defineProperty({}, "a", { get, enumerable: true })], json: { toJSON } };
    expect((await call(tool({ ...bare, execute: () => value }), {})).text).toBe('{"list":[{"a":1}],"json":1}');
  });

  test("is what JSON.stringify() makes of it, where nothing is lost", async () => {
    const odd = { list: Object.assign([1, , "\ud83d"], { extra: 2 }), zero: -0, [Symbol("s")]: 1, gone: { toJSON: () => undefined } };
    const own = JSON.parse('{"__proto__":{"a":1}}');
    for (const value of [odd, own, new Proxy({ a: [odd] }, {}), new URL("http://a/"), "x".repeat(9), Object("x")]) {
      expect((await call(tool({ ...bare, execute: () => value }), {})).text).toBe(JSON.stringify(value));
    }
  });

  test("may hold one object twice", async () => {
    const twice = { a: 1 };
    expect((await call(tool({ ...bare, execute: () => [twice, twice] }), {})).text).toBe('[{"a":1},{"a":1}]');
  });

  test("is cut in the middle if it is huge, and its size is said", async () => {
    const reply = await call(tool({ ...bare, execute: () => "x".repeat(1_000_000) }), {});
    expect(reply).toMatchObject({ is_error: false, whole_bytes: 1_000_002 });
    expect(reply.text.length).toBeLessThan(70_000);
    expect(reply.data).toBeUndefined();
  });
});

describe("parseDescription()", () => {
  test("takes what describeTool() says", () => {
    expect(parseDescription([describeTool(createTicket)])).toMatchObject({ kind: "described", tools: [{ name: "create_ticket" }] });
  });

  const faults: readonly (readonly [Partial<ReturnType<typeof describeTool>>, string])[] = [
    [{ name: "" }, "A tool without a name is wrong: name: must be 1 to 64 letters, digits, _ or -"],
    [{ timeout_ms: 0.5 }, 'The tool "create_ticket" is wrong: timeout_ms: must be a whole number'],
  ];
  for (const [change, message] of faults) {
    test(`refuses a tool that is wrong: ${message}`, () => {
      expect(parseDescription([{ ...describeTool(createTicket), ...change }])).toEqual({
        kind: "broken",
        names: change.name === "" ? [] : ["create_ticket"],
        diagnostics: [{ severity: "error", code: "tool_invalid", message, remedy: "Correct what the tool says of itself." }],
      });
    });
  }

  test("says all that is wrong with all tools, and which they are", () => {
    const given = [{ ...describeTool(createTicket), name: "two words", timeout_ms: 0, approval: "maybe" }, describeTool(createTicket)];
    const read = parseDescription([...given, describeTool(createTicket)]);
    expect(read).toMatchObject({ kind: "broken", names: ["two words", "create_ticket"] });
    expect(read.kind === "broken" ? read.diagnostics.map(({ message }) => message) : []).toEqual([
      'The tool "two words" is wrong: name: must be 1 to 64 letters, digits, _ or -',
      'The tool "two words" is wrong: approval: must be "never", "always" or "destructive"',
      'The tool "two words" is wrong: timeout_ms: must be above 0',
      'The file has two tools named "create_ticket"',
    ]);
  });
});

const bare = { name: "bare", description: "", parameters: v.object({}), execute: (): unknown => null };

/** An error of which a part cannot be read. */
function broken(error: Error, part: "stack" | "message"): Error {
  return Object.defineProperty(error, part, {
    get: () => {
      throw new Error("not this one");
    },
  });
}

function context(): ToolContext {
  return { signal: new AbortController().signal, status: () => {}, progress: () => {} };
}

function call(each: Tool, input: JsonObject, stacks: string[] = []): Promise<HostReply> {
  return invokeTool(each, input, context(), (stack) => void stacks.push(stack));
}
