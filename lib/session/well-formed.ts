/**
 * Text is well-formed Unicode (promise P9). Bytes that come in are UTF-8 already, so half of a surrogate pair can only be
 * an escape of their JSON, in a text or in a name.
 */
import { toPointerToken } from "./json-pointer.ts";

/** `pointer`: RFC 6901, itself well-formed. */
export interface IllFormed {
  readonly pointer: string;
  readonly what: "text" | "name";
}

const LONE_ESCAPE = /\\u[dD][89a-fA-F]/;
const MOST_PLACES = 16;

/** The places of a document that hold half of a surrogate pair; `json` is what it was read from. */
export function illFormedPlaces(json: string, document: unknown): readonly IllFormed[] {
  if (!LONE_ESCAPE.test(json)) return [];
  const places: IllFormed[] = [];
  // No recursion: a document may be nested deeper than the stack.
  const open: [pointer: string, value: unknown][] = [["", document]];
  for (let next = open.pop(); next !== undefined && places.length < MOST_PLACES; next = open.pop()) {
    const [pointer, value] = next;
    if (typeof value === "string" && !value.isWellFormed()) places.push({ pointer, what: "text" });
    if (typeof value !== "object" || value === null) continue;
    for (const [name, each] of Object.entries(value)) {
      const place = `${pointer}/${toPointerToken(name.toWellFormed())}`;
      if (!name.isWellFormed()) places.push({ pointer: place, what: "name" });
      open.push([place, each]);
    }
  }
  return places;
}

/** The value itself if all of it is well-formed; else a copy with U+FFFD in place of each half. @param value of bounded depth. */
export function toWellFormedJson(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const parts = items.map(toWellFormedJson);
    return parts.every((part, index) => part === items[index]) ? items : parts;
  }
  const members = Object.entries(value);
  const parts = members.map(([name, part]) => [name.toWellFormed(), toWellFormedJson(part)] as const);
  const isSame = parts.every(([name, part], index) => name === members[index]?.[0] && part === members[index]?.[1]);
  return isSame ? value : Object.fromEntries(parts);
}
