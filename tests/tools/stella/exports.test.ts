import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalText } from "../../../lib/session/json.ts";
import { composeEnvironment } from "../../../lib/tools/stella/environment.ts";
import { EXPORT_PREFIX, exportInputs, MAX_EXPORTED_BYTES, MAX_VARIABLE_BYTES } from "../../../lib/tools/stella/exports.ts";

describe("exports", () => {
  test("are the top-level strings, numbers and booleans, upper-cased with everything else as an underscore", () => {
    const { made, withheld } = exportInputs('{"path":"a b","n":3,"ok":false,"dry-run":true,"a.b c":"","é":"x"}');
    expect(made).toEqual({
      STELLA_INPUT_PATH: "a b",
      STELLA_INPUT_N: "3",
      STELLA_INPUT_OK: "false",
      STELLA_INPUT_DRY_RUN: "true",
      STELLA_INPUT_A_B_C: "",
      STELLA_INPUT__: "x",
    });
    expect(withheld).toEqual([]);
  });

  test("are none of an input with more than 10,000 keys, and all of one with as many", () => {
    const input = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1])));
    const { made, withheld } = exportInputs(input(10_001));
    expect([made, withheld]).toEqual([{}, [{ name: "STELLA_INPUT_*", reason: "the input has 10001 keys, and 10000 may be exported" }]]);
    expect(Object.keys(exportInputs(input(10_000)).made).length).toBeGreaterThan(1000);
  });

  test("keep the text of numbers as the model wrote it", () => {
    const { made } = exportInputs('{"a":3.0,"b":9007199254740993,"c":1e400,"d":-0,"e":1E+2}');
    expect(Object.values(made)).toEqual(["3.0", "9007199254740993", "1e400", "-0", "1E+2"]);
  });

  test("give a camelCase key its words apart too, if that name is free", () => {
    expect(exportInputs('{"dryRun":true,"parseHTMLPage":1}').made).toEqual({
      STELLA_INPUT_DRYRUN: "true",
      STELLA_INPUT_DRY_RUN: "true",
      STELLA_INPUT_PARSEHTMLPAGE: "1",
      STELLA_INPUT_PARSE_HTML_PAGE: "1",
    });
    expect(exportInputs('{"dryRun":true,"dry_run":false}').made).toEqual({ STELLA_INPUT_DRYRUN: "true", STELLA_INPUT_DRY_RUN: "false" });
    expect(exportInputs('{"dryRun":true,"dry_run":null}').made).toEqual({ STELLA_INPUT_DRYRUN: "true" });
    expect(exportInputs('{"dryRun":1}', new Set(["STELLA_INPUT_DRY_RUN"])).made).toEqual({ STELLA_INPUT_DRYRUN: "1" });
  });

  test("leave out, with the reason, what cannot be a variable", () => {
    const { made, withheld } = exportInputs('{"a":null,"b":[1],"c":{"d":1},"e":"x\\u0000y","f":"\\ud800","":"x","n":1}');
    expect(made).toEqual({ STELLA_INPUT_N: "1" });
    expect(withheld.map(({ name }) => name)).toEqual([
      "STELLA_INPUT_",
      "STELLA_INPUT_A",
      "STELLA_INPUT_B",
      "STELLA_INPUT_C",
      "STELLA_INPUT_E",
      "STELLA_INPUT_F",
    ]);
    expect(withheld.find(({ name }) => name === "STELLA_INPUT_E")?.reason).toContain("NUL");
  });

  test("of keys that give one name are none of them made, and the record names the keys", () => {
    const { made, withheld } = exportInputs('{"dry-run":1,"dry_run":2,"DRY_RUN":3,"x":4}');
    expect(made).toEqual({ STELLA_INPUT_X: "4" });
    expect(withheld).toEqual([{ name: "STELLA_INPUT_DRY_RUN", reason: '3 keys give this name: "DRY_RUN", "dry-run", "dry_run"' }]);
  });

  test("never replace a variable that the manifest sets", () => {
    const { made, withheld } = exportInputs('{"path":"x"}', new Set(["STELLA_INPUT_PATH"]));
    expect(made).toEqual({});
    expect(withheld[0]?.reason).toContain("[env]");
  });

  test("leave out a value that is too long, and keep the others (case 21)", () => {
    const { made, withheld } = exportInputs(JSON.stringify({ content: "a".repeat(200_000), path: "x" }));
    expect(made).toEqual({ STELLA_INPUT_PATH: "x" });
    expect(withheld).toEqual([{ name: "STELLA_INPUT_CONTENT", reason: expect.stringContaining(`${MAX_VARIABLE_BYTES}`) }]);
  });

  test("stay within their budget together, and the record stays short (case 21)", () => {
    const input = JSON.stringify(Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`key_${index}`, "x".repeat(1024)])));
    const { made, withheld } = exportInputs(input);
    const bytes = Object.entries(made).reduce((sum, [name, value]) => sum + name.length + value.length + 2, 0);
    expect(bytes).toBeLessThan(MAX_EXPORTED_BYTES);
    expect(Object.keys(made).length).toBeGreaterThan(200);
    expect(withheld.length).toBe(65);
    expect(withheld.at(-1)?.reason).toBe(`and ${3000 - Object.keys(made).length - 64} more`);
  });

  test("never leave their prefix, and do not depend on the order of keys", () => {
    const key = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.constantFrom("dryRun", "dry_run", "dry-run", "DRYRUN", "__proto__", "PATH", "a", "A"),
    );
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.constant([1]),
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 12 }),
        fc.infiniteStream(fc.nat()),
        (members, order) => {
          const text = (entries: typeof members) =>
            `{${entries.map(([name, part]) => `${JSON.stringify(name)}:${JSON.stringify(part)}`).join(",")}}`;
          const shuffled = members.map((member) => ({ member, at: order.next().value ?? 0 })).sort((left, right) => left.at - right.at).map(
            ({ member }) => member,
          );
          const exported = exportInputs(text(members));
          expect(exportInputs(text(shuffled))).toEqual(exported);
          expect(exportInputs(canonicalText(text(members)))).toEqual(exported);
          for (const name of Object.keys(exported.made)) expect(name).toMatch(/^STELLA_INPUT_[A-Z0-9_]+$/);
        },
      ),
      { numRuns: 1500, seed: 5 },
    );
  });
});

describe("a script's environment", () => {
  test("is the inherited one, then [env], then the exports; foreign inputs and host switches are gone", () => {
    const inherited = {
      PATH: "/bin",
      LANG: "C",
      STELLA_INPUT_OLD: "x",
      BUN_OPTIONS: "--x",
      BUN_BE_BUN: "1",
      GH_TOKEN: "t",
      SSH_AUTH_SOCK: "/s",
    };
    const { env } = composeEnvironment(inherited, { LANG: "en_US", EXTRA: "1" }, '{"path":"p","PATH":"evil"}');
    expect(env).toEqual({ PATH: "/bin", LANG: "en_US", EXTRA: "1", GH_TOKEN: "t", SSH_AUTH_SOCK: "/s" });
    expect(composeEnvironment(inherited, {}, '{"PATH":"evil"}').env).toMatchObject({ PATH: "/bin", [`${EXPORT_PREFIX}PATH`]: "evil" });
  });
});
