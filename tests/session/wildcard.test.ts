import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matchesWildcard } from "../../lib/session/wildcard.ts";

describe("matchesWildcard()", () => {
  const names = ["mcp__github__x", "notmcp__github__x", "mcp__aXb__t", "mcp__a.b__t", "task_assign"];
  const table: readonly (readonly [string, readonly string[]])[] = [
    ["mcp__github__*", ["mcp__github__x"]],
    ["mcp__github", []],
    ["*", names],
    ["", []],
    ["task_assign", ["task_assign"]],
    ["Task_Assign", []],
    ["mcp__a.b__*", ["mcp__a.b__t"]],
    ["[ab]*", []],
    ["task_*|bash", []],
    ["*github*", ["mcp__github__x", "notmcp__github__x"]],
    ["*__*__x", ["mcp__github__x", "notmcp__github__x"]],
    ["task_assig?", []],
  ];

  for (const [pattern, matched] of table) {
    test(`${JSON.stringify(pattern)} fits exactly ${matched.length} of the names`, () => {
      expect(names.filter((name) => matchesWildcard(pattern, name))).toEqual([...matched]);
    });
  }

  test("agrees with an anchored regular expression", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "*", ".", "("), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom("a", "b", ".", "(", "*"), maxLength: 8 });
    fc.assert(
      fc.property(word, text, (pattern, name) => {
        const oracle = new RegExp(`^${pattern.split("*").map((part) => part.replaceAll(/[.(]/g, "\\$&")).join("[^]*")}$`);
        return matchesWildcard(pattern, name) === oracle.test(name);
      }),
      { seed: 9, numRuns: 2000 },
    );
  });

  test("stays quick on what makes backtracking slow", () => {
    expect(matchesWildcard(`${"a*".repeat(500)}b`, "a".repeat(5000))).toBe(false);
  }, 2000);
});
