/** Places in a value, and what is found wrong at them. */
import { toPointerToken } from "../session/json-pointer.ts";
import { numberToken, parseKeepingNumbers } from "../session/json.ts";
import { own } from "./schema-node.ts";
import type { Violation } from "./tool.ts";

/** What is told one by one of the violations of one value; a model that repairs those is told of the rest. */
const MAX_VIOLATIONS = 100;
const MAX_CHARACTERS = 64 * 1024;
const MAX_POINTER = 1000;
const MAX_NAME = 200;

/** Where a value is in the input; the pointer is written only when something is wrong there. */
export interface Place {
  readonly parent: Place | null;
  readonly token: string;
}
export const ROOT: Place = { parent: null, token: "" };

/** Where violations are collected; null: nobody will read them. */
export type Faults = FaultList | null;

/** Collects what is wrong. Past the bound, which is that of every dialect, only the count goes on. */
export class FaultList {
  readonly kept: Violation[] = [];
  #characters = 0;
  #more = 0;

  get isOpen(): boolean {
    return this.kept.length < MAX_VIOLATIONS && this.#characters < MAX_CHARACTERS;
  }

  get size(): number {
    return this.kept.length + this.#more;
  }

  add(violation: Violation): void {
    if (!this.isOpen) return this.countOne();
    this.#characters += violation.pointer.length + violation.message.length;
    this.kept.push(violation);
  }

  countOne(): void {
    this.#more++;
  }

  /** With one more that says how many are not here. */
  toViolations(): readonly Violation[] {
    if (this.#more === 0) return this.kept;
    const message = this.#more === 1 ? "There is 1 more violation" : `There are ${this.#more} more violations`;
    return [...this.kept, { pointer: "", message }];
  }
}

export function below(parent: Place, token: string): Place {
  return { parent, token };
}

/** RFC 6901, as far as anybody reads it. */
export function pointerOf(place: Place): string {
  const pointer = tokens(place).map((token) => `/${toPointerToken(token)}`).join("");
  return pointer.length > MAX_POINTER ? `${pointer.slice(0, MAX_POINTER).toWellFormed()}…` : pointer;
}

function tokens(place: Place): readonly string[] {
  const list: string[] = [];
  for (let at: Place | null = place; at !== null && at.parent !== null; at = at.parent) list.push(at.token);
  return list.reverse();
}

/** What was written for the number at a place, of the text that the value was read from. */
export function createNumberReader(text: string | undefined): (place: Place) => string | null {
  let document: unknown;
  return (place) => {
    if (text === undefined) return null;
    document ??= parseKeepingNumbers(text);
    let at = document;
    for (const token of tokens(place)) at = typeof at === "object" && at !== null ? own(at, token) : undefined;
    return numberToken(at);
  };
}

/** A place in words: `"items[2].name"`; `whole` is what the value itself is called. */
export function nameOf(place: Place, whole: string): string {
  const path = tokens(place);
  if (path.length === 0) return whole;
  const written = path.map((token, index) => /^\d+$/.test(token) ? `[${token}]` : index === 0 ? token : `.${token}`).join("");
  return `"${written.length > MAX_NAME ? `…${written.slice(-MAX_NAME)}` : written}"`.toWellFormed();
}
