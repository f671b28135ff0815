import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { emptyLayer, type Layer } from "../../lib/config/layer.ts";
import { listConfiguration } from "../../lib/config/listing.ts";
import { type Configuration, mergeSettings } from "../../lib/config/merge.ts";
import { parseSettings } from "../../lib/config/settings-file.ts";
import { createSwitches, type SwitchRule } from "../../lib/gate/switches.ts";

type FileScope = "organisation" | "user" | "project";

function layer(scope: FileScope, settings: object, path = `/${scope}.json`): Layer {
  return parseSettings(JSON.stringify(settings), { path, scope, dialect: "orrery" }, () => null).layer;
}

function given(scope: "environment" | "flag", plain: Readonly<Record<string, unknown>>): Layer {
  return {
    ...emptyLayer(scope),
    plain: Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, { value, source: { scope, key } }])),
  };
}

const merge = (layers: readonly Layer[], trusted = true) =>
  mergeSettings(layers, { trusted, defaults: { speculation: "on", "limits.max_steps": 200 } });

function isOff(configuration: Configuration, name: string, group: "shell" | "file" | "custom" = "shell"): boolean {
  const { organisation, project, merged } = configuration.switches;
  const toRules = (table: Configuration["switches"]["merged"]): readonly SwitchRule[] =>
    table.map(({ key, state, source }) => ({ key, state, where: source.key }));
  const disabled = configuration.disabled_tools.map(({ value }) => ({ name: value, where: "disabledTools" }));
  return createSwitches([...organisation, ...project, merged].map(toRules), disabled).offReason({ name, group }) !== null;
}

