import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { aliasOf, assignAliases, type RawName, ruleNameOf, serverNameProblem, toolNameProblem } from "../../../lib/tools/mcp/names.ts";

const RUN = { seed: 20_261_129, numRuns: 500 };
/** Pieces that make names collide: separators, what is cut, what is replaced, what looks like a digest. */
const piece = fc.constantFrom("_", "__", ".", "/", "-", " ", "a", "b", "run", "foo", "é", "x".repeat(70), "_0123456789ab");
const anyName = fc.oneof(
  fc.array(piece, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("")),
  fc.string({ minLength: 1, maxLength: 90 }),
);
const serverName = anyName.filter((name) => serverNameProblem(name) === null);
const toolName = anyName.filter((name) => toolNameProblem(name) === null);
const rawName = fc.record({ server: serverName, tool: toolName });
const pair = (name: RawName) => JSON.stringify([name.server, name.tool]);

describe("rule names", () => {
  test("differ for different pairs of server and tool", () => {
    fc.assert(
      fc.property(rawName, rawName, (left, right) => (ruleNameOf(left) === ruleNameOf(right)) === (pair(left) === pair(right))),
      RUN,
    );
  });
});

describe("aliases", () => {
  test("are what every provider takes, and say that they are of a server", () => {
    fc.assert(fc.property(rawName, (name) => /^mcp__[a-zA-Z0-9_-]{1,59}$/.test(aliasOf(name))), RUN);
  });

  test("differ for different pairs", () => {
    fc.assert(fc.property(rawName, rawName, (left, right) => (aliasOf(left) === aliasOf(right)) === (pair(left) === pair(right))), RUN);
  });

  test("do not depend on what else there is", () => {
    const property = fc.property(fc.uniqueArray(rawName, { selector: pair, maxLength: 20 }), (names) => {
      const { kept, claimed, repeated } = assignAliases(names, (name) => name);
      return kept.length === names.length && claimed.length === 0 && repeated.length === 0;
    });
    fc.assert(property, RUN);
  });

  test("keep a name that fits, and mark one that does not", () => {
    expect(aliasOf({ server: "foo_bar", tool: "run" })).toBe("mcp__foo_bar__run");
    expect(aliasOf({ server: "foo.bar", tool: "run" })).toMatch(/^mcp__foo_bar__run_[0-9a-f]{12}$/);
  });

  test("are the same in every release, since grants and histories name them", () => {
    expect(aliasOf({ server: "foo.bar", tool: "run" })).toBe("mcp__foo_bar__run_4a79c49401fb");
    expect(aliasOf({ server: "files", tool: "git/commit now" })).toBe("mcp__files__git_commit_now_81bc91d6f5c8");
  });

  test("of names that are equal in their first 64 characters differ", () => {
    const long = "a".repeat(80);
    expect(aliasOf({ server: "s", tool: `${long}1` })).not.toBe(aliasOf({ server: "s", tool: `${long}2` }));
  });

  test("show the tool's name beside a server's long one", () => {
    expect(aliasOf({ server: "s".repeat(60), tool: "git_commit" })).toMatch(/^mcp__s+__git_commit_[0-9a-f]{12}$/);
  });

  test("cannot be taken by a tool that is called like one", () => {
    const made = aliasOf({ server: "foo.bar", tool: "run" });
    const impostor = { server: "foo_bar", tool: made.slice("mcp__foo_bar__".length) };
    expect(ruleNameOf(impostor)).toBe(made);
    expect(aliasOf(impostor)).not.toBe(made);
  });
});

describe("assignAliases()", () => {
  const names = [{ server: "a", tool: "x" }, { server: "b", tool: "x" }, { server: "a", tool: "x" }, { server: "a", tool: "y" }];

  test("keeps the first of what one server names twice", () => {
    const { kept, claimed, repeated } = assignAliases(names, (name) => name);
    expect([kept, claimed, repeated]).toEqual([[names[0], names[1], names[3]], [], [names[2]]] as never);
  });

  test("drops every claimant of one alias", () => {
    const { kept, claimed } = assignAliases(names, (name) => name, ({ tool }) => tool);
    expect([kept, claimed]).toEqual([[names[3]], [names[0], names[1]]] as never);
  });
});

describe("serverNameProblem()", () => {
  test("refuses what would make rules ambiguous or invisible", () => {
    const refused = ["", "a__b", "_a", "a_", "a*", " a", "a\n", "a\u202eb", "a\ud800", "a".repeat(129)];
    expect(refused.filter((name) => serverNameProblem(name) === null)).toEqual([]);
  });

  test("takes the names that people give", () => {
    const taken = ["github", "foo.bar", "foo_bar", "My Server", "@scope/name", "a", "größe", "a".repeat(128)];
    expect(taken.filter((name) => serverNameProblem(name) !== null)).toEqual([]);
  });
});
