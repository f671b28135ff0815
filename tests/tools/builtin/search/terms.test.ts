import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { literalTerms, patternTerms, requiredText } from "../../../../lib/tools/builtin/search/terms.ts";

describe("requiredText()", () => {
  test("is the longest plain text that every match must contain", () => {
    const cases: Readonly<Record<string, string>> = {
      "readFile\\w+\\(": "readFile",
      "import .* from": "import ",
      "foo\\.bar": "foo.bar",
      "colou?r": "colo",
      "ab{2,3}cde": "cde",
      "(get|set)Name": "Name",
      "[a-z]]xyz": "]xyz",
      "^\\s*return$": "return",
      "x+yz": "yz",
      "a😀b*": "a😀",
    };
    for (const [pattern, text] of Object.entries(cases)) expect([pattern, requiredText(pattern)]).toEqual([pattern, text]);
  });

  test("is nothing where nothing is certain", () => {
    for (
      const pattern of [
        "a|b",
        "(?i)abc",
        "abc(?i:d)",
        "\\x41bc",
        "\\pLbc",
        "\\p{Greek}bc",
        "\\Qa|b\\E",
        "\\101bc",
        "(abc",
        "[abc",
        "",
        "a*",
      ]
    ) {
      expect([pattern, requiredText(pattern)]).toEqual([pattern, ""]);
    }
  });

  test("is in every line that the engine matches, whatever the pattern", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      "ab",
      "bab",
      ".",
      "\\.",
      "\\d",
      "\\w",
      "[ab]",
      "[^a]",
      "[]a]",
      "(ab)",
      "(a|b)",
      "(b(a))",
      "(?:ab)",
      "^",
      "$",
      "\\b",
      "{",
      "}",
      "\\+",
      "😀",
    );
    const repeat = fc.constantFrom("", "", "", "*", "+", "?", "{0}", "{2}", "{0,1}", "*?", "+?", "|");
    const pattern = fc.array(fc.tuple(atom, repeat), { minLength: 1, maxLength: 7 }).map((parts) => parts.flat().join(""));
    const line = fc.array(fc.constantFrom("a", "b", "ab", "1", ".", "+", "{", "}", "😀", " "), { maxLength: 12 }).map((parts) =>
      parts.join("")
    );
    let matched = 0;
    fc.assert(
      fc.property(pattern, fc.array(line, { minLength: 20, maxLength: 20 }), (source, lines) => {
        const expression = compiled(source);
        if (expression === null) return;
        const required = requiredText(source);
        for (const each of lines) {
          if (!expression.test(each)) continue;
          if (required !== "") matched++;
          expect([source, each, each.includes(required)]).toEqual([source, each, true]);
        }
      }),
      { seed: 4, numRuns: 1500 },
    );
    expect(matched).toBeGreaterThan(100);
  });
});

function compiled(source: string): RE2JS | null {
  try {
    return RE2JS.compile(source);
  } catch {
    // Some of the patterns made here are none.
    return null;
  }
}

describe("terms", () => {
  test("of a literal know a word of its own, also at its edges that are no letters", () => {
    const terms = literalTerms("cart", false);
    expect(["the cart.", "cartoon", "scart cart", "CART"].map((line) => terms.isWord(line))).toEqual([true, false, true, false]);
    expect(literalTerms("$cart", false).isWord("x$cart;")).toBe(true);
    expect(literalTerms("cart", true).isWord("CART")).toBe(true);
  });

  test("give no text to look for where engines may disagree about letters", () => {
    expect(literalTerms("needle", true).needle).toEqual({ text: "needle", ignore_case: true });
    expect(literalTerms("straße", true).needle).toBeNull();
    expect(literalTerms("straße", false).needle).toEqual({ text: "straße", ignore_case: false });
    expect(literalTerms("a\uFFFD", false).needle).toBeNull();
  });

  test("look at less of a line the larger the pattern is", async () => {
    const [small, large] = [await patternTerms("ab", false), await patternTerms("(x?){900}", false)];
    expect(small.longest_line).toBe(100_000);
    expect(large.longest_line).toBeLessThan(20_000);
  });
});
