/**
 * Prints what the executable is made of that is not ours, with licences: `bun scripts/notices.ts METAFILE`, which `bun
 * build` wrote. Only what got into the bundle counts, and what it says is read from the packages themselves.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** What we read of a metafile. */
export interface Metafile {
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>>;
}

interface Package {
  readonly title: string;
  readonly licence: string;
  readonly author: string;
  readonly home: string;
  /** What its package has in licence files. Empty: it has none. */
  readonly text: string;
}

const RULE = "=".repeat(80);

/** @param root the folder that has the node_modules which the bundle was made of. */
export function noticesOf(metafile: Metafile, root: string, bun: string): string {
  const packages = foldersOf(metafile).map((folder) => readPackage(join(root, folder)));
  const byTitle = new Map(packages.map((each) => [each.title, each]));
  const sorted = [...byTitle.values()].sort((a, b) => a.title < b.title ? -1 : 1);
  const groups = Map.groupBy(sorted, ({ title, text }) => text === "" ? title : text);
  return [introduction(bun), ...[...groups.values()].map(toSection)].join(`\n${RULE}\n`);
}

/** Of every package that some of the output comes from. */
function foldersOf({ outputs }: Metafile): readonly string[] {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs)).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const folders = files.map(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]);
  return [...new Set(folders.filter((folder) => folder !== undefined))];
}

function readPackage(folder: string): Package {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Readonly<Record<string, unknown>>;
  const { name, version, license } = manifest;
  if (typeof name !== "string" || typeof version !== "string" || typeof license !== "string") {
    throw new Error(`Cannot name the licence of ${folder}: its package.json does not say name, version and license`);
  }
  return {
    title: `${name} ${version}`,
    licence: license,
    author: textOf(manifest["author"], "name"),
    home: textOf(manifest["repository"], "url"),
    text: licenceFiles(folder).map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim()).join("\n\n"),
  };
}

function licenceFiles(folder: string): readonly string[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ name }) => name).filter((name) => /^(?:licen[cs]e|copying|notice|third-?party)/i.test(name)).sort();
}

/** A field that is a text, or an object with one. */
function textOf(field: unknown, key: string): string {
  if (typeof field === "string") return field;
  const inner = typeof field === "object" && field !== null ? (field as Readonly<Record<string, unknown>>)[key] : undefined;
  return typeof inner === "string" ? inner : "";
}

/** Packages that share one text share a section. */
function toSection(packages: readonly Package[]): string {
  const heads = packages.map(({ title, licence, author }) => `${title} (${licence})${author === "" ? "" : ` by ${author}`}\n`);
  const [{ text, home } = { text: "", home: "" }] = packages;
  const said = `It comes without a file of its licence. What is above is from its package.json, as is its home:\n${home || "none"}`;
  return `${heads.join("")}\n${text || said}\n`;
}

function introduction(bun: string): string {
  return `Third-party notices of Orrery

The executable holds Orrery's own code, which is under the licence in the file LICENSE, the code of the packages that
are named below, and Bun, which runs it all.

${RULE}
Bun ${bun} (MIT)
https://github.com/oven-sh/bun

Bun links JavaScriptCore and parts of WebKit statically, which are under the LGPL, version 2. The source that it is
built from:
https://github.com/oven-sh/WebKit

Everything that Bun holds, with its licences, and how Bun is built with a JavaScriptCore that was changed:
https://github.com/oven-sh/bun/blob/bun-v${bun}/LICENSE.md

Orrery's compile.sh builds the executable with the Bun in node_modules, so also with one that was changed.
`;
}

if (import.meta.main) {
  const [file = ""] = process.argv.slice(2);
  const root = join(import.meta.dirname, "..");
  const metafile = JSON.parse(readFileSync(file, "utf8")) as Metafile;
  const { version } = JSON.parse(readFileSync(join(root, "node_modules/bun/package.json"), "utf8")) as { readonly version: string };
  process.stdout.write(noticesOf(metafile, root, version));
}
