/**
 * What is shown of a valibot schema refuses nothing that valibot takes: over all that valibot has, and over what is made of it:
 * `ORRERY_VALIBOT_CASES=20000` tries more of that, `ORRERY_VALIBOT_SEED` others.
 */
import { describe, expect, test } from "bun:test";
import process from "node:process";
import fc from "fast-check";
import * as v from "valibot";
import type { Json, JsonObject } from "../../../lib/session/json.ts";
import { hasErrors } from "../../../lib/tools/diagnostic.ts";
import { compileTool } from "../../../lib/tools/sdk/compile-tool.ts";
import { tool } from "../../../lib/tools/sdk/define.ts";
import { describeTool } from "../../../lib/tools/sdk/describe-tool.ts";
import type { Schema } from "../../../lib/tools/schema.ts";
import { actions, type Entry, helpers, schemas } from "./valibot-catalog.ts";

const CASES = Number(process.env["ORRERY_VALIBOT_CASES"] ?? 300);
const SEED = Number(process.env["ORRERY_VALIBOT_SEED"] ?? 20261130);

const STRINGS = [
  ..." a ab abc .b a.b a. aé 😀 😀😀 a😀 ａ b x y 1 10 -2.5 true 0x1f #fff AB=".split(" "),
  ..."YWJj 2026-12-01 10:30 10:30:59 2026-12-01T10:30 2026-12-01T10:30:59Z 2026-W09 2026-12-01T10:30:59".split(" "),
  ..."ada@example.org 127.0.0.1 ::1 fe80::1%eth0 https://example.org example.org a-b_c 4111111111111111 DEUTDEFF".split(" "),
  ..."USRC17607839 978-3-16-148410-0 490154203237518 aa:bb:cc:dd:ee:ff aa:bb:cc:dd:ee:ff:00:11 0o17".split(" "),
  ..."01ARZ3NDEKTSV4RRFFQ69G5FAV 0ujtsYcgvSTl8PAuAdqWYSMnLOv 550e8400-e29b-41d4-a716-446655440000 aaaa.bbbb.cccc".split(" "),
  ..."d41d8cd98f00b204e9800998ecf8427e V1StGXR8_Z5jdHi6B-myT 2026-12-01T10:30:59.5+01:00".split(" "),
  "",
  "two words",
  '{"a":1}',
];
/** None that is written otherwise than it is held: a multiple of 3 as JavaScript has it need not be one as it is written. */
const NUMBERS = [0, -0, 1, 2, 3, 4, -2, 1.5, 2 ** 53 - 1, 2 ** 53];
const OBJECTS: JsonObject[] = [{}, { a: "x" }, { a: "y", b: 1 }, { a: 1 }, { a: 1, b: 2 }, { A: 1, a: 2 }, { a: "x", z: 3 }, { a: null }];
const ARRAYS: Json[] = [[], [1], [1, 2], [1, 2, 3], ["a"], ["a", 1], ["a", 1, true], ["a", null], [null], [[]], [{}]];
const SAMPLES: readonly Json[] = [...STRINGS, ...NUMBERS, ...OBJECTS, ...ARRAYS, null, true, false];

interface Loaded {
  readonly shown: unknown;
  /** What it refers to. */
  readonly below: unknown;
  readonly check: Schema["check"];
}

async function load(schema: v.GenericSchema): Promise<Loaded> {
  const parameters = v.objectAsync({ value: schema });
  const described = describeTool(tool({ name: "t", description: "", parameters, execute: () => 1 }));
  const { schema: compiled, diagnostics } = await compileTool(described);
  if (compiled === undefined || hasErrors(diagnostics)) throw new Error(JSON.stringify(diagnostics));
  const { properties, $defs } = described.parameters;
  return { shown: (properties as JsonObject)["value"], below: $defs, check: compiled.check };
}

describe("of what valibot exports", () => {
  test("nothing is left out", () => {
    const exported = Object.entries(v).flatMap(([name, each]) => typeof each === "function" && !name.startsWith("_") ? [name] : []);
    const known = (name: string) => [schemas, actions].some((each) => Object.hasOwn(each, name)) || helpers.has(name);
    expect(exported.filter((name) => !known(name) && !known(name.replace(/Async$/, "")))).toEqual([]);
  });

  for (const [name, entry] of [...Object.entries(schemas), ...Object.entries(actions)]) {
    for (const [kind, given] of [["", v], ["Async", asynchronous]] as const) {
      if (kind === "Async" && !Object.hasOwn(v, `${name}Async`)) continue;
      test(`${name}${kind} ${entry[1] instanceof RegExp ? "is refused with its name" : "is shown, and refuses nothing that it takes"}`, () =>
        hold(entry, given));
    }
  }
});

/** Where valibot has one that may wait, that one. */
const asynchronous = new Proxy(v, {
  get: (from, name) => Reflect.get(from, typeof name === "string" && Object.hasOwn(from, `${name}Async`) ? `${name}Async` : name),
});

async function hold([make, expected]: Entry, given: typeof v): Promise<void> {
  const schema = make(given);
  if (expected instanceof RegExp) {
    expect(() => describeTool(tool({ name: "t", description: "", parameters: v.objectAsync({ value: schema }), execute: () => 1 })))
      .toThrow(expected);
    return;
  }
  const loaded = await load(schema);
  expect(loaded.shown).toEqual(expected);
  expect(await refusedThoughTaken(schema, loaded)).toEqual([]);
}

