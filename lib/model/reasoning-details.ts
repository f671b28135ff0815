/**
 * OpenRouter's `reasoning_details`, which must go back whole and in order. Their text comes in fragments: those that
 * follow each other with the same type and index are one entry.
 */
import { type Fields, isFields } from "./fields.ts";
import { ModelError } from "./model.ts";
import { MAX_TEXT } from "./reply.ts";

const GROWING = ["text", "summary"] as const;

export class ReasoningDetails {
  readonly #list: Record<string, unknown>[] = [];
  #characters = 0;

  get list(): readonly Fields[] {
    return this.#list;
  }

  add(details: readonly unknown[]): void {
    for (const detail of details) {
      if (!isFields(detail)) continue;
      this.#count(detail);
      const last = this.#list.at(-1);
      if (last !== undefined && continues(last, detail)) merge(last, detail);
      else this.#list.push({ ...detail });
    }
  }

  #count(detail: Fields): void {
    for (const value of Object.values(detail)) this.#characters += typeof value === "string" ? value.length : 8;
    if (this.#characters > MAX_TEXT) {
      throw new ModelError("malformed", `Cannot take the reply as its reasoning is longer than ${MAX_TEXT} characters`);
    }
  }
}

function continues(last: Fields, next: Fields): boolean {
  const grows = next.type === "reasoning.text" || next.type === "reasoning.summary";
  const sameId = last.id === undefined || last.id === null || next.id === undefined || next.id === null || last.id === next.id;
  return grows && last.type === next.type && last.index === next.index && sameId;
}

function merge(last: Record<string, unknown>, next: Fields): void {
  for (const [key, value] of Object.entries(next)) {
    if (value === null || value === undefined) continue;
    const growing = GROWING.some((each) => each === key) && typeof last[key] === "string" && typeof value === "string";
    last[key] = growing ? `${last[key]}${value}` : value;
  }
}
