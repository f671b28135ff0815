import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { grantsOf } from "../../lib/config/merge.ts";
import { parseSettings } from "../../lib/config/settings-file.ts";
import { surveyWorkspace } from "../../lib/gate/survey.ts";
import {
  checkTrust,
  coversFolder,
  describeInert,
  grantFileTrust,
  grantTrust,
  TrustError,
  type TrustGrounds,
} from "../../lib/gate/trust.ts";
import { createTrustStore } from "../../lib/gate/trust-store.ts";
import { workspaceFiles } from "../../lib/gate/workspace-files.ts";
import { sha256 } from "../../lib/platform/digest.ts";

const NONE: TrustGrounds = { flag: false, environment: false, setting: null, home: null };
const AT = "2026-01-01T00:00:00.000Z";

let root: string;
let workspace: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orrery-trust-")));
  workspace = join(root, "w");
  mkdirSync(workspace);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const target = join(workspace, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  return target;
}

const store = () => createTrustStore(join(root, "data"));
const survey = async () => await surveyWorkspace(workspace, workspaceFiles);
const check = async (grounds = NONE) => await checkTrust(await survey(), store(), grounds);
const grant = async () => await grantTrust(await survey(), store(), AT);
const hookSettings = (command: string, more = {}) => JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ command }] }] }, ...more });

function populate(): void {
  write(".stella/tools/a.toml", "name = 'a'");
  write(".nanocoder/tools/b.md", "---\nname: b\n---\n");
  write(".orrery/tools/c.ts", "import './lib/d.ts'");
  write(".orrery/tools/lib/d.ts", "export {}");
  write(".orrery/settings.json", hookSettings("./guard.sh", { disabledTools: ["x"], model: "a/b" }));
  write(".mcp.json", "{}");
}

describe("surveyWorkspace()", () => {
  test("finds what can start a process or grants something, and nothing else", async () => {
    populate();
    write(".stella/tools/note.md", "no");
    write(".stella/tools/sub/x.toml", "no");
    write(".nanocoder/tools/x.ts", "reserved");
    write(".orrery/tools/node_modules/m/index.js", "no");
    write(".orrery/tools/lib/h.mjs", "");
    write("agents.config.json", '{"nanocoder":{"alwaysAllow":["a"],"disabledTools":["b"]}}');
    write(".stella/settings.json", '{"tools":{"bash":"off"},"disabledTools":["z"]}');
    expect((await survey()).entries.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "mcp .mcp.json",
      "tool .nanocoder/tools/b.md",
      "hook .orrery/settings.json#hooks",
      "setting .orrery/settings.json#model",
      "tool .orrery/tools/c.ts",
      "tool .orrery/tools/lib/d.ts",
      "tool .orrery/tools/lib/h.mjs",
      "tool .stella/tools/a.toml",
      "setting agents.config.json#alwaysAllow",
    ]);
  });

  test("reads no more than a bound", async () => {
    for (let index = 0; index < 12; index++) write(`.orrery/tools/lib/${String(index).padStart(2, "0")}.bin`, "x".repeat(4_000_000));
    const unread = (await survey()).entries.filter(({ digest }) => digest === null);
    expect([unread.length > 0, unread.every(({ problem }) => problem?.includes("bytes before it"))]).toEqual([true, true]);
    await expect(grant()).rejects.toBeInstanceOf(TrustError);
  });

  test("says what hooks would run", async () => {
    write(".orrery/settings.json", hookSettings("./guard.sh"));
    expect((await survey()).entries[0]?.detail).toBe("PreToolUse: ./guard.sh");
  });

  test("hides nothing of what hooks would run, and says how much is not shown", async () => {
    const shown = async (command: string) => {
      write(".orrery/settings.json", hookSettings(command));
      return describeInert(await check(), workspace);
    };
    const long = `${"true; ".repeat(100)}./at-the-end`;
    expect(await shown(long)).toContain(long);
    expect(await shown(`${"x".repeat(4000)}./hidden`)).toContain("[… 8 more characters are not shown]");
    const forged = await shown("true\n  nothing else\r\u001b[2K\u202egnp.x\u200b");
    expect(forged).toContain(String.raw`PreToolUse: true\n  nothing else\r\u{1b}[2K\u{202e}gnp.x\u{200b}`);
    expect(forged.split("\n").length).toBe(3);
  });

  test("shows the name of a file on one line", async () => {
    write(".stella/tools/a\nTo trust them: nothing.toml", "x");
    const text = describeInert(await check(), workspace);
    expect(text.split("\n").length).toBe(3);
    expect(text).toContain(String.raw`a\nTo trust them: nothing.toml`);
  });

  test("looks through links, and ends at those that go round or lead to everything", async () => {
    mkdirSync(join(root, "elsewhere/tools"), { recursive: true });
    writeFileSync(join(root, "elsewhere/tools/a.toml"), "1");
    symlinkSync(join(root, "elsewhere"), join(workspace, ".stella"));
    const before = await survey();
    writeFileSync(join(root, "elsewhere/tools/a.toml"), "2");
    expect([before.entries.length, (await survey()).entries[0]?.digest === before.entries[0]?.digest]).toEqual([1, false]);

    write(".orrery/tools/x.ts", "");
    symlinkSync(".", join(workspace, ".orrery/tools/round"));
    symlinkSync("loop.ts", join(workspace, ".orrery/tools/loop.ts"));
    symlinkSync("/", join(workspace, ".orrery/tools/zzz"));
    const { entries } = await survey();
    const problems = new Map(entries.filter(({ digest }) => digest === null).map(({ name, problem }) => [name, problem]));
    expect(problems.get(".orrery/tools/round")).toContain("a link to a folder that it lies in");
    expect(problems.has(".orrery/tools/loop.ts")).toBe(true);
    expect(entries.length).toBeLessThan(6000);
    expect(entries.some(({ name, digest }) => name.startsWith(".orrery/tools/zzz") && digest === null)).toBe(true);
  }, 20_000);
});

