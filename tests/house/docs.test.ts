import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, root } from "./sources.ts";

const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", ...(existsSync(join(root, "docs")) ? filesBelow("docs") : [])]
  .filter((path) => path.endsWith(".md"));

/** Folders whose files a page may name; anything else in backticks is not taken for a path of ours. */
const OURS = /^(?:lib|cli|tests|docs|scripts|\.ci|\.stella)\/[\w./-]*$|^[\w.-]+\.(?:ts|sh|md|json|toml|lock)$/;

test("every path that a page names in backticks exists", () => {
  const gone = pages.flatMap((page) =>
    codeSpans(readFileSync(join(root, page), "utf8"))
      .filter((span) => OURS.test(span) && !existsSync(join(root, span)))
      .map((span) => `${page}: ${span}`)
  );
  expect(gone).toEqual([]);
});

test("every page that a page links to exists", () => {
  const gone = pages.flatMap((page) =>
    [...readFileSync(join(root, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .filter(([, target = ""]) => !existsSync(join(root, page, "..", target)))
      .map(([, target]) => `${page}: ${target}`)
  );
  expect(gone).toEqual([]);
});

test("the README links to every page of docs", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  expect(filesBelow("docs").filter((path) => path.endsWith(".md") && !readme.includes(`](${path})`))).toEqual([]);
});

test("docs/guarantees.md has every promise from P1 to P10, each with tests that hold it", () => {
  const rows = readFileSync(join(root, "docs/guarantees.md"), "utf8").split("\n").filter((line) => /^\| P\d+ /.test(line));
  expect(rows.map((row) => row.split("|")[1]?.trim())).toEqual(Array.from({ length: 10 }, (_none, index) => `P${index + 1}`));
  for (const row of rows) expect([row.slice(0, 40), /`tests\/[^`]+\.test\.ts`/.test(row)]).toEqual([row.slice(0, 40), true]);
});

function codeSpans(text: string): readonly string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "");
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
}
