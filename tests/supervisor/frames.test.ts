import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { LineReader, toFrame } from "../../lib/supervisor/frames.ts";

test("frames come out as they went in, however they were chunked", () => {
  const messages = [{ a: 1 }, { text: "line\nbreak and €" }, { empty: "" }];
  const bytes = Buffer.concat(messages.map((message) => toFrame(message, 1000)));
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new LineReader(1000);
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.push(bytes.subarray(at, at + size)));
    expect(lines.map((line) => JSON.parse(line))).toEqual(messages);
  }
});

test("a line that is too long can be passed over, and what follows it is whole", () => {
  const bytes = Buffer.from(`short\n${"x".repeat(200)}\nnext\n${"y".repeat(51)}`);
  for (const size of [1, 7, 50, bytes.length]) {
    const reader = new LineReader(50, "skip");
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.push(bytes.subarray(at, at + size)));
    expect(lines).toEqual(["short", "next"]);
    expect(reader.push(Buffer.from("yy\nend\n"))).toEqual(["end"]);
  }
});

test("a frame that is too long is refused on both sides", () => {
  expect(() => toFrame({ text: "x".repeat(100) }, 50)).toThrow(RangeError);
  const reader = new LineReader(50);
  reader.push(Buffer.alloc(40));
  expect(() => reader.push(Buffer.alloc(40))).toThrow(RangeError);
});
