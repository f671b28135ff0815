/** The program's own source files, parsed. What the house rules are checked against. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, resolve } from "node:path";
import ts from "typescript";

export const root = resolve(import.meta.dirname, "../..");

export interface Source {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly tree: ts.SourceFile;
  /** Everything it imports, as written, dynamic imports included. */
  readonly specifiers: readonly string[];
  /** Those of them that are files of ours, relative to the repository. */
  readonly imports: readonly string[];
  /** Those of them that are still there when types are erased, and are needed before the file itself runs. */
  readonly evaluated: readonly string[];
}

export function readSources(): readonly Source[] {
  return ["mod.ts", ...filesBelow("lib"), ...filesBelow("cli")].filter((path) => /\.tsx?$/.test(path)).map(readSource);
}

/** Every file below a folder of the repository, sorted. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** `line: text` of every node that matches. */
export function find(source: Source, matches: (node: ts.Node) => boolean): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (matches(node)) {
      const { line } = source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree));
      found.push(`${source.path}:${line + 1}: ${node.getText(source.tree).split("\n")[0]}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  return found;
}

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const specifiers = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const ours = (specifier: string) => specifier.startsWith(".") ? [normalize(join(dirname(path), specifier))] : [];
  return {
    path,
    tree,
    specifiers,
    imports: specifiers.flatMap(ours),
    evaluated: tree.statements.flatMap(evaluatedSpecifier).flatMap(ours),
  };
}

function evaluatedSpecifier(statement: ts.Statement): readonly string[] {
  const isTypeOnly = ts.isImportDeclaration(statement)
    ? statement.importClause?.isTypeOnly === true
    : !ts.isExportDeclaration(statement) || statement.isTypeOnly;
  if (isTypeOnly || !(ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement))) return [];
  const specifier = statement.moduleSpecifier;
  return specifier !== undefined && ts.isStringLiteral(specifier) ? [specifier.text] : [];
}
