/** The rules of the house that no linter knows: which folder may know which, and where a host's own words may stand. */
import { describe, expect, test } from "bun:test";
import ts from "typescript";
import { find, readSources, type Source } from "./sources.ts";

/** What each room may import, besides itself. `mod` is mod.ts. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  session: [],
  platform: [],
  journal: ["session", "platform"],
  model: ["session", "platform"],
  tools: ["session", "platform"],
  gate: ["session", "platform"],
  supervisor: ["session", "platform"],
  config: ["session", "platform"],
  agent: ["session", "platform", "journal", "model", "tools", "gate", "supervisor", "config"],
  http: ["session", "platform", "config", "agent"],
  mod: ["session", "platform", "journal", "model", "tools", "gate", "supervisor", "config", "agent", "http"],
  cli: ["mod", "platform"],
};

/** Files that are no modules and are built into the program. */
const embeds: Readonly<Record<string, readonly string[]>> = {
  platform: ["package.json"],
  tools: ["lib/tools/sdk/python/"],
  http: ["lib/http/viewer/style.css", "lib/http/viewer/script.txt"],
  cli: [".stella/tools/", "scripts/"],
};

/** Single arrows that are allowed beside the table, and why. */
const exceptions: Readonly<Record<string, string>> = {
  "lib/supervisor/child.ts -> tools": "a tool host runs our built-in tools",
  "cli/hidden-program.ts -> supervisor": "the executable is also its own tool host",
};

/** Modules that only some files may import. */
const confined: Readonly<Record<string, (path: string) => boolean>> = {
  "bun": (path) => room(path) === "platform",
  "bun:": (path) => room(path) === "platform",
  "node:sqlite": (path) => room(path) === "platform" || room(path) === "journal",
  "node:child_process": (path) => room(path) === "platform" || room(path) === "supervisor",
};

/** Modules of Node that Bun makes out of its streams: to load one costs 1 to 4 ms, which no `run` should pay before its first request. */
const slow = ["node:child_process", "node:crypto", "node:http", "node:https", "node:net", "node:stream", "node:tty", "node:worker_threads"];

/** Who may import one of them as it is loaded, as nothing of it is loaded before that request. */
const loadedLater = ["lib/http/", "lib/platform/init.ts", "lib/platform/spawn-host.ts", "lib/supervisor/worker.ts"];

const sources = readSources();

describe("the source tree", () => {
  test("has arrows between rooms only as the table allows", () => {
    const wrong = sources.flatMap((source) =>
      source.imports
        .filter((target) => !mayPoint(source.path, target))
        .map((target) => `${source.path} -> ${target}`)
    );
    expect(wrong).toEqual([]);
  });

  test("uses every exception to the table", () => {
    const used = sources.flatMap((source) => source.imports.map((target) => `${source.path} -> ${room(target)}`));
    expect(Object.keys(exceptions).filter((exception) => !used.includes(exception))).toEqual([]);
  });

  test("has no cycle of files that run each other", () => {
    expect(firstCycle(new Map(sources.map((source) => [source.path, source.evaluated])))).toBeNull();
  });

  test("imports nothing for its effects alone: the bundler leaves out whatever is not used by name (`sideEffects`)", () => {
    const bare = (node: ts.Node) => ts.isImportDeclaration(node) && node.importClause === undefined;
    expect(sources.flatMap((source) => find(source, bare))).toEqual([]);
  });

  test("imports only files that exist, with their extension", () => {
    const known = new Set(sources.map((source) => source.path));
    const wrong = sources.flatMap((source) =>
      source.imports.filter((target) => /\.tsx?$/.test(target) ? !known.has(target) : !/\.\w+$/.test(target)).map((target) =>
        `${source.path} -> ${target}`
      )
    );
    expect(wrong).toEqual([]);
  });

  test("names a host's own modules only where they are confined to", () => {
    const wrong = sources.flatMap((source) =>
      source.specifiers.filter((specifier) =>
        Object.entries(confined).some(([module, allows]) =>
          (module.endsWith(":") ? specifier.startsWith(module) : specifier === module) && !allows(source.path)
        )
      ).map((specifier) => `${source.path} -> ${specifier}`)
    );
    expect(wrong).toEqual([]);
  });

  test("imports what is slow to load only where that is late, and else at its first use", () => {
    const early = sources.filter(({ path }) => !loadedLater.some((prefix) => path.startsWith(prefix)));
    const isSlow = (node: ts.Node) =>
      ts.isImportDeclaration(node) && node.importClause?.isTypeOnly !== true &&
      ts.isStringLiteral(node.moduleSpecifier) && slow.includes(node.moduleSpecifier.text);
    expect(early.flatMap((source) => find(source, isSlow))).toEqual([]);
  });

  test("says Bun and Deno only in platform/", () => {
    const outside = sources.filter((source) => room(source.path) !== "platform");
    const host = (node: ts.Node) => ts.isIdentifier(node) && (node.text === "Bun" || node.text === "Deno");
    expect(outside.flatMap((source) => find(source, host))).toEqual([]);
  });

  test("ends the process only in cli/main.ts", () => {
    const exit = (node: ts.Node) => ts.isPropertyAccessExpression(node) && node.getText() === "process.exit";
    const outside = sources.filter((source) => source.path !== "cli/main.ts");
    expect(outside.flatMap((source) => find(source, exit))).toEqual([]);
  });

  test("has no type any and no default export", () => {
    const unwanted = (node: ts.Node) => node.kind === ts.SyntaxKind.AnyKeyword || ts.isExportAssignment(node) || isDefaultExport(node);
    expect(sources.flatMap((source) => find(source, unwanted))).toEqual([]);
  });

  test("and no line reads a switch for a sandbox that there is not", () => {
    expect(sources.filter((source) => source.tree.text.includes("BASH_SANDBOX")).map(({ path }) => path)).toEqual([]);
  });
});

/** The room a file belongs to: its folder below lib/, or `cli`, `mod`. */
function room(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === "lib" ? second : first.replace(/\.ts$/, "");
}

function mayPoint(from: string, target: string): boolean {
  const [source, destination] = [room(from), room(target)];
  if (!/\.tsx?$/.test(target)) return (embeds[source] ?? []).some((prefix) => target.startsWith(prefix));
  return source === destination || (mayImport[source] ?? []).includes(destination) || `${from} -> ${destination}` in exceptions;
}

function isDefaultExport(node: ts.Node): boolean {
  return ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword);
}

/** The files of one cycle, in order, or null. */
function firstCycle(graph: ReadonlyMap<Source["path"], readonly string[]>): string | null {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): string | null => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path].join(" -> ");
    if (done.has(path)) return null;
    trail.push(path);
    for (const target of graph.get(path) ?? []) {
      const cycle = visit(target);
      if (cycle !== null) return cycle;
    }
    trail.pop();
    done.add(path);
    return null;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path);
    if (cycle !== null) return cycle;
  }
  return null;
}
