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
    const { parentPort, workerData } = require("node:worker_threads");
    parentPort.postMessage("begun");
    while (Atomics.load(workerData, 0) === 0) {
      writeFileSync(${JSON.stringify(`${file}.new`)}, "");
      renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)});
    }
    parentPort.postMessage("ended");
  `;
  const enough = new Int32Array(new SharedArrayBuffer(4));
  const replacer = new Worker(replacing, { eval: true, workerData: enough });
  const said = () => new Promise((resolve) => replacer.once("message", resolve));
  try {
    expect(await said()).toBe("begun");
    const seen = new Set<string | null>();
    for (let looks = 0; looks < 100_000; looks++) seen.add(realPath(join(folder, looks % 2 === 0 ? "f" : "link")));
    expect([...seen]).toEqual([file]);
    expect(realPath(join(folder, "g"))).toBe(null);
  } finally {
    // `terminate` alone does not wait for what the thread is doing (Deno 2.9.6).
    const ended = said();
    Atomics.store(enough, 0, 1);
    await ended;
    await replacer.terminate();
    rmSync(folder, { recursive: true, force: true });
  }
}, 30_000);
