/** What becomes of a result that a tool's own reading did not bound: nothing that the log, a request or a client could not hold. */
import { Buffer } from "node:buffer";
import { describe, expect, test } from "bun:test";
import { readRun } from "../../lib/agent/read-run.ts";
import type { Json } from "../../lib/session/json.ts";
import type { CallResult } from "../../lib/session/outcome.ts";
import { NOTHING_CAPTURED, type Run } from "../../lib/session/launch.ts";
import type { Tool } from "../../lib/tools/tool.ts";

const RUN: Run = { outcome: { kind: "returned" }, stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED, duration_ms: 1, reaped: [] };

function read(give: () => CallResult): CallResult {
  const tool = { name: "forger", read: () => ({ result: give() }) } as unknown as Tool;
  return readRun(tool, RUN, { value: {}, text: "{}" }).result;
}

function nested(levels: number): Json {
  let value: Json = 0;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

describe("what a call's result may be", () => {
  test("text is well-formed and at most 256 KiB, cut where all text is cut", () => {
    expect(read(() => ({ is_error: false, text: "half \ud83d" })).text).toBe("half \ufffd");
    const { text } = read(() => ({ is_error: false, text: "é".repeat(1_000_000) }));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256 * 1024);
    expect(text).toMatch(/^é+\n\[… \d+ bytes omitted …\]\né+$/);
  });

  test("data that is nested deeper than 256 levels is in the text alone, however deep it is", () => {
    expect(read(() => ({ is_error: false, text: "x", data: nested(256) }))).toEqual({ is_error: false, text: "x", data: nested(256) });
    for (const levels of [257, 1_000_000]) {
      expect(Object.keys(read(() => ({ is_error: false, text: "x", data: nested(levels) })))).toEqual(["is_error", "text"]);
    }
  });

  test("data is well-formed, names included, and the same if it was", () => {
    const half = { a: ["\ud800", "x"], "\udfff": { b: null } };
    expect(read(() => ({ is_error: false, text: "x", data: half })).data).toEqual({ a: ["\ufffd", "x"], "\ufffd": { b: null } });
    const whole = { a: ["🦉"], b: [[1]] };
    expect(read(() => ({ is_error: false, text: "x", data: whole })).data).toBe(whole);
  });

  test("a reading that fails is an error that says so", () => {
    const failing = () => {
      throw new RangeError("too much");
    };
    expect(read(failing)).toEqual({ is_error: true, text: 'The result of "forger" could not be read: too much' });
  });
});
