/** Items of a Responses stream's output: what is kept of them, and which of them are the same. */
import { type Fields, textIn } from "./fields.ts";

export const MAX_ITEMS = 4096;

/** An item of the output. */
export interface Item {
  /** Counts the items of this reply from 0. */
  readonly key: number;
  /** What goes back with the text of a message. */
  readonly fields: Record<string, unknown>;
  /** What goes back as reasoning. */
  opaque: Record<string, unknown> | undefined;
  /** What the endpoint said of it: its latest form. */
  wire: Fields;
  /** The parts of its content whose text came. */
  readonly said: Set<number>;
  /** Of that text. */
  characters: number;
  /** Some of its reasoning was shown. */
  thought: boolean;
}

export function newItem(key: number): Item {
  return { key, fields: {}, opaque: undefined, wire: {}, said: new Set(), characters: 0, thought: false };
}

export function isCall(wire: unknown): boolean {
  return textIn(wire, "type") === "function_call";
}

export function isSameItem(wire: unknown, { wire: known }: Item): boolean {
  const same = (key: string) => textIn(wire, key) !== undefined && textIn(wire, key) === textIn(known, key);
  return same("type") && (same("call_id") || same("id"));
}

/** Items whose beginning was not said, but whose deltas came, are messages or calls by what came. */
export function isAlike(wire: unknown, item: Item): boolean {
  const type = textIn(item.wire, "type") ?? (item.said.size > 0 ? "message" : item.thought ? "reasoning" : "function_call");
  if (type !== textIn(wire, "type")) return false;
  return type !== "function_call" || (textIn(item.wire, "name") ?? textIn(wire, "name")) === textIn(wire, "name");
}
