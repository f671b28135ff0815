import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { excerpt, wrap } from "../../cli/terminal.ts";
import { widthOf } from "../../cli/width.ts";

describe("wrap()", () => {
  test("breaks between words and keeps every one of them", () => {
    const text = "run orrery trust to let these run: a, b and c";
    const lines = wrap(text, 12);
    expect(lines.every((line) => [...line].length <= 12)).toBe(true);
    expect(lines.join(" ")).toBe(text);
  });

  test("leaves a word that is too long whole, so that it can be copied", () => {
    expect(wrap("see /a/very/long/path/to/a/file.toml there", 12)).toEqual(["see", "/a/very/long/path/to/a/file.toml", "there"]);
  });

  test("counts columns and not code units, and lets no control character through", () => {
    expect(wrap("\u{1f600}\u{1f600} \u{1f600}", 7)).toEqual(["\u{1f600}\u{1f600} \u{1f600}"]);
    expect(wrap("\u{1f600}\u{1f600} \u{1f600}", 6)).toEqual(["\u{1f600}\u{1f600}", "\u{1f600}"]);
    expect(wrap("e\u0301e\u0301 e\u0301", 4)).toEqual(["e\u0301e\u0301 e\u0301"]);
    expect(wrap("a\u001b[2Jb\r\nc", 80)).toEqual(["a\ufffd[2Jb c"]);
  });

  test("gives no line for nothing", () => {
    expect(wrap(" \n ", 40)).toEqual([]);
  });
});

describe("excerpt()", () => {
  test("keeps the columns of a table and the indentation of a file", () => {
    const table = "NAME      READY\nweb       1/1\n";
    expect(excerpt(table, 40, 6)).toEqual(["NAME      READY", "web       1/1"]);
    expect(excerpt("a:\r\n  - b\r\n\r\n    c: 1  \r\n", 40, 6)).toEqual(["a:", "  - b", "", "    c: 1"]);
  });

  test("shows tabs as the spaces up to the next stop, also behind wide characters", () => {
    expect(excerpt("\ta\tb\n1234567\tc\n12345678\td\n日本\te\ne\u0301\tf", 40, 6)).toEqual([
      "        a       b",
      "1234567 c",
      "12345678        d",
      "日本    e",
      "e\u0301       f",
    ]);
  });

  test("counts the lines that are left out", () => {
    expect(excerpt("1\n2\n3", 40, 2)).toEqual(["1", "2", "… 1 more line"]);
    expect(excerpt("1\n2\n3\n4", 40, 2)).toEqual(["1", "2", "… 2 more lines"]);
  });

  test("gives lines that fit and that no terminal obeys, whatever the text is", () => {
    const unit = fc.constantFrom(
      "a",
      " ",
      "\t",
      "\n",
      "\r",
      "\u001b[2J",
      "\u0007",
      "\u009b",
      "\u202e",
      "\u2028",
      "\v",
      "日",
      "😀",
      "e\u0301",
      "\u00a0",
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), fc.integer({ min: 1, max: 30 }), (text, width) => {
        for (const line of excerpt(text, width, 100)) {
          expect(widthOf(line)).toBeLessThanOrEqual(width);
          expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
        }
      }),
      { seed: 41, numRuns: 1000 },
    );
  });

  test("cuts a line that is endless", () => {
    expect(excerpt("\t".repeat(1_000_000) + "x", 20, 6)).toEqual([`${" ".repeat(19)}…`]);
    expect(excerpt(`a\t${"x".repeat(1_000_000)}`, 12, 6)).toEqual(["a       xxx…"]);
  });
});
