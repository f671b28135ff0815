/** Places in a value, and what is found wrong at them. */
import { escape } from "./schema-node.ts";
import type { Violation } from "./tool.ts";

const MAX_VIOLATIONS = 32;

/** Where a value is in the input; the pointer is written only when something is wrong there. */
export interface Place {
  readonly parent: Place | null;
  readonly token: string;
}
export const ROOT: Place = { parent: null, token: "" };

/** Where violations are collected; null: nobody will read them. */
export type Faults = Violation[] | null;

/** Whether one more violation would be read. */
export function isOpen(faults: Faults): boolean {
  return faults !== null && faults.length < MAX_VIOLATIONS;
}

export function below(parent: Place, token: string): Place {
  return { parent, token };
}

function tokens(place: Place): readonly string[] {
  const list: string[] = [];
  for (let at: Place | null = place; at !== null && at.parent !== null; at = at.parent) list.push(at.token);
  return list.reverse();
}

/** A place in words: `"items[2].name"`. */
export function nameOf(place: Place): string {
  const path = tokens(place);
  if (path.length === 0) return "The input";
  const written = path.map((token, index) => /^\d+$/.test(token) ? `[${token}]` : index === 0 ? token : `.${token}`).join("");
  return `"${written.length > 200 ? `…${written.slice(-200)}` : written}"`.toWellFormed();
}

export function fail(faults: Faults, place: Place, fault: string): false {
  if (faults === null || faults.length > MAX_VIOLATIONS) return false;
  if (faults.length === MAX_VIOLATIONS) faults.push({ pointer: "", message: "There are more violations than these" });
  else faults.push({ pointer: tokens(place).map((token) => `/${escape(token)}`).join(""), message: `${nameOf(place)} ${fault}` });
  return false;
}

/** No alternative fits: say why for the one that came closest. */
export function failAll(faults: Faults, place: Place, attempts: readonly (readonly Violation[])[]): false {
  if (faults === null) return false;
  const best = attempts.reduce((left, right) => (right.length < left.length ? right : left), attempts[0] ?? []);
  const reasons = attempts.every((attempt) => attempt.length <= 1) ? attempts.slice(0, 6).flat() : best.slice(0, 3);
  const sentences = [...new Set(reasons.map(({ message }) => message))].join("; ");
  return fail(faults, place, `fits none of ${attempts.length} alternatives${sentences === "" ? "" : `: ${sentences.slice(0, 600)}`}`);
}