/** Valibot takes an array for an object, which JSON Schema does not have: there none is tried. */
async function refusedThoughTaken(schema: v.GenericSchema, { shown, below, check }: Loaded): Promise<readonly Json[]> {
  const samples = JSON.stringify([shown, below]).includes('"type":"object"') ? SAMPLES.filter((each) => !Array.isArray(each)) : SAMPLES;
  const refused = samples.filter((value) => check({ value }).length > 0);
  const taken = await Promise.all(refused.map((sample) => takes(schema, sample)));
  return refused.filter((_sample, index) => taken[index]);
}

/** A step that does not go with what is in front of it throws. */
async function takes(schema: v.GenericSchema, sample: Json): Promise<boolean> {
  try {
    return (await v.safeParseAsync(schema, sample)).success;
  } catch {
    return false;
  }
}

const leaf: fc.Arbitrary<v.GenericSchema> = fc.constantFrom<v.GenericSchema>(
  v.string(),
  v.number(),
  v.boolean(),
  v.picklist(["a", "b"]),
  v.picklist([1, 2]),
  v.literal("x"),
  v.null(),
  v.pipe(v.string(), v.transform(Number)),
  v.pipe(v.string(), v.trim()),
  v.pipe(v.string(), v.toUpperCase()),
  v.object({ a: v.optional(v.string(), "x") }),
  v.record(v.pipe(v.string(), v.toLowerCase()), v.number()),
);

const steps = fc.constantFrom<readonly v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[]>(
  ...[
    [v.integer()],
    [v.safeInteger()],
    [v.multipleOf(2), v.multipleOf(3)],
    [v.minValue(1), v.maxValue(2)],
    [v.gtValue(0)],
    [v.minLength(2)],
    [v.length(2)],
    [v.maxLength(1)],
    [v.nonEmpty()],
    [v.value(1)],
    [v.value("a")],
    [v.values([1, "b"])],
    [v.notValue(2)],
    [v.regex(/^..$/)],
    [v.regex(/^..$/u), v.regex(/a/u)],
    [v.regex(/^[a-z]+$/)],
    [v.startsWith("a"), v.endsWith("c")],
    [v.includes("b")],
    [v.minEntries(1)],
    [v.maxEntries(1)],
    [v.brand("id"), v.description("d")],
    [v.transform((value: unknown) => value), v.string()],
    [v.metadata({ type: "string", minimum: 3 })],
  ] as unknown as readonly (readonly v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[])[],
);

const { schema: composed } = fc.letrec<{ readonly schema: v.GenericSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.tuple(tie("schema"), steps).map(([root, given]) => v.pipe(root, ...given as []) as v.GenericSchema),
    fc.tuple(tie("schema"), fc.constantFrom(undefined, null, 1, "a")).map(([each, byDefault]) => v.optional(each, byDefault as never)),
    fc.tuple(tie("schema"), fc.constantFrom(undefined, 1, "a")).map(([each, byDefault]) => v.nullable(each, byDefault as never)),
    fc.tuple(tie("schema"), fc.constantFrom(undefined, 1)).map(([each, byDefault]) => v.nullish(each, byDefault as never)),
    tie("schema").map((each) => v.undefinedable(each)),
    tie("schema").map((each) => v.nonOptional(each)),
    tie("schema").map((each) => v.nonNullable(each)),
    tie("schema").map((each) => v.nonNullish(each)),
    tie("schema").map((each) => v.fallback(each, "a")),
    tie("schema").map((each) => v.lazy(() => each)),
    tie("schema").map((each) => v.array(each)),
    fc.array(tie("schema"), { maxLength: 3 }).map((items) => v.tuple(items)),
    fc.array(tie("schema"), { maxLength: 3 }).map((items) => v.strictTuple(items)),
    fc.array(tie("schema"), { maxLength: 2 }).map((items) => v.tupleWithRest(items, v.number())),
    tie("schema").map((a) => v.object({ a })),
    tie("schema").map((a) => v.looseObject({ a })),
    tie("schema").map((a) => v.strictObject({ a })),
    tie("schema").map((a) => v.objectWithRest({ a }, v.number())),
    tie("schema").map((each) => v.record(v.string(), each)),
    fc.tuple(tie("schema"), tie("schema")).map((options) => v.union([...options, v.undefined()])),
    fc.tuple(tie("schema"), tie("schema")).map((options) => v.intersect(options)),
  ),
}));

test("what is made of schemas refuses nothing that it takes", async () => {
  await fc.assert(
    fc.asyncProperty(composed, async (schema) => {
      const loaded = await load(schema);
      const { shown, below } = loaded;
      const of = outline(schema);
      expect({ of, shown, below, refused: await refusedThoughTaken(schema, loaded) }).toEqual({ of, shown, below, refused: [] });
    }),
    { numRuns: CASES, seed: SEED },
  );
}, 60_000);

/** What it is made of, for whoever reads a failure. */
function outline(schema: object): string {
  return JSON.stringify(schema, (key, value: unknown) => ["kind", "expects", "async", "~standard"].includes(key) ? undefined : value);
}
