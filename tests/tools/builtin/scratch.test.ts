import { describe, expect, test } from "bun:test";
import { openBoard } from "./session-state.ts";

describe("the scratch state", () => {
  test("keeps a text under a key, replaces it, lists and forgets it", async () => {
    const board = openBoard();
    expect((await board.call("list_state")).text).toBe("Nothing is saved.");
    expect((await board.call("save_state", { key: "plan.v1", content: "één" })).text).toBe('Saved "plan.v1" (5 bytes).');
    await board.call("save_state", { key: "a_b-c", content: "" });
    await board.call("save_state", { key: "plan.v1", content: "two" });
    expect((await board.call("get_state", { key: "plan.v1" })).text).toBe("two");
    expect((await board.call("get_state", { key: "a_b-c" })).text).toBe("(the text is empty)");
    expect((await board.call("list_state")).text).toBe("a_b-c (0 bytes)\nplan.v1 (3 bytes)");
    expect((await board.call("delete_state", { key: "plan.v1" })).is_error).toBe(false);
    expect(board.scratch()).toEqual({ "a_b-c": "" });
    expect((await board.call("get_state", { key: "plan.v1" })).text).toBe('Nothing is saved under "plan.v1". There are a_b-c.');
    expect((await board.call("delete_state", { key: "plan.v1" })).is_error).toBe(true);
  });

  test("takes only keys of letters, digits, dots, underscores and hyphens, up to 128", async () => {
    const board = openBoard();
    for (const key of ["", "a b", "a/b", "é", "a\n", "k".repeat(129)]) {
      expect((await board.call("save_state", { key, content: "x" })).is_error).toBe(true);
    }
    expect((await board.call("save_state", { key: "k".repeat(128), content: "x" })).is_error).toBe(false);
  });

  test("keeps keys that mean something to JavaScript like all others", async () => {
    const board = openBoard();
    for (const key of ["__proto__", "constructor", "toString"]) {
      expect((await board.call("get_state", { key })).is_error).toBe(true);
      await board.call("save_state", { key, content: `of ${key}` });
      expect((await board.call("get_state", { key })).text).toBe(`of ${key}`);
      await board.call("delete_state", { key });
      expect((await board.call("get_state", { key })).is_error).toBe(true);
    }
  });

  test("gives a long text in parts that together are the whole, and cuts no character", async () => {
    const board = openBoard();
    const content = "a😀".repeat(25_000);
    await board.call("save_state", { key: "long", content });
    const first = await board.call("get_state", { key: "long" });
    expect(first.text.endsWith("\n(characters 0 to 30720 of 50000; continue with offset 30720)")).toBe(true);
    expect(first.data).toEqual({ key: "long", offset: 0, characters: 30_720, total: 50_000, truncated: true });
    const second = await board.call("get_state", { key: "long", offset: 30_720 });
    expect(first.text.split("\n")[0] + second.text).toBe(content);
    expect((await board.call("get_state", { key: "long", offset: 1, limit: 1 })).text.split("\n")[0]).toBe("😀");
    expect((await board.call("get_state", { key: "long", offset: 50_000 })).text).toContain("past its end");
  });

  test("holds 1 MiB under a key, 256 keys and 8 MiB in all, and says which limit was met", async () => {
    const board = openBoard();
    const mebibyte = "x".repeat(1024 * 1024);
    expect((await board.call("save_state", { key: "big", content: `${mebibyte}x` })).text).toContain("at most 1048576");
    expect((await board.call("save_state", { key: "half", content: "\ud800" })).text).toContain("surrogate");
    for (let index = 0; index < 7; index++) {
      expect((await board.call("save_state", { key: `big${index}`, content: mebibyte })).is_error).toBe(false);
    }
    expect((await board.call("save_state", { key: "big7", content: mebibyte })).text).toContain("8388608 bytes can be kept in all");
    const many = openBoard();
    for (let index = 0; index < 256; index++) await many.call("save_state", { key: `k${index}`, content: "x" });
    expect((await many.call("save_state", { key: "k256", content: "x" })).text).toContain("256 keys");
    expect((await many.call("save_state", { key: "k0", content: "y" })).is_error).toBe(false);
  });
});
