import { expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { realPath } from "../../lib/platform/real-path.ts";

test("a file that is replaced again and again is there at every look, and one that is not there is not", async () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "orrery-test-"));
  const file = join(folder, "f");
  writeFileSync(file, "");
  symlinkSync("f", join(folder, "link"));
  const replacing = `
    const { renameSync, writeFileSync } = require("node:fs");
    for (;;) { writeFileSync(${JSON.stringify(`${file}.new`)}, ""); renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)}); }
  `;
  const replacer = new Worker(replacing, { eval: true });
  try {
    await new Promise((online) => replacer.once("online", online));
    const seen = new Set<string | null>();
    for (let looks = 0; looks < 100_000; looks++) seen.add(realPath(join(folder, looks % 2 === 0 ? "f" : "link")));
    expect([...seen]).toEqual([file]);
    expect(realPath(join(folder, "g"))).toBe(null);
  } finally {
    await replacer.terminate();
    rmSync(folder, { recursive: true, force: true });
  }
}, 30_000);
