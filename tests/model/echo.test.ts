import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { Echo } from "../../lib/model/echo.ts";

test("a text that comes again in other pieces tells what is new of it", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.string({ unit: "grapheme" })), (first, more) => {
      const echo = new Echo();
      expect(first.map((piece) => echo.rest(piece)).join("")).toBe(first.join(""));
      echo.restart();
      const again = [...first.join(""), ...more];
      expect(again.map((piece) => echo.rest(piece)).join("")).toBe(more.join(""));
    }),
    { seed: 20261129, numRuns: 200 },
  );
});

test("a text that comes again differently tells all from there on, in whole characters", () => {
  const echo = new Echo();
  echo.rest("one 😀 two");
  echo.restart();
  expect([echo.rest("one "), echo.rest("😃 tw"), echo.rest("o three")]).toEqual(["", "😃 tw", "o three"]);
  echo.restart();
  expect([echo.rest("one 😃 two thr"), echo.rest("ee four")]).toEqual(["", " four"]);
});
