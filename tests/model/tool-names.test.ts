import { describe, expect, test } from "bun:test";
import { createToolNames, namesIn } from "../../lib/model/tool-names.ts";

describe("tool names", () => {
  test("that fit stay, others get an alias that fits and leads back", () => {
    const raw = ["read_file", "git/commit now", "x".repeat(80), "été", "", "a.b", "a_b"];
    const names = createToolNames(raw);
    for (const name of raw) {
      expect(names.toWire(name)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(names.fromWire(names.toWire(name))).toBe(name);
    }
    expect(names.toWire("read_file")).toBe("read_file");
    expect(names.fromWire("invented")).toBe("invented");
  });

  test("get distinct aliases that do not depend on what else is offered (case 59)", () => {
    const long = ["a", "b"].map((end) => "t".repeat(79) + end);
    const [one, two] = long.map((name) => createToolNames(long).toWire(name));
    expect(one === two).toBe(false);
    expect(createToolNames([long[1] ?? ""]).toWire(long[1] ?? "")).toBe(two ?? "");
  });

  test("never collide with a tool that has the alias for its name", () => {
    const alias = createToolNames(["a b"]).toWire("a b");
    const names = createToolNames(["a b", alias]);
    expect(names.fromWire(alias)).toBe(alias);
    expect(names.fromWire(names.toWire("a b"))).toBe("a b");
  });

  test("are those of the tools and of the calls that were made", () => {
    const names = namesIn({
      messages: [{ role: "assistant", text: "", calls: [{ id: "c", name: "git/commit now", arguments: "{}" }] }],
      tools: [{ name: "a b", description: "", input_schema: {} }],
    });
    for (const name of ["git/commit now", "a b"]) expect(names.fromWire(names.toWire(name))).toBe(name);
  });
});
