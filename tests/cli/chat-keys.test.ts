/** What a terminal sends for keys, taken apart. */
import { expect, test } from "bun:test";
import { KeyReader } from "../../cli/chat/keys.ts";

const read = (...chunks: readonly string[]) => {
  const reader = new KeyReader();
  return chunks.flatMap((chunk) => reader.read(chunk)).map(({ text, typed }) => typed ? { typed: text } : text);
};

test("letters that come at once are one token, and every key is one of its own", () => {
  expect(read("ab\x1b[D漢🎉\r\x1b[1;5C\x1bOA\x1bf\x7f\x7fc")).toEqual([
    { typed: "ab" },
    "\x1b[D",
    { typed: "漢🎉" },
    "\r",
    "\x1b[1;5C",
    "\x1bOA",
    "\x1bf",
    "\x7f",
    "\x7f",
    { typed: "c" },
  ]);
});

test("what comes after a sequence that was cut off is no text", () => {
  expect(read("a\x1b", "[Db")).toEqual([{ typed: "a" }, "\x1b", "[Db"]);
  expect(read("\x1b[1;", "5C", "b")).toEqual(["\x1b[1;", "5C", { typed: "b" }]);
  expect(read("\x1bO", "A")).toEqual(["\x1bO", "A"]);
});
