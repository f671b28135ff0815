/** What is worth saying about a settings file, each with the place in it. */
import type * as v from "valibot";
import type { Path, Position } from "./located-json.ts";
import type { Scope, Source } from "./source.ts";

export interface SettingsDiagnostic {
  readonly severity: "error" | "warning" | "info";
  readonly code: string;
  readonly message: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** A file to read: `dialect` says whose file it is, as Stella's has many keys that are not for us. */
export interface SettingsOrigin {
  readonly path: string;
  readonly scope: Extract<Scope, "organisation" | "user" | "project">;
  readonly dialect: "orrery" | "stella";
}

/** Keys that one scope or more may not set, and why. */
const OUT_OF_PLACE: readonly { readonly path: readonly string[]; readonly scopes: readonly Scope[]; readonly reason: string }[] = [
  { path: ["trust"], scopes: ["project", "organisation"], reason: "counts only in your own settings" },
  { path: ["serve"], scopes: ["project"], reason: "does not count in a project's settings" },
  { path: ["tools", "env_withhold"], scopes: ["project"], reason: "does not count in a project's settings" },
  { path: ["tools", "env_allow"], scopes: ["project"], reason: "does not count in a project's settings" },
];

export class SettingsReport {
  readonly diagnostics: SettingsDiagnostic[] = [];

  constructor(readonly origin: SettingsOrigin, private readonly positionOf: (path: Path) => Position) {}

  get failed(): boolean {
    return this.diagnostics.some(({ severity }) => severity === "error");
  }

  source(path: Path, key = dotted(path)): Source {
    return { scope: this.origin.scope, key, path: this.origin.path, position: this.positionOf(path) };
  }

  error(path: Path, message: string): void {
    this.#add("error", "wrong_value", path, message);
  }

  warn(code: string, path: Path, message: string): void {
    this.#add("warning", code, path, message);
  }

  note(code: string, path: Path, message: string): void {
    this.#add("info", code, path, message);
  }

  issues(issues: readonly v.BaseIssue<unknown>[], below: Path = []): void {
    for (const issue of issues) {
      const path = [...below, ...(issue.path ?? []).map(({ key }) => key as string | number)];
      const got = issue.input === undefined ? "is missing" : `${issue.message}, not ${brief(issue.input)}`;
      this.error(path, `"${dotted(path)}" ${got}`);
    }
  }

  /** Whether the key counts in this scope; if not, that is said. */
  inPlace(path: readonly string[]): boolean {
    const rule = OUT_OF_PLACE.find((each) => each.scopes.includes(this.origin.scope) && dotted(each.path) === dotted(path));
    if (rule !== undefined) this.warn("out_of_place", path, `"${dotted(path)}" is ignored: it ${rule.reason}`);
    return rule === undefined;
  }

  #add(severity: SettingsDiagnostic["severity"], code: string, path: Path, message: string): void {
    this.diagnostics.push({ severity, code, message, path: this.origin.path, ...this.positionOf(path) });
  }
}

/** `hooks.PreToolUse[0].matcher` */
export function dotted(path: Path): string {
  return path.reduce<string>((text, key) => typeof key === "number" ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`, "");
}

/** Short, and without the user name, the password and the query of an address. */
function brief(value: unknown): string {
  const text = (JSON.stringify(value) ?? String(value)).replaceAll(/\/\/[^/@"\s]*@/g, "//…@")
    .replaceAll(/(\/\/[^?"\s]*\?)[^"\s]+/g, "$1…");
  return text.length <= 60 ? text : `${text.slice(0, 60).toWellFormed()}…`;
}
