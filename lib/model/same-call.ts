/** Whether a fragment is of a call that there is; the rules are those of the assembly. */
import type { CallFragment, GrowingCall } from "./growing-call.ts";

export function isBlank(fragment: CallFragment): boolean {
  return !fragment.id && !fragment.name && !fragment.arguments;
}

/** C11. */
export function withoutRepeats(list: readonly CallFragment[]): readonly CallFragment[] {
  const seen = new Set<string>();
  return list.filter(({ id, index, name, arguments: text }) => {
    if (!id || !name || !text) return true;
    const key = JSON.stringify([id, index, name, text]);
    return !seen.has(key) && seen.add(key);
  });
}

/** The fragment with the name that came before it and may begin a call with it (C7). */
export function withName(fragment: CallFragment, found: GrowingCall | undefined): CallFragment {
  const name = found?.againWith(fragment.name);
  return name === undefined || name === fragment.name ? fragment : { ...fragment, name };
}

/** True if a fragment is not of the same call as an earlier one in its list. At one index it may be a second piece of it. */
export function isAnother(call: GrowingCall, fragment: CallFragment): boolean {
  if (!fragment.name) return false;
  if (fragment.index === undefined || fragment.name !== call.name || isRenamed(call, fragment)) return true;
  const isMore = call.arguments.begun ? call.arguments.status !== "complete" : Boolean(fragment.arguments);
  const { arguments: text = "" } = fragment;
  return !isMore && (!fragment.id || (text.trim() !== "" && !call.arguments.repeats(text)));
}

/** C10. */
export function isSaidAgain(call: GrowingCall, { id, name, index }: CallFragment): boolean {
  const isThere = index === undefined || call.index === undefined || index === call.index;
  return isThere && Boolean(id) && id === call.id && (!name || name === call.name);
}

/** True if both have ids, and not the same. */
export function isRenamed(call: GrowingCall, { id }: CallFragment): boolean {
  return Boolean(id) && call.id !== undefined && id !== call.id;
}

/** `other`: by its id the fragment is of another call. */
export function opensNew(call: GrowingCall, { id, name = "", arguments: text = "" }: CallFragment, other: boolean): boolean {
  const { begun, mayBeWhole, status } = call.arguments;
  if (call.ended && (!id || id !== call.id)) return true;
  if (call.name === "") return other && status === "complete" && text.trim() !== "";
  if (call.nameWith(name, other) === null) return true;
  if (!begun || (status === "complete" && Boolean(id) && id === call.id)) return false;
  if (status !== "complete") return text.trim() !== "" && (other || mayBeWhole) && !call.arguments.fits(text);
  if (other) return text === "" || text.trim() !== "";
  return text.trimStart().startsWith("{") && !call.arguments.repeats(text);
}
