import { describe, expect, test } from "bun:test";
import type { Origin } from "../../lib/session/event.ts";
import { builtinTools } from "../../lib/tools/builtin/tools.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { type Candidate, createToolbox, type Family } from "../../lib/tools/toolbox.ts";

function tool(name: string, origin: Origin): Tool {
  return {
    name,
    description: `${name} of ${origin.scope}`,
    input_schema: { type: "object", properties: {} },
    origin,
    digest: "0".repeat(64),
    read_only: false,
    speculation_safe: false,
    approval: "never",
    check: () => [],
    plan: () => ({ kind: "unable", problem: "not in this test" }),
    read: () => ({ result: { is_error: false, text: "" } }),
  };
}

function candidate(name: string, scope: Origin["scope"], family: Family, untrusted?: string): Candidate {
  const system = family === "nanocoder" ? "nanocoder" : scope === "builtin" ? "builtin" : "stella";
  const path = `/${scope}/${family}/${name}`;
  return { kind: "tool", tool: tool(name, { system, scope, path }), family, ...(untrusted === undefined ? {} : { untrusted }) };
}

describe("a toolbox", () => {
  test("gives one name to one owner: workspace, user, built-in; then orrery, stella, nanocoder", () => {
    const candidates = (["builtin", "user", "workspace"] as const).flatMap((scope) =>
      (["nanocoder", "stella", "orrery"] as const).map((family) => candidate("aa", scope, family))
    );
    const box = createToolbox(candidates);
    expect(box.listings.map(({ status, origin }) => `${status} ${origin.path}`)).toEqual([
      "offered /workspace/orrery/aa",
      "shadowed /workspace/stella/aa",
      "shadowed /workspace/nanocoder/aa",
      "shadowed /user/orrery/aa",
      "shadowed /user/stella/aa",
      "shadowed /user/nanocoder/aa",
      "shadowed /builtin/orrery/aa",
      "shadowed /builtin/stella/aa",
      "shadowed /builtin/nanocoder/aa",
    ]);
    expect(box.find("aa")?.origin.path).toBe("/workspace/orrery/aa");
    expect(box.listings[1]?.reason).toBe('"aa" is taken by /workspace/orrery/aa');
    expect(box.listings[0]?.shadows?.length).toBe(8);
  });

  test("does not depend on the order of its candidates", () => {
    const candidates = [
      candidate("aa", "user", "stella"),
      candidate("aa", "workspace", "nanocoder"),
      candidate("bb", "workspace", "stella"),
    ];
    expect(createToolbox([...candidates].reverse()).listings).toEqual(createToolbox(candidates).listings);
  });

  test("says of a file that gave no name, and is called like the one that is asked for, why it is none", () => {
    const origin = { system: "nanocoder", scope: "workspace", path: "/ws/.nanocoder/tools/Big-one.md" } as const;
    const lost: Candidate = { kind: "broken", name: null, description: null, origin, family: "nanocoder", reason: "It is too long" };
    const box = createToolbox([lost, candidate("other", "workspace", "stella")]);
    const reason = `There is no tool named "big_one", as ${origin.path} is broken: It is too long`;
    expect(box.whyNot("big_one")).toEqual({ by: "unknown_tool", reason });
    expect([box.whyNot("big"), box.whyNot(""), box.whyNot("other")]).toEqual([undefined, undefined, undefined]);
    expect(createToolbox([lost, candidate("big_one", "workspace", "stella")]).whyNot("big_one")).toBeUndefined();
  });

  test("offers and declares by name, so that a prompt begins alike every time", () => {
    const box = createToolbox(["cc", "aa", "bb"].map((name) => candidate(name, "user", "stella")));
    expect(box.offered.map(({ name }) => name)).toEqual(["aa", "bb", "cc"]);
    expect(box.declarations().map(({ name }) => name)).toEqual(["aa", "bb", "cc"]);
    expect(box.recorded()[0]).toEqual({
      name: "aa",
      origin: { system: "stella", scope: "user", path: "/user/stella/aa" },
      digest: "0".repeat(64),
      description: "aa of user",
      input_schema: { type: "object", properties: {} },
      read_only: false,
      speculation_safe: false,
    });
  });

  test("lets an untrusted or broken copy shadow nothing, and lists it with its reason", () => {
    const broken: Candidate = {
      kind: "broken",
      name: "aa",
      description: null,
      origin: { system: "stella", scope: "workspace", path: "/b" },
      family: "orrery",
      reason: "no command",
    };
    const box = createToolbox([broken, candidate("aa", "workspace", "stella", "not trusted"), candidate("aa", "user", "stella")]);
    expect(box.listings.map(({ status, reason }) => [status, reason])).toEqual([
      ["broken", "no command"],
      ["untrusted", "not trusted"],
      ["offered", undefined],
    ]);
    expect(box.find("aa")?.origin.scope).toBe("user");
    expect(box.notices.map(({ level, code }) => [level, code])).toEqual([["error", "tool_broken"], ["warning", "tool_untrusted"]]);
    expect(box.whyNot("aa")).toBeUndefined();
  });

  test("says why a known tool may not be called, but not that one is switched off", () => {
    const broken: Candidate = {
      kind: "broken",
      name: "bad",
      description: "x",
      origin: { system: "stella", scope: "user", path: "/bad" },
      family: "stella",
      reason: "no command",
    };
    const candidates = [candidate("inert", "workspace", "stella", "run orrery trust"), broken, candidate("quiet", "user", "stella")];
    const box = createToolbox(candidates, { switchedOff: ({ name }) => name === "quiet" ? 'tools."quiet" is off' : null });
    expect(box.whyNot("inert")).toEqual({ by: "trust", reason: '"inert" is not active: run orrery trust. It was not run.' });
    expect(box.whyNot("bad")?.reason).toContain("no command");
    expect(box.whyNot("quiet")).toBeUndefined();
    expect(box.find("quiet")).toBeUndefined();
    expect(box.listings.find(({ name }) => name === "quiet")).toMatchObject({ status: "off", reason: 'tools."quiet" is off' });
    expect(box.whyNot("nothing")).toBeUndefined();
  });

  test("says which files may have a tool that is not there: those that were not run, or could not be read", () => {
    const file = (kind: "broken" | "untrusted", path: string, reason: string): Candidate => {
      const rest = { origin: { system: "sdk", scope: "workspace", path }, family: "orrery", reason } as const;
      return kind === "broken" ? { kind, name: null, description: null, ...rest } : { kind, ...rest };
    };
    const known = candidate("aa", "workspace", "stella", "nobody trusts it");
    expect(createToolbox([known, candidate("bb", "user", "stella")]).unread()).toBeNull();
    const untrusted = ["/w/a.ts", "/w/b.py"].map((path) => file("untrusted", path, "run orrery trust"));
    const broken = [
      file("broken", "/w/c.md", "it is too long."),
      file("broken", "/w/d.ts", 'line 1, column 8: Cannot find "./gone.js". Correct the file. line 2: And more.'),
    ];
    expect(createToolbox([known, ...untrusted, ...broken]).unread()).toBe([
      "It may be in a file whose tools are not known:",
      "- /w/a.ts, /w/b.py: run orrery trust",
      "- /w/c.md: it is too long",
      '- /w/d.ts: line 1, column 8: Cannot find "./gone.js"',
    ].join("\n"));
    const many = Array.from({ length: 7 }, (_, index) => file("broken", `/w/${index}.ts`, "x".repeat(5000)));
    const cut = createToolbox(many).unread() ?? "";
    expect([cut.length < 500, cut.endsWith("\n- and 2 more")]).toEqual([true, true]);
    const each = createToolbox(Array.from({ length: 7 }, (_, index) => file("broken", `/w/${index}.ts`, `${index} ${"y".repeat(5000)}`)));
    expect(each.unread()?.split("\n").map((line) => line.length < 250)).toEqual(Array.from({ length: 7 }, () => true));
  });

  test("suggests the offered names that are close (case 42)", () => {
    const candidates = [
      ...builtinTools().map((builtin): Candidate => ({ kind: "tool", tool: builtin, family: "other" })),
      candidate("wordcount", "workspace", "stella"),
    ];
    const box = createToolbox(candidates);
    expect(box.closest("word_count")[0]).toBe("wordcount");
    expect(box.closest("read_fil")[0]).toBe("read_file");
    expect(box.closest("ReadFile")[0]).toBe("read_file");
    expect(box.closest("nothing_like_it")).toEqual([]);
    expect(box.closest("x".repeat(1_000_000))).toEqual([]);
  });

  test("keeps files without a name at the end of the list", () => {
    const nameless: Candidate = {
      kind: "broken",
      name: null,
      description: null,
      origin: { system: "stella", scope: "workspace", path: "/x.toml" },
      family: "stella",
      reason: "Not valid TOML",
    };
    const box = createToolbox([nameless, candidate("aa", "user", "stella")]);
    expect(box.listings.map(({ name }) => name)).toEqual(["aa", null]);
    expect(box.notices[0]?.text).toBe("The tool /x.toml cannot be used: Not valid TOML");
  });
});
