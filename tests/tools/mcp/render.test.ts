import { describe, expect, test } from "bun:test";
import { renderResult, RESULT_BYTES } from "../../../lib/tools/mcp/render.ts";

const shown = (...content: unknown[]) => renderResult("t", { content }).text;

describe("renderResult()", () => {
  test("leaves small text as it is", () => {
    expect(renderResult("t", { content: [{ type: "text", text: " a\r\n\u2028b " }] })).toEqual({ is_error: false, text: " a\r\n\u2028b " });
  });

  test("names what text cannot carry, and says that it is left out", () => {
    const data = Buffer.from("12345").toString("base64");
    expect(shown({ type: "image", mimeType: "image/png", data })).toBe("[image left out: image/png, 5 bytes]");
    expect(shown({ type: "audio", mimeType: "audio/wav", data })).toBe("[audio left out: audio/wav, 5 bytes]");
    expect(shown({ type: "resource", resource: { uri: "file:///x", mimeType: "a/b", blob: data } })).toBe(
      "[resource file:///x (a/b) left out: 5 bytes that are not text]",
    );
    expect(shown({ type: "resource", resource: { uri: "file:///x", text: "inside" } })).toBe("[resource file:///x]\ninside");
    expect(shown({ type: "resource_link", uri: "file:///x", name: "X", size: 7, description: "it" })).toBe(
      "[link to X at file:///x (7 bytes); not fetched: it]",
    );
    expect(shown({ type: "video", data })).toBe("[content of the unknown type video left out]");
  });

  test("cannot be made to throw by what a server leaves out", () => {
    const odd = [null, 5, "x", {}, { type: "text" }, { type: "image" }, { type: "resource" }, { type: "resource", resource: 5 }, {
      type: "resource_link",
    }, { type: {} }];
    expect(shown(...odd).split("\n")).toHaveLength(odd.length);
  });

  test("shows structured content if nothing else is said, and gives it as data", () => {
    expect(renderResult("t", { structuredContent: { a: 1 } })).toEqual({ is_error: false, text: '{"a":1}', data: { a: 1 } });
    expect(renderResult("t", { content: [{ type: "text", text: "one" }], structuredContent: { a: 1 } })).toEqual({
      is_error: false,
      text: "one",
      data: { a: 1 },
    });
  });

  test("cuts the middle out of what is too long, at characters, and tells the whole size", () => {
    const { text, whole_bytes } = renderResult("t", { content: [{ type: "text", text: "é".repeat(RESULT_BYTES) }] });
    expect(whole_bytes).toBe(2 * RESULT_BYTES);
    expect(Buffer.byteLength(text)).toBeLessThan(RESULT_BYTES + 100);
    expect(text).toMatch(/^é+\n\[… \d+ bytes omitted …\]\né+$/);
  });

  test("leaves out data that is larger than a result may be", () => {
    expect(renderResult("t", { content: [], structuredContent: "x".repeat(RESULT_BYTES) })).not.toHaveProperty("data");
  });

  test("says of an error that it is one, and of what cannot be read too", () => {
    expect(renderResult("t", { content: [{ type: "text", text: "no" }], isError: true })).toEqual({ is_error: true, text: "no" });
    expect(renderResult("t", { content: "text" }).is_error).toBe(true);
  });

  test("gives well-formed text whatever it gets", () => {
    expect(shown({ type: "text", text: "\ud800" }).isWellFormed()).toBe(true);
  });

  test("counts contents beyond the thousandth", () => {
    expect(shown(...Array.from({ length: 1003 }, () => ({ type: "text", text: "x" })))).toMatch(/\n\[3 more contents left out\]$/);
  });
});
