import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ConfigError } from "../../lib/config/error.ts";
import { environmentLayer, flagLayer } from "../../lib/config/plain-layer.ts";
import { readSettings, settingsPlaces } from "../../lib/config/settings.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "orrery-settings-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  return target;
}

function read(env: Readonly<Record<string, string>> = {}, choice: "all" | "sound" = "all") {
  return readSettings(
    {
      paths: { config: join(root, "config"), home: join(root, "home") },
      env,
      workspace: join(root, "w"),
      platform: "linux",
    },
    () => null,
    choice,
  );
}

function failureOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  return "no failure";
}

describe("readSettings()", () => {
  test("reads every file that there is, each in its scope", () => {
    const managed = write("managed.json", "{}");
    write("config/settings.json", "{}");
    write("home/.config/nanocoder/agents.config.json", "{}");
    write("w/.orrery/settings.json", "{}");
    write("w/.stella/settings.json", "{}");
    write("w/agents.config.json", "{}");
    const scopes = read({ ORRERY_MANAGED_SETTINGS: managed }).layers.map(({ scope, path }) => [scope, path?.slice(root.length)]);
    expect(scopes).toEqual([
      ["organisation", "/managed.json"],
      ["user", "/config/settings.json"],
      ["user", "/home/.config/nanocoder/agents.config.json"],
      ["project", "/w/.orrery/settings.json"],
      ["project", "/w/.stella/settings.json"],
      ["project", "/w/agents.config.json"],
    ]);
  });

  test("leaves out a file with a fault for who only looks, and none of the organisation's", () => {
    write("config/settings.json", "{}");
    write("w/.orrery/settings.json", '{"mode": "x"}');
    mkdirSync(join(root, "w/agents.config.json"), { recursive: true });
    expect(read({}, "sound").layers.map(({ scope }) => scope)).toEqual(["user"]);
    expect(failureOf(() => read())).toMatch(/^.*\.orrery\/settings\.json:1:2: .*\nCannot read settings ".*agents\.config\.json"/);
    const managed = write("managed.json", '{"mode": "x"}');
    expect(failureOf(() => read({ ORRERY_MANAGED_SETTINGS: managed }, "sound"))).toContain("managed.json:1:2");
  });

  test("refuses a start with every fault of every file", () => {
    write("config/settings.json", '{"mode": "x"}');
    write("w/.stella/settings.json", '{"tools": {"a": 1}}');
    const message = failureOf(read);
    expect(message).toContain(`${root}/config/settings.json:1:2: "mode" must be one of`);
    expect(message).toContain(`${root}/w/.stella/settings.json:1:12: "tools.a" must be "on" or "off", not 1`);
  });

  test("does not start without the organisation's file that somebody named", () => {
    expect(failureOf(() => read({ ORRERY_MANAGED_SETTINGS: join(root, "gone.json") }))).toContain("gone.json");
    expect(failureOf(() => read({ ORRERY_MANAGED_SETTINGS: "relative.json" }))).toContain("must be an absolute path");
  });

  test("refuses what is no readable text instead of waiting for it or going without", () => {
    mkdirSync(join(root, "w/.orrery"), { recursive: true });
    const place = join(root, "w/.orrery/settings.json");
    execFileSync("mkfifo", [place]);
    expect(failureOf(read)).toContain("not a regular file");
    rmSync(place);
    symlinkSync("settings.json", place);
    expect(failureOf(read)).toContain("Cannot read settings");
    rmSync(place);
    writeFileSync(place, new Uint8Array([0x22, 0xff, 0x22]));
    expect(failureOf(read)).toContain("not UTF-8");
    writeFileSync(place, `"${"x".repeat(1024 * 1024)}"`);
    expect(failureOf(read)).toContain("larger than");
  });

  test("knows Nanocoder's directory on each platform", () => {
    const personal = (env: Readonly<Record<string, string>>, platform: string) =>
      settingsPlaces({ paths: { config: "/c", home: "/h" }, env, workspace: "/w", platform }).find(({ scope, dialect }) =>
        scope === "user" && dialect === "nanocoder"
      )?.path;
    expect(personal({}, "linux")).toBe("/h/.config/nanocoder/agents.config.json");
    expect(personal({ XDG_CONFIG_HOME: "/x" }, "linux")).toBe("/x/nanocoder/agents.config.json");
    expect(personal({ XDG_CONFIG_HOME: "/x" }, "darwin")).toBe("/h/Library/Preferences/nanocoder/agents.config.json");
    expect(personal({ NANOCODER_CONFIG_DIR: "/n" }, "darwin")).toBe("/n/agents.config.json");
  });
});

describe("the environment and flags as layers", () => {
  test("name the variable and the flag that a value came from", () => {
    expect(environmentLayer({ ORRERY_MODE: "plan", ORRERY_MODEL: "" }).plain).toEqual({
      mode: { value: "plan", source: { scope: "environment", key: "ORRERY_MODE" } },
    });
    expect(flagLayer({ "limits.max_steps": 3, "limits.timeout_s": 5, model: undefined, speculation: "off" }).plain).toEqual({
      "limits.max_steps": { value: 3, source: { scope: "flag", key: "--max-steps" } },
      "limits.timeout_s": { value: 5, source: { scope: "flag", key: "--timeout" } },
      speculation: { value: "off", source: { scope: "flag", key: "--no-speculation" } },
    });
  });

  test("refuse a wrong value by the variable's name", () => {
    expect(failureOf(() => environmentLayer({ ORRERY_SPECULATION: "false" }))).toBe(
      'Cannot use ORRERY_SPECULATION="false": it must be "on" or "off"',
    );
  });
});