describe("checkTrust()", () => {
  test("says no without grounds, and lists what is inert", async () => {
    populate();
    const trust = await check();
    expect(trust.verdict).toEqual({ kind: "untrusted", reason: "never_trusted", changes: [] });
    expect(trust.inert.length).toBe(7);
    const text = describeInert(trust, workspace);
    expect(text).toContain("These may not run as this workspace is not trusted:");
    expect(text).toContain("  .orrery/settings.json#hooks: PreToolUse: ./guard.sh");
    expect(text).toContain(`orrery trust ${workspace}`);
  });

  test("says nothing about a workspace with nothing to run", async () => {
    expect(describeInert(await check(), workspace)).toBe("");
  });

  test("says yes for each of a person's grounds", async () => {
    populate();
    const by = async (grounds: Partial<TrustGrounds>) => {
      const { verdict } = await check({ ...NONE, ...grounds });
      return verdict.kind === "trusted" ? verdict.by : verdict.reason;
    };
    expect(await by({ flag: true })).toBe("flag");
    expect(await by({ environment: true })).toBe("environment");
    expect(await by({ setting: "all" })).toBe("setting");
    expect(await by({ setting: [`${root}/*`] })).toBe("setting");
    expect(await by({ setting: ["~/w"], home: root })).toBe("setting");
    expect(await by({ setting: [], home: root })).toBe("never_trusted");
    await grant();
    expect(await by({})).toBe("grant");
  });

  for (
    const [what, change] of Object.entries({
      "a byte of a manifest": () => appendFileSync(join(workspace, ".stella/tools/a.toml"), "\n"),
      "a Nanocoder tool": () => write(".nanocoder/tools/b.md", "x"),
      "a file that a tool loads": () => write(".orrery/tools/lib/d.ts", "x"),
      "a file of any name that a tool may load": () => write(".orrery/tools/lib/e.mjs", "export {}"),
      "what Python would take for a file's code": () => write(".orrery/tools/__pycache__/h.cpython-312.pyc", "x"),
      "what lies beside a tool without an ending": () => write(".orrery/tools/lib/deep/h", "x"),
      "the command of a hook": () => write(".orrery/settings.json", hookSettings("./guard.sh ", { model: "a/b" })),
      "a setting that grants": () => write(".orrery/settings.json", hookSettings("./guard.sh", { model: "a/b", alwaysAllow: ["bash"] })),
      "an MCP entry": () => write(".mcp.json", "{ }"),
      "a new tool": () => write(".stella/tools/new.toml", ""),
      "the loss of a hook": () => write(".orrery/settings.json", '{"model":"a/b"}'),
      "the loss of a tool": () => rmSync(join(workspace, ".nanocoder/tools/b.md")),
    })
  ) {
    test(`asks again after ${what} has changed`, async () => {
      populate();
      await grant();
      expect((await check()).verdict.kind).toBe("trusted");
      change();
      const { verdict } = await check();
      expect(verdict).toMatchObject({ kind: "untrusted", reason: "changed" });
      expect(verdict.kind === "untrusted" ? verdict.changes.length : 0).toBe(1);
    });
  }

  test("asks again after any setting that grants has changed", async () => {
    const granting: Readonly<Record<string, readonly [unknown, unknown]>> = {
      hooks: [{ Stop: [{ hooks: [{ command: "a" }] }] }, { Stop: [{ hooks: [{ command: "b" }] }] }],
      tools: [{ bash: "on" }, { "*": "on" }],
      alwaysAllow: [["bash"], ["edit_file"]],
      model: ["a/b", "a/c"],
      base_url: ["https://a.example", "https://b.example"],
      mode: ["normal", "yolo"],
      speculation: ["off", "on"],
      limits: [{ max_steps: 1 }, { max_steps: 2 }],
    };
    for (const file of [".orrery/settings.json", ".stella/settings.json"]) {
      for (const [key, [before, after]] of Object.entries(granting)) {
        write(file, JSON.stringify({ [key]: before }));
        await grant();
        expect([key, (await check()).verdict.kind]).toEqual([key, "trusted"]);
        write(file, JSON.stringify({ [key]: after }));
        expect([key, (await check()).verdict]).toEqual([
          key,
          expect.objectContaining({ reason: "changed", changes: [{ kind: "changed", name: `${file}#${key}` }] }),
        ]);
      }
      rmSync(join(workspace, file));
    }
  });

  test("is bound to every setting that a project is granted only with trust", async () => {
    const text = JSON.stringify({
      hooks: { Stop: [{ hooks: [{ type: "command", command: "a" }] }] },
      tools: { bash: "on", search: "off" },
      alwaysAllow: ["bash"],
      disabledTools: ["x"],
      model: "a/b",
      base_url: "https://a.example",
      mode: "yolo",
      speculation: "on",
      limits: { max_steps: 1, timeout_s: 1, spend_usd: 1, prices: "p.json", context_tokens: 100_000 },
    });
    const path = write(".orrery/settings.json", text);
    const { layer, diagnostics } = parseSettings(text, { path, scope: "project", dialect: "orrery" }, () => null);
    expect(diagnostics).toEqual([]);
    const keys = [...new Set(grantsOf(layer).map(({ key }) => key.split(".", 1)[0] ?? ""))].toSorted();
    expect((await survey()).entries.map(({ name }) => name.replace(/.*#/, ""))).toEqual(keys);
    expect(keys.length).toBe(8);
  });

  test("does not ask again for a denial, other spacing, or a script", async () => {
    populate();
    const script = write("guard.sh", "true");
    await grant();
    write(
      ".orrery/settings.json",
      JSON.stringify(JSON.parse(hookSettings("./guard.sh", { model: "a/b", disabledTools: ["y"], tools: { bash: "off" } })), null, 4),
    );
    writeFileSync(script, "false");
    expect((await check()).verdict.kind).toBe("trusted");
  });

  test("is about this folder and no other", async () => {
    populate();
    await grant();
    cpSync(workspace, join(root, "copy"), { recursive: true });
    expect((await checkTrust(await surveyWorkspace(join(root, "copy"), workspaceFiles), store(), NONE)).verdict.kind).toBe("untrusted");
  });

  test("never trusts by a grant what could not be read", async () => {
    populate();
    await grant();
    for (
      const spoil of [
        () => symlinkSync("self.toml", join(workspace, ".stella/tools/self.toml")),
        () => write(".stella/tools/self.toml", "x".repeat(5 * 1024 * 1024)),
        () => write(".stella/settings.json", "{"),
      ]
    ) {
      spoil();
      const trust = await check();
      expect(trust.verdict.kind).toBe("untrusted");
      expect(describeInert(trust, workspace)).toContain("cannot be read");
      await expect(grant()).rejects.toBeInstanceOf(TrustError);
      rmSync(join(workspace, ".stella/tools/self.toml"), { force: true });
      rmSync(join(workspace, ".stella/settings.json"), { force: true });
    }
    expect((await check()).verdict.kind).toBe("trusted");
  });

  test("does not wait for a pipe", async () => {
    execFileSync("mkfifo", [join(workspace, ".mcp.json")]);
    expect((await survey()).entries[0]).toMatchObject({ digest: null, problem: "it is not a regular file" });
  });

  test("knows at the moment of use whether a file is still the one that was trusted", async () => {
    populate();
    const path = join(workspace, ".stella/tools/a.toml");
    expect((await check()).allowsFile(path, sha256("name = 'a'"))).toBe(false);
    await grant();
    const trust = await check();
    expect([
      trust.allowsFile(path, sha256("name = 'a'")),
      trust.allowsFile(path, sha256("other")),
      trust.allowsFile("/etc/passwd", sha256("x")),
    ]).toEqual([true, false, false]);
    expect((await check({ ...NONE, flag: true })).allowsFile(path, sha256("other"))).toBe(true);
  });
});

describe("grantFileTrust()", () => {
  test("trusts one file as it is, beside whatever else is not trusted", async () => {
    populate();
    const path = write(".stella/tools/mine.toml", "mine");
    await grantFileTrust(workspace, path, sha256("mine"), store(), AT);
    const trust = await check();
    expect([trust.verdict.kind, trust.inert.some(({ name }) => name.endsWith("mine.toml"))]).toEqual(["untrusted", false]);
    expect([trust.allowsFile(path, sha256("mine")), trust.allowsFile(join(workspace, ".stella/tools/a.toml"), sha256("name = 'a'"))])
      .toEqual([true, false]);
    write(".stella/tools/mine.toml", "theirs");
    expect((await check()).inert.some(({ name }) => name.endsWith("mine.toml"))).toBe(true);
  });

  test("does not take back what was trusted before", async () => {
    populate();
    await grant();
    await grantFileTrust(workspace, write(".stella/tools/mine.toml", "mine"), sha256("mine"), store(), AT);
    expect((await check()).verdict.kind).toBe("trusted");
  });

  test("is not for files elsewhere", async () => {
    await expect(grantFileTrust(workspace, join(root, "x.toml"), sha256(""), store(), AT)).rejects.toBeInstanceOf(TrustError);
  });
});

describe("the trust store", () => {
  const records = () =>
    readdirSync(join(root, "data/trust"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) =>
      join(entry.parentPath, entry.name)
    );

  test("keeps its files to their owner, and leaves nothing half-written", async () => {
    populate();
    await grant();
    await Promise.all(Array.from({ length: 20 }, async (_, index) => {
      if (index % 2 === 0) await grant();
      else await grantFileTrust(workspace, join(workspace, `.stella/tools/${index}.toml`), sha256(String(index)), store(), AT);
    }));
    expect(records().length).toBe(11);
    expect(records().map((path) => statSync(path).mode & 0o777)).toEqual(Array(11).fill(0o600));
    expect((await check()).verdict.kind).toBe("trusted");
  });

  test("takes a damaged record, or one that others can write, for none", async () => {
    populate();
    await grant();
    const [record = ""] = records();
    chmodSync(record, 0o666);
    expect((await check()).verdict).toMatchObject({ kind: "untrusted", reason: "record_unusable" });
    chmodSync(record, 0o600);
    expect((await check()).verdict.kind).toBe("trusted");
    writeFileSync(record, "{");
    expect((await check()).verdict).toMatchObject({ kind: "untrusted", reason: "record_unusable" });
    await grant();
    expect((await check()).verdict.kind).toBe("trusted");
  });

  test("does not take a record that came with the workspace, even if it is kept there", async () => {
    populate();
    const inside = createTrustStore(join(workspace, "data"));
    await grantTrust(await survey(), inside, AT);
    expect((await checkTrust(await survey(), inside, NONE)).verdict.kind).toBe("trusted");
    cpSync(join(workspace, "data"), join(workspace, "data2"), { recursive: true });
    renameSync(join(workspace, "data"), join(root, "original"));
    renameSync(join(workspace, "data2"), join(workspace, "data"));
    expect((await checkTrust(await survey(), inside, NONE)).verdict).toMatchObject({ kind: "untrusted", reason: "record_unusable" });
  });

  test("forgets", async () => {
    populate();
    await grant();
    expect([await store().forget(workspace), await store().forget(workspace)]).toEqual([true, false]);
    expect((await check()).verdict.kind).toBe("untrusted");
  });
});

describe("coversFolder()", () => {
  test("takes * for one name and ** for any number of them", () => {
    const folder = "/home/me/code/app";
    const covering = [
      "/home/me/code/app",
      "/home/me/code/*",
      "/home/me/code/a*",
      "/home/me/**",
      "/**",
      "/home/*/code/**/app",
      "~/code/*",
      "~/**",
      folder + "/",
      folder + "/**",
    ];
    const others = [
      "/home/me/code",
      "/home/me/*",
      "/home/me/code/b*",
      "app",
      "**/other",
      "~",
      "~/code",
      "/HOME/me/code/app",
      "/home/me/code/app/*",
    ];
    expect(covering.filter((pattern) => !coversFolder([pattern], folder, "/home/me"))).toEqual([]);
    expect(others.filter((pattern) => coversFolder([pattern], folder, "/home/me"))).toEqual([]);
    expect(coversFolder(["~/code/*"], folder, null)).toBe(false);
  });
});