describe("mergeSettings()", () => {
  test("takes a plain setting from the most specific layer, whatever order they come in", () => {
    const layers = [
      layer("organisation", { model: "a/o" }),
      layer("user", { model: "a/u" }),
      layer("project", { model: "a/p" }),
      given("environment", { model: "a/e" }),
      given("flag", { model: "a/f" }),
    ];
    for (let count = layers.length; count > 0; count--) {
      const some = layers.slice(0, count);
      const expected = some.at(-1)?.plain.model;
      expect(merge(some).plain.model).toEqual(expected);
      expect(merge(some.toReversed()).plain.model).toEqual(expected);
    }
    expect(merge([]).plain).toEqual({
      speculation: { value: "on", source: { scope: "default", key: "speculation" } },
      "limits.max_steps": { value: 200, source: { scope: "default", key: "limits.max_steps" } },
    });
  });

  test("gives the first of two files of one scope the last word", () => {
    expect(
      merge([layer("project", { model: "a/orrery" }, "/w/.orrery"), layer("project", { model: "a/stella" }, "/w/.stella")]).plain.model
        ?.value,
    ).toBe("a/orrery");
  });

  test("lets nothing lift what the organisation limits or turns off", () => {
    const organisation = layer("organisation", {
      limits: { max_steps: 10 },
      speculation: "off",
      tools: { shell: "off" },
      disabledTools: ["x"],
    });
    const wide = { limits: { max_steps: 99 }, speculation: "on", tools: { bash: "on", x: "on" } };
    const merged = merge([
      organisation,
      layer("user", wide),
      layer("project", wide),
      given("flag", { "limits.max_steps": 50, speculation: "on" }),
    ]);
    expect([merged.plain["limits.max_steps"]?.value, merged.plain.speculation?.value]).toEqual([10, "off"]);
    expect(merged.plain["limits.max_steps"]?.source.scope).toBe("organisation");
    expect([isOff(merged, "bash"), isOff(merged, "x", "custom")]).toEqual([true, true]);
    expect(merge([organisation, given("flag", { "limits.max_steps": 5 })]).plain["limits.max_steps"]?.value).toBe(5);
  });

  test("keeps the organisation's lowest limits apart, for what is asked beside the settings", () => {
    const organisation = (limits: object, path: string) => layer("organisation", { limits }, path);
    const merged = merge([
      organisation({ timeout_s: 9 }, "/a"),
      organisation({ timeout_s: 2, max_steps: 7 }, "/b"),
      layer("user", { limits: { timeout_s: 1, spend_usd: 3 } }),
    ]);
    const values = (leaves: Configuration["plain"]) => [leaves["limits.timeout_s"], leaves["limits.max_steps"], leaves["limits.spend_usd"]];
    expect(values(merged.ceilings).map((leaf) => leaf?.value)).toEqual([2, 7, undefined]);
    expect(values(merged.plain).map((leaf) => leaf?.value)).toEqual([1, 7, 3]);
  });

  test("lets no file of the organisation lift what another one turns off", () => {
    const files = [layer("organisation", { tools: { "*": "off" } }, "/a"), layer("organisation", { tools: { bash: "on" } }, "/b")];
    expect([isOff(merge(files), "bash"), isOff(merge(files.toReversed()), "bash")]).toEqual([true, true]);
  });

  test("lets no file of a project lift what another one turns off, trusted or not", () => {
    const files = [layer("project", { tools: { "*": "off" } }, "/o"), layer("project", { tools: { bash: "on", shell: "on" } }, "/s")];
    for (const trusted of [true, false]) expect(isOff(merge(files, trusted), "bash")).toBe(true);
    expect(isOff(merge(files.slice(1), false), "bash")).toBe(false);
  });

  test("takes an exception from the off of one file only if the project is trusted", () => {
    const project = layer("project", { tools: { file: "off", write_file: "on" } });
    expect([true, false].map((trusted) => isOff(merge([project], trusted), "write_file", "file"))).toEqual([false, true]);
  });

  test("runs the hooks of all scopes, the organisation's first and a project's only if it is trusted", () => {
    const hooks = (command: string) => ({ hooks: { PreToolUse: [{ hooks: [{ command }] }], Stop: [{ hooks: [{ command }] }] } });
    const layers = [
      layer("organisation", hooks("o")),
      layer("user", hooks("u")),
      layer("project", hooks("p")),
      layer("project", hooks("s")),
    ];
    const commands = (list: Configuration["hooks"]) => list.filter(({ event }) => event === "Stop").map(({ command }) => command);
    expect(commands(merge(layers).hooks)).toEqual(["o", "u", "p", "s"]);
    expect(merge(layers).inert_hooks).toEqual([]);
    const untrusted = merge(layers, false);
    expect([commands(untrusted.hooks), commands(untrusted.inert_hooks)]).toEqual([["o", "u"], ["p", "s"]]);
  });

  test("counts what a project denies, trusted or not, and what it grants only if it is trusted", () => {
    const project = layer("project", {
      tools: { bash: "off", write_file: "on" },
      disabledTools: ["y"],
      alwaysAllow: ["z"],
      model: "a/p",
      mode: "yolo",
    });
    const user = layer("user", { tools: { bash: "on", write_file: "off" } });
    const [trusted, untrusted] = [merge([user, project]), merge([user, project], false)];
    expect([isOff(trusted, "bash"), isOff(untrusted, "bash")]).toEqual([true, true]);
    expect([isOff(trusted, "write_file", "file"), isOff(untrusted, "write_file", "file")]).toEqual([false, true]);
    expect([isOff(trusted, "y", "custom"), isOff(untrusted, "y", "custom")]).toEqual([true, true]);
    expect([trusted.always_allow.length, untrusted.always_allow.length]).toEqual([1, 0]);
    expect([trusted.plain.mode?.value, untrusted.plain.mode, untrusted.plain.model]).toEqual(["yolo", undefined, undefined]);
    expect(untrusted.ungranted.map(({ key }) => key)).toEqual(["model", "mode", "tools.write_file", "alwaysAllow"]);
  });

  test("does not let a broad on of a project lift a narrow off of the user", () => {
    expect(isOff(merge([layer("user", { tools: { bash: "off" } }), layer("project", { tools: { "*": "on", shell: "on" } })]), "bash")).toBe(
      true,
    );
  });

  test("never widens anything for a project that is not trusted", () => {
    const state = fc.constantFrom("on", "off");
    const tools = fc.dictionary(fc.constantFrom("bash", "read_file", "x", "shell", "file", "*", "custom"), state, { maxKeys: 4 });
    const settings = fc.record({
      tools,
      alwaysAllow: fc.array(fc.constantFrom("bash", "x")),
      disabledTools: fc.array(fc.constantFrom("bash", "x")),
      hooks: fc.constant({ PreToolUse: [{ hooks: [{ command: "true" }] }] }),
      model: fc.constant("a/b"),
      mode: fc.constantFrom("yolo", "plan"),
      limits: fc.record({ max_steps: fc.integer({ min: 1, max: 500 }) }),
      speculation: state,
    }, { requiredKeys: [] });
    const known = [["bash", "shell"], ["read_file", "file"], ["x", "custom"]] as const;
    fc.assert(
      fc.property(settings, settings, fc.array(settings, { minLength: 1, maxLength: 2 }), (organisation, user, projects) => {
        const own = [layer("organisation", organisation), layer("user", user)];
        const without = merge(own, false);
        const withProject = merge([...own, ...projects.map((each) => layer("project", each))], false);
        expect([withProject.plain, withProject.always_allow, withProject.hooks, withProject.environment, withProject.trust]).toEqual([
          without.plain,
          without.always_allow,
          without.hooks,
          without.environment,
          without.trust,
        ]);
        for (const [name, group] of known) expect(!isOff(without, name, group) || isOff(withProject, name, group)).toBe(true);
        for (const [name, group] of known) {
          expect(
            !isOff(merge([own[0] ?? emptyLayer("organisation")]), name, group) || isOff(
              merge([
                ...own,
                ...projects.map((each) => layer("project", each)),
              ]),
              name,
              group,
            ),
          ).toBe(true);
        }
      }),
      { seed: 21, numRuns: 500 },
    );
  });
});

describe("listConfiguration()", () => {
  test("has a row for every leaf with its source, and marks what does not count", () => {
    const hooks = { Stop: [{ hooks: [{ command: "x" }] }] };
    const rows = listConfiguration(
      merge([
        layer("user", { model: "a/u", trust: ["/code"], tools: { bash: "off", env_withhold: ["credentials"] } }),
        layer("project", { hooks }),
      ], false),
    );
    expect(rows.map(({ key, source, inert }) => [key, source.scope, inert !== undefined])).toEqual([
      ["speculation", "default", false],
      ["limits.max_steps", "default", false],
      ["model", "user", false],
      ["tools.bash", "user", false],
      ["hooks.Stop", "project", true],
      ["tools.env_withhold", "user", false],
      ["trust", "user", false],
    ]);
  });
});
