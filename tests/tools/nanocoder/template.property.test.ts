/**
 * Values of any kind in bodies of any kind, under the real shells. `ORRERY_TEMPLATE_CASES=5000` runs more of them,
 * `ORRERY_TEMPLATE_SEED` others.
 *
 * Two claims: in a well-formed body the program sees exactly the values; and in any body that is accepted, however
 * odd, nothing that a value says is run.
 */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parseKeepingNumbers } from "../../../lib/session/json.ts";
import { renderTemplate } from "../../../lib/tools/nanocoder/render.ts";
import { compileTemplate } from "../../../lib/tools/nanocoder/template.ts";
import { warnOfSecondReading } from "../../../lib/tools/nanocoder/warnings.ts";
import { attacks, handovers, strikes } from "./shell-attacks.ts";
import { oddBodies, PARAMETERS, PRELUDE, scripts, type Value, type Values, values, venom } from "./shell-grammar.ts";

// What is rendered does not depend on the host; starting a shell takes Deno 2.9.6 five times as long as Bun.
const CASES = Number(process.env["ORRERY_TEMPLATE_CASES"] ?? ("Deno" in globalThis ? 400 : 2000));
const SEED = Number(process.env["ORRERY_TEMPLATE_SEED"] ?? 20261129);
const BATCH = 40;
const SHELLS = [["bash", "/bin/bash"], ["sh", "/bin/sh"]] as const;

for (const [dialect, shell] of SHELLS) {
  test(`a program under ${shell} sees exactly the values, whatever they are and wherever they stand`, () => {
    const cases = fc.sample(fc.tuple(scripts({ bash: dialect === "bash" }), values), { numRuns: CASES, seed: SEED });
    const ready = cases.flatMap(([script, given]) => {
      const body = PRELUDE + script.source;
      const { pieces, faults } = compileTemplate(body, dialect, PARAMETERS);
      if (faults.length > 0) throw new Error(`Refused: ${JSON.stringify({ body, faults })}`);
      const rendered = renderTemplate(pieces, toMap(given));
      if (rendered.kind === "script") return [{ body, text: rendered.text, expected: script.seen(given) }];
      // Only a quoted here-document may refuse a value.
      expect(body).toMatch(/<<-?(?:'|"|\\)/);
      return [];
    });
    for (const { batch, output, canaries } of runBatches(shell, ready)) {
      const seen = output.split(END);
      for (const [index, { body, text, expected }] of batch.entries()) {
        const wanted = expected.map((each) => `${each}\0`).join("");
        // bash uses two control characters for itself, and may drop or double them; it does no other harm to a value.
        const own = dialect === "bash" ? /[\u0001\u007f]/g : /(?!)/g;
        const same = seen[index]?.replaceAll(own, "") === wanted.replaceAll(own, "");
        if (!same || canaries.length > 0) {
          throw new Error(`Not as expected: ${JSON.stringify({ body, text, wanted, seen: seen[index], canaries })}`);
        }
      }
    }
    expect(ready.length).toBeGreaterThan(CASES * 0.8);
  }, 600_000);

  test(`nothing that a value says is run by ${shell}, however odd the body is that was accepted`, () => {
    const cases = fc.sample(fc.tuple(oddBodies({ bash: dialect === "bash" }), venom), { numRuns: CASES * 2, seed: SEED });
    const ready = cases.flatMap(([body, given]) => {
      const { pieces, faults } = compileTemplate(body, dialect, PARAMETERS);
      const rendered = faults.length > 0 ? null : renderTemplate(pieces, toMap(given));
      return rendered?.kind === "script" ? [{ body, text: rendered.text }] : [];
    });
    for (const { batch, canaries } of runBatches(shell, ready)) {
      if (canaries.includes("pwned")) throw new Error(`One of these ran its value: ${JSON.stringify(batch)}`);
    }
    expect(ready.length).toBeGreaterThan(CASES * 0.5);
  }, 600_000);
}

const SECOND_READINGS = [
  ["by bash where it reads words a second time", attacks],
  ["by an interpreter to which a script hands it", handovers],
] as const;

for (const [where, bodies] of SECOND_READINGS) {
  test(`nothing that a value says is run ${where}, unless a warning says so`, () => {
    const cases = fc.sample(fc.tuple(bodies, strikes), { numRuns: CASES * 2, seed: SEED });
    const ready = cases.flatMap(([body, given]) => {
      const { pieces, faults, evaluations, uses } = compileTemplate(body, "bash", PARAMETERS);
      const told = evaluations.length > 0 || uses.some((use) => warnOfSecondReading(use) !== null);
      const rendered = faults.length > 0 || told ? null : renderTemplate(pieces, toMap(given));
      return rendered?.kind === "script" ? [{ body, text: rendered.text }] : [];
    });
    for (const { batch, canaries } of runBatches("/bin/bash", ready)) {
      if (canaries.includes("pwned")) throw new Error(`One of these ran its value: ${JSON.stringify(culprits(batch))}`);
    }
    expect(ready.length).toBeGreaterThan(CASES * 0.1);
  }, 600_000);
}

function culprits<T extends { readonly text: string }>(batch: readonly T[]): readonly T[] {
  return batch.filter((each) => runBatches("/bin/bash", [each]).some(({ canaries }) => canaries.includes("pwned")));
}

/** Each script is read by an `eval` of its own, as `-c` would, in a subshell of its own with little time. */
const DRIVER = `run() { script=$1; shift; (ulimit -t 2; eval "$script"); printf 'END\\0END\\0'; }; for each do run "$each"; done`;
const END = "END\0END\0";

interface Ran<T> {
  readonly batch: readonly T[];
  readonly output: string;
  /** Files that are there afterwards. */
  readonly canaries: readonly string[];
}

function runBatches<T extends { readonly text: string }>(shell: string, ready: readonly T[]): readonly Ran<T>[] {
  return Array.from({ length: Math.ceil(ready.length / BATCH) }, (_, index) => {
    const batch = ready.slice(index * BATCH, (index + 1) * BATCH);
    const directory = mkdtempSync(join(tmpdir(), "orrery-template-"));
    try {
      const { stdout } = spawnSync(shell, ["-c", DRIVER, "driver", ...batch.map(({ text }) => text)], {
        cwd: directory,
        encoding: "utf8",
        env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
        stdio: ["ignore", "pipe", "ignore"],
        maxBuffer: 1e9,
        timeout: 60_000,
        killSignal: "SIGKILL",
      });
      return { batch, output: stdout, canaries: readdirSync(directory) };
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
}

function toMap(given: Values): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(given).map(([name, value]) => [name, toRaw(value)]));
}

function toRaw(value: Value): unknown {
  return typeof value === "object" && value !== null && "number" in value ? parseKeepingNumbers(value.number) : value;
}
