/** Bodies under the real shells, in a folder of their own. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderTemplate } from "../../../lib/tools/nanocoder/render.ts";
import type { Dialect } from "../../../lib/tools/nanocoder/shell-state.ts";
import { compileTemplate, type Declared } from "../../../lib/tools/nanocoder/template.ts";

export const BOTH: readonly Dialect[] = ["bash", "sh"];

/** `a`, `b`: always there; `o`: may be absent; `l`: a list; `f`: may be absent, for sections. */
export const DECLARED: ReadonlyMap<string, Declared> = new Map([
  ["a", { optional: false, list: false }],
  ["b", { optional: false, list: false }],
  ["o", { optional: true, list: false }],
  ["f", { optional: true, list: false }],
  ["l", { optional: false, list: true }],
]);

/** @throws {Error} if the body is refused at load or the values at render. */
export function render(body: string, values: Readonly<Record<string, unknown>>, dialect: Dialect = "bash"): string {
  const { pieces, faults } = compileTemplate(body, dialect, DECLARED);
  if (faults.length > 0) throw new Error(`Refused at load: ${faults.map(({ code, at }) => `${code} at ${at}`).join(", ")}`);
  const rendered = renderTemplate(pieces, new Map(Object.entries(values)));
  if (rendered.kind === "refused") throw new Error(rendered.problem);
  return rendered.text;
}

export function faultsOf(body: string, dialect: Dialect = "bash"): readonly string[] {
  return compileTemplate(body, dialect, DECLARED).faults.map(({ code, at }) => `${code}@${at}`);
}

export interface Ran {
  readonly stdout: string;
  /** A canary that only the text of a value could have made is there. */
  readonly pwned: boolean;
}

export function runScript(script: string, dialect: Dialect): Ran {
  const directory = mkdtempSync(join(tmpdir(), "orrery-shell-"));
  try {
    const { stdout } = spawnSync(`/bin/${dialect}`, ["-c", script], {
      cwd: directory,
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return { stdout, pwned: existsSync(join(directory, "pwned")) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
