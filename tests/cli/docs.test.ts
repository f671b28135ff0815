/** Pins that docs/cli.md knows every command, option, exit code and key that there is, and none that there is not. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commandTree } from "../../cli/command-tree.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/cli.md"), "utf8");
const sections = new Map(page.split(/^## /m).slice(1).map((text) => [text.slice(0, text.indexOf("\n")), text]));

interface Route {
  readonly name: Readonly<Record<"original", string>>;
  readonly target: Node;
}
/** As much of the command line's library as is needed to walk its tree. */
interface Node {
  readonly getAllEntries?: () => readonly Route[];
  readonly parameters?: {
    readonly flags?: Readonly<Record<string, { readonly kind: string; readonly withNegated?: boolean; readonly default?: unknown }>>;
  };
}

function commandsOf(node: Node, path: string): readonly (readonly [path: string, command: Node])[] {
  if (node.getAllEntries === undefined) return [[path, node]];
  return node.getAllEntries().flatMap(({ name, target }) => commandsOf(target, `${path} ${name.original}`));
}

const commands = commandsOf(commandTree as unknown as Node, "orrery");
const kebab = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
const optionsIn = (text: string) =>
  [...text.matchAll(/^- (.*)$/gm)].flatMap(([, line = ""]) =>
    [...(line.split(":")[0] ?? "").matchAll(/`(--[a-z-]+)`/g)].map(([, option = ""]) => option)
  );

describe("docs/cli.md", () => {
  test("has a section for every command, and for nothing else", () => {
    const named = [...sections.keys()].filter((title) => title.startsWith("orrery "));
    expect(named.toSorted()).toEqual(commands.map(([path]) => path).toSorted());
  });

  const common = optionsIn(sections.get("Common options") ?? "");
  for (const [path, command] of commands) {
    test(`${path}: every option, and no other`, () => {
      const options = Object.entries(command.parameters?.flags ?? {}).flatMap(([name, flag]) =>
        flag.kind === "boolean" && flag.withNegated !== false && flag.default !== false
          ? [kebab(name), kebab(`no${name[0]?.toUpperCase()}${name.slice(1)}`)]
          : [kebab(name)]
      );
      const said = optionsIn(sections.get(path) ?? "");
      expect(options.filter((option) => !option.startsWith("--no-") && !said.includes(option) && !common.includes(option))).toEqual([]);
      expect(said.filter((option) => !options.includes(option))).toEqual([]);
    });
  }

  test("has every exit code, and no other", () => {
    const source = readFileSync(join(root, "cli/main.ts"), "utf8");
    const table = source.slice(source.indexOf("EXIT_CODES"), source.indexOf("};"));
    const codes = new Set([...table.matchAll(/\w+: (\d+),/g)].map(([, code]) => Number(code)));
    const said = [...(sections.get("Exit codes") ?? "").matchAll(/^\| (\d+)/gm)].map(([, code]) => Number(code));
    expect(said.toSorted((a, b) => a - b)).toEqual([...codes].toSorted((a, b) => a - b));
  });
});

describe("the objects in docs/cli.md", () => {
  const objects = new Map(
    [...page.matchAll(/^```json (.+)\n([\s\S]*?)^```/gm)].map(([, title = "", text = ""]) => [title, JSON.parse(text) as unknown]),
  );
  let workspace: TestWorkspace;
  let session = "";
  let model = "";
  let foreign = "";

  const printed = async (args: readonly string[]) => {
    const { stdout } = await runOrrery(args, { cwd: workspace.path, home: workspace.home });
    return JSON.parse(stdout) as unknown;
  };

  beforeAll(async () => {
    workspace = await createWorkspace();
    await workspace.tool("count", 'echo "$STELLA_INPUT_PATH"');
    await workspace.write(".stella/tools/bad.toml", "name = 1\n");
    const golden = readFileSync(join(root, "tests/fixtures/journal/v1.jsonl"), "utf8").split("\n");
    foreign = await workspace.write("foreign.jsonl", golden.slice(0, 48).map((line) => `${line}\n`).join(""));
    model = await workspace.script({ calls: [{ name: "count", arguments: {} }] }, { text: "done" });
    session = ((await printed(["run", "--model", model, "--output-format", "json", "go"])) as { session: string }).session;
  });
  afterAll(async () => {
    await workspace.remove();
  });

  const ways: Readonly<Record<string, () => readonly string[]>> = {
    run: () => ["run", "--model", model, "--output-format", "json", "--events", "go"],
    "tools list": () => ["tools", "--json"],
    "tools list --validate": () => ["tools", "--validate", "--json"],
    "tools call": () => ["tools", "call", "count", "--trust-workspace", "--json", "--input", '{"path":"x","list":[]}'],
    "tools create": () => ["tools", "create", "fresh", "--json"],
    "sessions list": () => ["sessions", "list", "--json"],
    "sessions show": () => ["sessions", "show", session, "--json"],
    "sessions fork": () => ["sessions", "fork", session, "--json"],
    "sessions cancel": () => ["sessions", "cancel", session, "--json"],
    "sessions import": () => ["sessions", "import", foreign, "--json"],
    trust: () => ["trust", "--json"],
    config: () => ["config", "--json"],
    doctor: () => ["doctor", "--model", model, "--json"],
    version: () => ["version", "--json"],
  };

  test("are those of every command that prints one", () => {
    expect([...objects.keys()].toSorted()).toEqual(Object.keys(ways).toSorted());
  });

  for (const [title, args] of Object.entries(ways)) {
    test(`${title}: no key is printed that is not documented`, async () => {
      expect(unknownKeys(await printed(args()), objects.get(title), "")).toEqual([]);
    });
  }
});

/** Keys of a value, as paths, that the documented value has no place for. What is documented as text or as empty stands for anything. */
function unknownKeys(value: unknown, documented: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) {
    return Array.isArray(documented) && documented.length > 0 ? value.flatMap((each) => unknownKeys(each, documented[0], `${path}[]`)) : [];
  }
  if (
    typeof value !== "object" || value === null || typeof documented !== "object" || documented === null || path.endsWith("input_schema") ||
    path.endsWith("outcome")
  ) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const place = `${path}.${key}`;
    return Object.hasOwn(documented, key) ? unknownKeys(each, (documented as Record<string, unknown>)[key], place) : [place];
  });
}
