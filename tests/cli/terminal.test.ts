import { describe, expect, test } from "bun:test";
import { wrap } from "../../cli/terminal.ts";

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
