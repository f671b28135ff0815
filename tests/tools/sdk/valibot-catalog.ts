/** Everything that valibot exports, and what a tool's parameters make of it. */
import * as v from "valibot";

type Make = (given: typeof v) => v.GenericSchema;
/** How one is used, and the JSON Schema that it is shown as, or the words it is refused with. */
export type Entry = readonly [make: Make, shown: object | RegExp];

const string = { type: "string" };
const number = { type: "number" };
const text = (pattern: string) => ({ ...string, pattern });
const one = { type: "object", properties: { a: string }, required: ["a"] };
const pair = { type: "array", prefixItems: [string, number], minItems: 2 };
const none = (type: string) => new RegExp(`The "${type}" schema cannot be converted`);
const of = (step: (given: typeof v) => unknown, root: Make = (g) => g.string()): Make => (g) => g.pipe(root(g), step(g) as never);
const numbers: Make = (g) => g.array(g.number());
const numberRoot: Make = (g) => g.number();
const keyed: Make = (g) => g.record(g.string(), g.number());
const record = { type: "object", propertyNames: string, additionalProperties: number };
const list = { type: "array", items: number };

export const schemas: Readonly<Record<string, Entry>> = {
  any: [(g) => g.any(), {}],
  array: [numbers, list],
  bigint: [(g) => g.bigint(), none("bigint")],
  blob: [(g) => g.blob(), none("blob")],
  boolean: [(g) => g.boolean(), { type: "boolean" }],
  cache: [(g) => g.cache(g.string()), string],
  config: [(g) => g.config(g.string(), {}), string],
  custom: [(g) => g.custom(() => true), none("custom")],
  date: [(g) => g.date(), none("date")],
  enum: [(g) => g.enum({ A: 1, B: "b" }), { enum: [1, "b"], type: ["string", "number"] }],
  enum_: [(g) => g.enum_({ A: "a" }), { enum: ["a"], type: "string" }],
  exactOptional: [(g) => g.exactOptional(g.string(), "x"), { ...string, default: "x" }],
  fallback: [(g) => g.fallback(g.string(), "x"), { anyOf: [string, {}], default: "x" }],
  file: [(g) => g.file(), none("file")],
  function: [(g) => g.function(), none("function")],
  function_: [(g) => g.function_(), none("function")],
  instance: [(g) => g.instance(Map), none("instance")],
  intersect: [(g) => g.intersect([g.object({ a: g.string() }), g.object({ b: g.number() })]), {
    allOf: [one, { type: "object", properties: { b: number }, required: ["b"] }],
  }],
  lazy: [(g) => g.lazy(() => g.string()), { $ref: "#/$defs/0" }],
  literal: [(g) => g.literal("a"), { const: "a" }],
  looseObject: [(g) => g.looseObject({ a: g.string() }), one],
  looseTuple: [(g) => g.looseTuple([g.string(), g.number()]), pair],
  map: [(g) => g.map(g.string(), g.string()), none("map")],
  message: [(g) => g.message(g.string(), "wrong"), string],
  nan: [(g) => g.nan(), none("nan")],
  never: [(g) => g.never(), { not: {} }],
  nonNullable: [(g) => g.nonNullable(g.nullable(g.string())), string],
  nonNullish: [(g) => g.nonNullish(g.nullish(g.string())), string],
  nonOptional: [(g) => g.nonOptional(g.nullish(g.string(), "x")), { anyOf: [string, { type: "null" }], default: "x" }],
  null: [(g) => g.null(), { type: "null" }],
  null_: [(g) => g.null_(), { type: "null" }],
  nullable: [(g) => g.nullable(g.string()), { anyOf: [string, { type: "null" }] }],
  nullish: [(g) => g.nullish(g.string(), null), { anyOf: [string, { type: "null" }], default: null }],
  number: [numberRoot, number],
  object: [(g) => g.object({ a: g.string() }), one],
  objectWithRest: [(g) => g.objectWithRest({ a: g.string() }, g.number()), { ...one, additionalProperties: number }],
  optional: [(g) => g.optional(g.number(), Number.NaN), number],
  partial: [(g) => g.partial(g.object({ a: g.string() })), { ...one, required: [] }],
  picklist: [(g) => g.picklist(["a", "b"]), { enum: ["a", "b"], type: "string" }],
  pipe: [(g) => g.pipe(g.string(), g.string()), string],
  promise: [(g) => g.promise(), none("promise")],
  record: [(g) => g.record(g.picklist(["a", "b"]), g.number()), { ...record, propertyNames: { enum: ["a", "b"], type: "string" } }],
  required: [(g) => g.required(g.object({ a: g.optional(g.string(), "x") })), one],
  set: [(g) => g.set(g.string()), none("set")],
  strictObject: [(g) => g.strictObject({ a: g.string() }), { ...one, additionalProperties: false }],
  strictTuple: [(g) => g.strictTuple([g.string(), g.optional(g.number())]), { ...pair, minItems: 1, items: false }],
  string: [(g) => g.string(), string],
  symbol: [(g) => g.symbol(), none("symbol")],
  tuple: [(g) => g.tuple([g.string(), g.number()]), pair],
  tupleWithRest: [(g) => g.tupleWithRest([g.string(), g.number()], g.boolean()), { ...pair, items: { type: "boolean" } }],
  undefined: [(g) => g.undefined(), none("undefined")],
  undefined_: [(g) => g.undefined_(), none("undefined")],
  undefinedable: [(g) => g.undefinedable(g.string()), string],
  union: [(g) => g.union([g.string(), g.undefined(), g.number()]), { anyOf: [string, number] }],
  unknown: [(g) => g.unknown(), {}],
  variant: [(g) => g.variant("a", [g.object({ a: g.literal("x") }), g.object({ a: g.literal("y"), b: g.number() })]), {
    anyOf: [
      { type: "object", properties: { a: { const: "x" } }, required: ["a"] },
      { type: "object", properties: { a: { const: "y" }, b: number }, required: ["a", "b"] },
    ],
  }],
  void: [(g) => g.void(), none("void")],
  void_: [(g) => g.void_(), none("void")],
};

