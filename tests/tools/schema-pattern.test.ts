import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { loadPatternEngine, translatePattern } from "../../lib/tools/schema-pattern.ts";
import { processorTime } from "../fixtures/processor-time.ts";

const engine = await loadPatternEngine();

/** Strict if it can be read so, as JSON Schema wants it. */
function originalOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function matches(pattern: string, text: string): boolean {
  const translation = translatePattern(pattern);
  if (translation.kind === "refused") throw new Error(translation.problem);
  return engine(translation.plan).test(text);
}

describe("a translated pattern", () => {
  const patterns = [
    "^[a-z]+$",
    "^[^a-z]$",
    "\\d{3}-\\d+",
    "^\\w[\\w.-]*@[\\w-]+\\.com$",
    "^\\s*$",
    "[\\s\\S]",
    "^\\S+$",
    "^.$",
    "^[^]$",
    "^[]$",
    "a|b|",
    "^(a|(?:b|c)d)*$",
    "^(?<year>\\d\\d)$",
    "[\\]\\[^-]",
    "^[a\\-z]$",
    "^[-a]$",
    "^[a-]$",
    "^[\\d-x]$",
    "^[&&~#]$",
    "^[[:alpha:]]$",
    "^\\u0041\\x42\\u{43}$",
    "^\\t\\n\\cJ\\0$",
    "[\\b]",
    "\\bfoo\\b",
    "^\\p{L}+$",
    "^\\P{Lu}$",
    "^\\p{Script=Greek}$",
    "^\\/a\\.b\\$$",
    "^a{2,3}?b*?$",
    "^(?!-)",
    "^(?!.*\\.\\.)(?=.*x)[a-z.]+$",
    "^🦉$",
    "^🦉+$",
    "^.{0,2}$",
    "^[^]{2}$",
    "^[]*$",
    "^\\P{L}{1,}$",
    "^[\\s\\S]{1,4000}$",
    "^a{4000}$",
    "^\\b$",
    "^\\-*$",
    "^]*$",
    "x*",
    "",
    "^$",
  ];
  const texts = [
    "",
    "a",
    "ab",
    "z",
    "-",
    "[",
    "]",
    ":",
    "&",
    "#",
    "abc",
    "bdcd",
    "a\n",
    "\n",
    "\u2028",
    "\u00a0",
    "\u0008",
    "\t\n\n\0",
    "ABC",
    "foo bar",
    "xfoox",
    "é",
    "Ωω",
    "Ω",
    "🦉",
    "a..x",
    "a.x",
    "-x",
    "12",
    "123-4",
    "me@ex.com",
    "/a.b$",
    "aab",
    "aaabb",
    "d-x",
    "𝒳",
    "🦉🦉",
    "🦉🦉🦉",
    "\ud800",
    "a".repeat(4000),
    "a".repeat(4001),
    "🦉".repeat(4000),
  ];

  for (const pattern of patterns) {
    test(`matches what the original matches: ${JSON.stringify(pattern)}`, () => {
      const original = originalOf(pattern);
      const wrong = texts.filter((text) => matches(pattern, text) !== original.test(text));
      expect(wrong).toEqual([]);
    });
  }

  test("matches what the original matches, for generated patterns and texts", () => {
    const atom = fc.constantFrom("a", "b", ".", "\\d", "\\w", "\\s", "[ab]", "[^a]", "\\.", "-", "é", "[\\w-]", "(?:ab|b)", "(a)");
    const piece = fc.tuple(atom, fc.constantFrom("", "*", "+", "?", "{1,2}", "*?")).map((parts) => parts.join(""));
    const pattern = fc.tuple(fc.constantFrom("", "^"), fc.array(piece, { maxLength: 5 }), fc.constantFrom("", "$", "|b")).map((
      [head, body, tail],
    ) => head + body.join("") + tail);
    const text = fc.array(fc.constantFrom("a", "b", "1", " ", ".", "-", "é", "\n", "_"), { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(fc.property(pattern, text, (source, subject) => matches(source, subject) === new RegExp(source, "u").test(subject)), {
      numRuns: 3000,
      seed: 99,
    });
  });

  test("of one kind of character matches what the original matches, however often it may occur", () => {
    const atom = fc.constantFrom("a", ".", "\\d", "\\S", "[ab]", "[^a🦉]", "[^]", "\\P{Lu}", "🦉", "\\u{1F989}");
    const repeat = fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,1}", "{3,4}");
    const text = fc.array(fc.constantFrom("a", "b", "A", "1", "\n", "🦉", "\ud83e"), { maxLength: 5 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(atom, repeat, text, (one, often, subject) => {
        const pattern = `^${one}${often}$`;
        return matches(pattern, subject) === new RegExp(pattern, "u").test(subject);
      }),
      { numRuns: 3000, seed: 7 },
    );
  });

  test("knows the long names of categories, and ASCII", () => {
    const texts = ["a", "é", "5", "Ω", "٣", "-", "\u0000"];
    for (
      const pattern of [
        "^\\p{ASCII}$",
        "^[\\p{ASCII}é]$",
        "^\\P{ASCII}$",
        "^\\p{General_Category=Decimal_Number}$",
        "^\\p{Letter}$",
        "^\\P{gc=Lowercase_Letter}$",
      ]
    ) {
      expect([pattern, texts.map((text) => matches(pattern, text))]).toEqual([
        pattern,
        texts.map((text) => new RegExp(pattern, "u").test(text)),
      ]);
    }
    const refused = translatePattern("\\p{Script_Extensions=Greek}");
    expect(refused.kind === "refused" ? refused.problem : "").toContain("Script= is");
  });

  test("accepts the escapes that only lenient engines take", () => {
    expect(matches("^[\\w\\_\\@]+$", "a_@")).toBe(true);
    expect(matches("^a\\_b{$", "a_b{")).toBe(true);
  });

  test("is refused by name if it needs to look around or back", () => {
    for (const pattern of ["(?<=a)b", "a(?!b)", "(?<!a)b", "^(?=a)b|c", "(a)\\1", "(?<x>a)\\k<x>", "(?i:a)"]) {
      expect(translatePattern(pattern)).toMatchObject({ kind: "refused", code: "schema_pattern_unsupported" });
    }
    for (const pattern of ["(", "a{2,1}", "[z-a]"]) {
      expect(translatePattern(pattern)).toMatchObject({ kind: "refused", code: "schema_pattern" });
    }
  });

  test("costs time in proportion to the text, whatever the pattern", () => {
    const start = processorTime();
    expect(matches("^(a+)+$", `${"a".repeat(20_000)}!`)).toBe(false);
    expect(processorTime() - start).toBeLessThan(1500);
  });
});
