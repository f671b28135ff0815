/** The scratch state: named texts that a session keeps for itself, a projection of its events. */
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { failed } from "./definition.ts";

export const MAX_CONTENT_BYTES = 1024 * 1024;
export const MAX_KEYS = 256;
/** Of all texts together as JSON: they travel with every call that reads them. */
export const MAX_SCRATCH_BYTES = 8 * 1024 * 1024;

/** Not a pattern of the schema: what a model reads there must be plain, and what it is told here is plainer. */
export const keySchema = { type: "string", minLength: 1, maxLength: 128, description: "Letters, digits, dots, underscores and hyphens." };

/** All texts by key. */
export function scratchOf(context: HostContext): ReadonlyMap<string, string> {
  const state = context.state?.["scratch"];
  if (typeof state !== "object" || state === null || Array.isArray(state)) return new Map();
  return new Map(Object.entries(state as JsonObject).flatMap(([key, value]) => typeof value === "string" ? [[key, value] as const] : []));
}

export function keyProblem(key: string): string | null {
  if (/^[A-Za-z0-9._-]{1,128}$/.test(key)) return null;
  return `The key ${JSON.stringify(key)} is not one: use 1 to 128 letters, digits, dots, underscores and hyphens.`;
}

export function noSuchKey(key: string, scratch: ReadonlyMap<string, string>): HostReply {
  const keys = [...scratch.keys()].sort();
  const known = keys.length === 0 ? "Nothing is saved." : `There are ${keys.slice(0, 20).join(", ")}${keys.length > 20 ? ", …" : ""}.`;
  return failed(`Nothing is saved under "${key}". ${known}`);
}
