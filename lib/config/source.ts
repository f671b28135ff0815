/** Where a setting comes from, so that `orrery config` and every complaint can say so. */
import type { Position } from "./located-json.ts";

/** Least specific first. `organisation` also sets ceilings that nothing lifts. */
export const SCOPES = ["default", "organisation", "user", "project", "environment", "flag"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Source {
  readonly scope: Scope;
  /** As the user would find it: `tools.bash`, `ORRERY_MODEL`, `--model`. */
  readonly key: string;
  /** The file, if it is one. */
  readonly path?: string;
  readonly position?: Position;
}

/** A value and where it comes from. */
export interface Sourced<T> {
  readonly value: T;
  readonly source: Source;
}

export function describeSource({ scope, key, path, position }: Source): string {
  if (path === undefined) return scope === "default" ? "the default" : `"${key}"`;
  return `"${key}" in ${path}${position === undefined ? "" : `:${position.line}:${position.column}`}`;
}
