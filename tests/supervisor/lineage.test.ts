import { expect, test } from "bun:test";
import { carries, entryOfAnyRuntime, extendLineage, tagEnvironment, withoutHostSwitches } from "../../lib/supervisor/lineage.ts";

test("a call's lineage ends with its own entry", () => {
  expect(extendLineage("", undefined, "rt", "c1")).toEqual({ value: "rt/c1", entry: "rt/c1" });
  expect(extendLineage("outer/c0", undefined, "rt", "c1").value).toBe("outer/c0:rt/c1");
});

test("what the caller passes can extend the lineage, not drop it", () => {
  expect(extendLineage("outer/c0", "outer/c0:middle/c9", "rt", "c1").value).toBe("outer/c0:middle/c9:rt/c1");
  expect(extendLineage("outer/c0", "", "rt", "c1").value).toBe("outer/c0:rt/c1");
  expect(extendLineage("outer/c0", "outer/c01", "rt", "c1").value).toBe("outer/c0:rt/c1");
});

test("an entry is found as a whole, never as a part of another", () => {
  expect(carries("a/1:b/2:c/3", "b/2")).toBe(true);
  expect(carries("a/1:b/2", "b/2")).toBe(true);
  expect(carries("a/1:b/22", "b/2")).toBe(false);
  expect(carries("a/1:bb/2", "b/2")).toBe(false);
  expect(carries("", "b/2")).toBe(false);
});

test("a call of an unknown runtime is found by its own id, as a whole", () => {
  expect(carries("a/1:b/2:c/3", entryOfAnyRuntime("2"))).toBe(true);
  expect(carries("a/1:b/22", entryOfAnyRuntime("2"))).toBe(false);
  expect(carries("a/12", entryOfAnyRuntime("2"))).toBe(false);
});

test("a child gets its tags, and what was set for it alone", () => {
  const env = { A: "1", BUN_OPTIONS: "--x", BUN_BE_BUN: "1" };
  const tags = { ORRERY_LINEAGE: "rt/c1", ORRERY_SESSION: "s", ORRERY_CALL: "c1" };
  expect(tagEnvironment(env, { lineage: "rt/c1", session: "s", call: "c1" })).toEqual({ ...env, ...tags });
  expect(withoutHostSwitches(env)).toEqual({ A: "1" });
});