const upper: Make = of((g) => g.transform((given: string) => given.length));
const isPositive = (each: unknown) => Number(each) > 0;
const isText = (each: unknown): each is string => typeof each === "string";

export const actions: Readonly<Record<string, Entry>> = {
  args: [of((g) => g.args(g.tuple([])), (g) => g.function()), none("function")],
  awaitAsync: [(g) => g.pipeAsync(g.string(), g.awaitAsync() as never) as never, string],
  base64: [of((g) => g.base64()), string],
  bic: [of((g) => g.bic()), string],
  brand: [of((g) => g.brand("id")), string],
  bytes: [of((g) => g.bytes(2)), string],
  check: [of((g) => g.check(isText)), string],
  checkItems: [of((g) => g.checkItems(isPositive), numbers), list],
  codePoints: [of((g) => g.codePoints(2)), string],
  creditCard: [of((g) => g.creditCard()), string],
  cuid2: [of((g) => g.cuid2()), text("^[a-z][\\da-z]*$")],
  decimal: [of((g) => g.decimal()), text("^[+-]?(?:\\d*\\.)?\\d+$")],
  description: [of((g) => g.description("said")), { ...string, description: "said" }],
  digits: [of((g) => g.digits()), text("^\\d+$")],
  domain: [of((g) => g.domain()), string],
  email: [of((g) => g.email()), { ...string, format: "email" }],
  emoji: [of((g) => g.emoji()), string],
  empty: [of((g) => g.empty()), { ...string, maxLength: 0 }],
  endsWith: [of((g) => g.endsWith(".b")), text("\\.b$")],
  entries: [of((g) => g.entries(1), keyed), { ...record, minProperties: 1, maxProperties: 1 }],
  everyItem: [of((g) => g.everyItem(isPositive), numbers), list],
  examples: [of((g) => g.examples(["a"])), { ...string, examples: ["a"] }],
  excludes: [of((g) => g.excludes("a")), string],
  filterItems: [of((g) => g.filterItems(isPositive), numbers), list],
  findItem: [of((g) => g.findItem(isPositive), numbers), list],
  finite: [of((g) => g.finite(), numberRoot), number],
  flavor: [of((g) => g.flavor("id")), string],
  forward: [of((g) => g.forward(g.partialCheck([["a"]], () => true), ["a"]), (g) => g.object({ a: g.string() })), one],
  graphemes: [of((g) => g.graphemes(2)), string],
  gtValue: [of((g) => g.gtValue(1), numberRoot), { ...number, exclusiveMinimum: 1 }],
  guard: [of((g) => g.guard(isText)), string],
  hash: [of((g) => g.hash(["md5"])), text("^[a-fA-F0-9]{32}$")],
  hexColor: [of((g) => g.hexColor()), text("^#(?:[\\da-fA-F]{3,4}|[\\da-fA-F]{6}|[\\da-fA-F]{8})$")],
  hexadecimal: [of((g) => g.hexadecimal()), text("^(?:0[hx])?[\\da-fA-F]+$")],
  imei: [of((g) => g.imei()), string],
  includes: [of((g) => g.includes(3), numbers), list],
  integer: [of((g) => g.integer(), numberRoot), { type: "integer" }],
  ip: [of((g) => g.ip()), string],
  ipv4: [of((g) => g.ipv4()), { ...string, format: "ipv4" }],
  ipv6: [of((g) => g.ipv6()), string],
  isbn: [of((g) => g.isbn()), string],
  isoDate: [of((g) => g.isoDate()), text("^\\d{4}-(?:0[1-9]|1[0-2])-(?:[12]\\d|0[1-9]|3[01])$")],
  isoDateTime: [
    of((g) => g.isoDateTime()),
    text("^\\d{4}-(?:0[1-9]|1[0-2])-(?:[12]\\d|0[1-9]|3[01])[T ](?:0\\d|1\\d|2[0-3]):[0-5]\\d$"),
  ],
  isoDateTimeSecond: [of((g) => g.isoDateTimeSecond()), string],
  isoTime: [of((g) => g.isoTime()), text("^(?:0\\d|1\\d|2[0-3]):[0-5]\\d$")],
  isoTimeSecond: [of((g) => g.isoTimeSecond()), text("^(?:0\\d|1\\d|2[0-3])(?::[0-5]\\d){2}$")],
  isoTimestamp: [
    of((g) => g.isoTimestamp()),
    text(
      "^\\d{4}-(?:0[1-9]|1[0-2])-(?:[12]\\d|0[1-9]|3[01])[T ](?:0\\d|1\\d|2[0-3])(?::[0-5]\\d){2}(?:\\.\\d{1,9})?" +
        "(?:Z| ?[+-](?:0\\d|1\\d|2[0-3])(?::?[0-5]\\d)?)$",
    ),
  ],
  isoWeek: [of((g) => g.isoWeek()), text("^\\d{4}-W(?:0[1-9]|[1-4]\\d|5[0-3])$")],
  isrc: [of((g) => g.isrc()), text("^(?:[A-Z]{2}[A-Z\\d]{3}\\d{7}|[A-Z]{2}-[A-Z\\d]{3}-\\d{2}-\\d{5})$")],
  jwsCompact: [
    of((g) => g.jwsCompact()),
    text(`^${["", "?", "?"].map((many) => `(?:[\\w-]{2,3}|(?:[\\w-]{4})+(?:[\\w-]{2,3})?)${many}`).join("\\.")}$`),
  ],
  ksuid: [of((g) => g.ksuid()), text("^[a-zA-Z0-9]{27}$")],
  length: [of((g) => g.length(3)), { ...string, minLength: 2, maxLength: 3 }],
  ltValue: [of((g) => g.ltValue(1), numberRoot), { ...number, exclusiveMaximum: 1 }],
  mac: [of((g) => g.mac()), { ...string, pattern: sourceOf("mac") }],
  mac48: [of((g) => g.mac48()), { ...string, pattern: sourceOf("mac48") }],
  mac64: [of((g) => g.mac64()), { ...string, pattern: sourceOf("mac64") }],
  mapItems: [of((g) => g.mapItems(String), numbers), list],
  maxBytes: [of((g) => g.maxBytes(2)), string],
  maxCodePoints: [of((g) => g.maxCodePoints(2)), string],
  maxEntries: [of((g) => g.maxEntries(1), (g) => g.object({ a: g.optional(g.string()) })), { ...one, required: [] }],
  maxGraphemes: [of((g) => g.maxGraphemes(2)), string],
  maxLength: [of((g) => g.maxLength(2)), { ...string, maxLength: 2 }],
  maxSize: [of((g) => g.maxSize(2), (g) => g.blob()), none("blob")],
  maxValue: [of((g) => g.maxValue(2), numberRoot), { ...number, maximum: 2 }],
  maxWords: [of((g) => g.maxWords("en", 2)), string],
  metadata: [of((g) => g.metadata({ title: "T", deprecated: true, type: "form", required: true, icon: 1n })), {
    ...string,
    title: "T",
    deprecated: true,
  }],
  mimeType: [of((g) => g.mimeType(["text/plain"]), (g) => g.blob()), none("blob")],
  minBytes: [of((g) => g.minBytes(2)), string],
  minCodePoints: [of((g) => g.minCodePoints(2)), string],
  minEntries: [of((g) => g.minEntries(1), (g) => g.looseObject({ a: g.optional(g.string(), "x") })), {
    ...one,
    properties: { a: { ...string, default: "x" } },
    required: [],
  }],
  minGraphemes: [of((g) => g.minGraphemes(2)), string],
  minLength: [of((g) => g.minLength(2), numbers), { ...list, minItems: 2 }],
  minSize: [of((g) => g.minSize(2), (g) => g.blob()), none("blob")],
  minValue: [of((g) => g.minValue(2), (g) => g.optional(g.number(), 2)), { ...number, minimum: 2, default: 2 }],
  minWords: [of((g) => g.minWords("en", 2)), string],
  multipleOf: [of((g) => g.multipleOf(-2), numberRoot), { ...number, multipleOf: 2 }],
  nanoid: [of((g) => g.nanoid()), text("^[\\w-]+$")],
  nonEmpty: [of((g) => g.nonEmpty()), { ...string, minLength: 1 }],
  normalize: [of((g) => g.normalize()), string],
  notBytes: [of((g) => g.notBytes(2)), string],
  notCodePoints: [of((g) => g.notCodePoints(2)), string],
  notEntries: [of((g) => g.notEntries(1), keyed), record],
  notGraphemes: [of((g) => g.notGraphemes(2)), string],
  notLength: [of((g) => g.notLength(2)), string],
  notSize: [of((g) => g.notSize(2), (g) => g.blob()), none("blob")],
  notValue: [of((g) => g.notValue(2), numberRoot), { ...number, not: { const: 2 } }],
  notValues: [of((g) => g.notValues([2, 3]), numberRoot), { ...number, not: { enum: [2, 3] } }],
  notWords: [of((g) => g.notWords("en", 2)), string],
  octal: [of((g) => g.octal()), text("^(?:0o)?[0-7]+$")],
  parseBoolean: [of((g) => g.parseBoolean()), string],
  parseJson: [of((g) => g.parseJson()), string],
  partialCheck: [of((g) => g.partialCheck([["a"]], () => true), (g) => g.object({ a: g.string() })), one],
  rawCheck: [of((g) => g.rawCheck(() => {})), string],
  rawTransform: [of((g) => g.rawTransform(({ dataset }) => dataset.value)), string],
  readonly: [of((g) => g.readonly(), numbers), list],
  reduceItems: [of((g) => g.reduceItems(String, ""), numbers), list],
  regex: [of((g) => g.regex(/^a.$/)), string],
  returns: [of((g) => g.returns(g.string()), (g) => g.function()), none("function")],
  rfcEmail: [of((g) => g.rfcEmail()), { ...string, format: "email" }],
  safeInteger: [of((g) => g.safeInteger(), numberRoot), {
    type: "integer",
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  }],
  size: [of((g) => g.size(2), (g) => g.blob()), none("blob")],
  slug: [of((g) => g.slug()), text("^[\\da-z]+(?:[-_][\\da-z]+)*$")],
  someItem: [of((g) => g.someItem(isPositive), numbers), list],
  sortItems: [of((g) => g.sortItems(), numbers), list],
  startsWith: [of((g) => g.startsWith("a.")), text("^a\\.")],
  stringifyJson: [of((g) => g.stringifyJson(), numberRoot), number],
  title: [of((g) => g.title("T")), { ...string, title: "T" }],
  toBigint: [of((g) => g.toBigint()), string],
  toBoolean: [of((g) => g.toBoolean()), string],
  toCamelCase: [of((g) => g.toCamelCase()), string],
  toDate: [of((g) => g.toDate()), string],
  toKebabCase: [of((g) => g.toKebabCase()), string],
  toLowerCase: [of((g) => g.toLowerCase()), string],
  toMaxValue: [of((g) => g.toMaxValue(2), numberRoot), number],
  toMinValue: [of((g) => g.toMinValue(2), numberRoot), number],
  toNumber: [of((g) => g.toNumber()), string],
  toPascalCase: [of((g) => g.toPascalCase()), string],
  toSnakeCase: [of((g) => g.toSnakeCase()), string],
  toString: [of((g) => g.toString(), numberRoot), number] as const,
  toUpperCase: [of((g) => g.toUpperCase()), string],
  transform: [of((g) => g.minValue(3), upper), string],
  trim: [of((g) => g.trim()), string],
  trimEnd: [of((g) => g.trimEnd()), string],
  trimStart: [of((g) => g.trimStart()), string],
  ulid: [of((g) => g.ulid()), text("^[0-7][\\da-hjkmnp-tv-zA-HJKMNP-TV-Z]{25}$")],
  url: [of((g) => g.url()), string],
  uuid: [of((g) => g.uuid()), { ...string, format: "uuid" }],
  value: [of((g) => g.value("a")), { ...string, const: "a" }],
  values: [of((g) => g.values(["a", "b"])), { ...string, enum: ["a", "b"] }],
  words: [of((g) => g.words("en", 2)), string],
};

/** The source of valibot's own pattern, which has no part that JSON Schema reads otherwise. */
function sourceOf(name: "mac" | "mac48" | "mac64"): string {
  return { mac: v.mac(), mac48: v.mac48(), mac64: v.mac64() }[name].requirement.source;
}

/** Neither a schema nor a step of one. */
export const helpers: ReadonlySet<string> = new Set(
  ("ValiError assert deleteGlobalConfig deleteGlobalMessage deleteSchemaMessage deleteSpecificMessage entriesFromList " +
    "entriesFromObjects flatten getDefault getDefaults getDescription getDotPath getExamples getFallback getFallbacks getGlobalConfig " +
    "getGlobalMessage getMetadata getSchemaMessage getSpecificMessage getTitle is isOfKind isOfType isValiError keyof omit parse parser " +
    "pick safeParse safeParser setGlobalConfig setGlobalMessage setSchemaMessage setSpecificMessage summarize unwrap").split(" "),
);
