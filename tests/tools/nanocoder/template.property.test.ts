/**
 * Values of any kind in bodies of any kind, under the real shells: the program sees exactly the values, and nothing
 * that a value says is ever run. `ORRERY_TEMPLATE_CASES=5000` runs more of them, `ORRERY_TEMPLATE_SEED` others.
 */
import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { renderTemplate } from "../../../lib/tools/nanocoder/render.ts";
import { compileTemplate } from "../../../lib/tools/nanocoder/template.ts";
import { parseKeepingNumbers } from "../../../lib/session/json.ts";
import { PARAMETERS, PRELUDE, scripts, type Value, type Values, values } from "./shell-grammar.ts";

const CASES = Number(process.env["ORRERY_TEMPLATE_CASES"] ?? 300);
const SEED = Number(process.env["ORRERY_TEMPLATE_SEED"] ?? 20261129);
const BATCH = 40;

for (const [dialect, shell] of [["bash", "/bin/bash"], ["sh", "/bin/sh"]] as const) {
  test(`a program under ${shell} sees exactly the values, whatever they are and wherever they stand`, () => {
    const cases = fc.sample(fc.tuple(scripts({ bash: dialect === "bash" }), values), { numRuns: CASES, seed: SEED });
    const directory = mkdtempSync(join(tmpdir(), "orrery-template-"));
    let runs = 0;
    try {
      const ready = cases.flatMap(([script, given]) => {
        const body = PRELUDE + script.source;
        const { pieces, faults } = compileTemplate(body, dialect, PARAMETERS);
        if (faults.length > 0) throw new Error(`Refused: ${JSON.stringify({ body, faults })}`);
        const rendered = renderTemplate(pieces, toMap(given));
        if (rendered.kind === "script") return [{ body, text: rendered.text, expected: script.seen(given) }];
        // Only a quoted here-document may refuse a value, and only one with another line in it or at its own end.
        expect(body).toMatch(/<<-?(?:'|"|\\)/);
        return [];
      });
      for (let start = 0; start < ready.length; start += BATCH) runs += runBatch(shell, directory, ready.slice(start, start + BATCH));
    } finally {
      rmSync(directory, { recursive: true });
    }
    expect(runs).toBeGreaterThan(CASES * 0.8);
  }, 600_000);
}

interface Ready {
  readonly body: string;
  readonly text: string;
  readonly expected: readonly string[];
}

/** Each script is read by an `eval` of its own, as `-c` would, in a subshell of its own. */
const DRIVER = `run() { script=$1; shift; (eval "$script"); printf 'END\\0END\\0'; }; for each do run "$each"; done`;

function runBatch(shell: string, directory: string, batch: readonly Ready[]): number {
  const output = execFileSync(shell, ["-c", DRIVER, "driver", ...batch.map(({ text }) => text)], {
    cwd: directory,
    encoding: "utf8",
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1e9,
  });
  const seen = output.split("END\0END\0");
  const canaries = readdirSync(directory);
  for (const [index, { body, text, expected }] of batch.entries()) {
    const wanted = expected.map((each) => `${each}\0`).join("");
    // bash uses two control characters for itself, and may drop or double them; it does no other harm to a value.
    const damaged = shell.endsWith("bash") ? /[\u0001\u007f]/g : /(?!)/g;
    if (seen[index]?.replaceAll(damaged, "") !== wanted.replaceAll(damaged, "") || canaries.length > 0) throw new Error(`Not as expected: ${JSON.stringify({ shell, body, text, wanted, seen: seen[index], canaries })}`);
  }
  return batch.length;
}

function toMap(given: Values): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(given).map(([name, value]) => [name, toRaw(value)]));
}

function toRaw(value: Value): unknown {
  return typeof value === "object" && value !== null && "number" in value ? parseKeepingNumbers(value.number) : value;
}
