/** What is said of the packages in the executable; that all of them are named is in shipping-image.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noticesOf } from "../../scripts/notices.ts";

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "orrery-notices-"));
  add("one", { version: "1.0.0", license: "MIT", author: "Ann" }, { LICENSE: "Copyright Ann\r\n", "index.js": "" });
  add("@of/two", { version: "2.0.0", license: "Apache-2.0" }, { "LICENSE-APACHE.txt": "Terms", NOTICE: "Mind this" });
  add("@of/two/node_modules/one", { name: "one", version: "0.9.0", license: "MIT" }, { license: "Copyright Ann" });
  add("bare", { version: "3.0.0", license: "ISC", author: { name: "Bob" }, repository: { url: "https://example.com/bare" } }, {});
  add("unused", { version: "4.0.0", license: "MIT" }, {});
  add("mute", { version: "5.0.0" }, {});
});
afterAll(() => rmSync(root, { recursive: true }));

describe("the notices", () => {
  test("have each package of the bundle once, with version, licence, author and text, in one order", () => {
    const files = ["@of/two/a.js", "@of/two/node_modules/one/x.js", "one/index.js", "one/more.js"];
    expect(sectionsOf(...files)).toEqual([
      "@of/two 2.0.0 (Apache-2.0)\n\nTerms\n\nMind this\n",
      "one 0.9.0 (MIT)\none 1.0.0 (MIT) by Ann\n\nCopyright Ann\n",
    ]);
    expect(sectionsOf(...files.toReversed())).toEqual(sectionsOf(...files));
  });

  test("say of a package without a licence file what its package.json says", () => {
    expect(sectionsOf("bare/a.js")).toEqual([expect.stringMatching(/^bare 3\.0\.0 \(ISC\) by Bob\n[^]*https:\/\/example\.com\/bare\n$/)]);
  });

  test("name nothing of which no byte is in the bundle", () => {
    const inputs = { "node_modules/unused/a.js": { bytesInOutput: 0 }, "cli/main.ts": { bytesInOutput: 9 } };
    expect(noticesOf({ outputs: { "main.js": { inputs } } }, root, "1.2.3")).not.toContain("unused");
  });

  test("say where Bun's own are, and the source of its engine", () => {
    const text = noticesOf({ outputs: {} }, root, "1.2.3");
    for (const part of ["Bun 1.2.3 (MIT)", "LGPL", "oven-sh/WebKit", "blob/bun-v1.2.3/LICENSE.md"]) expect(text).toContain(part);
  });

  test("are not made where a package does not say its licence", () => {
    expect(() => sectionsOf("mute/a.js")).toThrow(
      /Cannot name the licence of .*mute: its package\.json does not say name, version and license/,
    );
  });
});

function add(path: string, manifest: object, files: Readonly<Record<string, string>>): void {
  const folder = join(root, "node_modules", path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: path, ...manifest }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** Those of packages: the introduction and Bun come before. */
function sectionsOf(...files: readonly string[]): readonly string[] {
  const inputs = Object.fromEntries(files.map((file) => [`node_modules/${file}`, { bytesInOutput: 1 }]));
  return noticesOf({ outputs: { "main.js": { inputs } } }, root, "1.2.3").split(`${"=".repeat(80)}\n`).slice(2)
    .map((section) => section.replace(/\n\n$/, "\n"));
}
