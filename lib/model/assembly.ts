/**
 * Fragments of one attempt's tool calls → calls. Pure: no clock, no I/O. A new attempt needs a new assembly.
 *
 * C1  The index is the key; an id only binds. Without an index the id is the key, and without both a fragment
 *     continues the last call.
 * C2  A new id or a new name at an occupied index opens a new call. An id alone does not while the call there is
 *     unfinished: some servers invent a new id for every fragment.
 * C3  Calls keep the order in which they first appeared.
 * C4  `call_ready` is given once, with the fragment that completes the arguments.
 * C5  Arguments that a length limit cut off never become complete, not even as none at all.
 */
import { ArgumentsText } from "./arguments-text.ts";
import { ModelError, type ModelEvent, type ModelReply } from "./model.ts";

/** Any part of a call. Blank strings count as absent. */
export interface CallFragment {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
}

export type CallProgress = Extract<ModelEvent, { readonly type: "call_announced" | "call_ready" }>;
export type AssembledCall = ModelReply["calls"][number];

export const MAX_CALLS = 256;

export class CallAssembly {
  readonly #calls: GrowingCall[] = [];
  readonly #byIndex = new Map<number, GrowingCall>();

  /** Takes one fragment; gives what it brought about. */
  add(fragment: CallFragment): readonly CallProgress[] {
    if (!fragment.id && !fragment.name && !fragment.arguments) return [];
    const found = this.#find(fragment);
    const call = found === undefined || opensNew(found, fragment) ? this.#open() : found;
    if (fragment.index !== undefined) {
      call.index = fragment.index;
      this.#byIndex.set(fragment.index, call);
    }
    return call.add(fragment);
  }

  /**
   * Takes a call that the stream says once more as a whole: what is still missing of it is taken, the rest is not.
   * A whole that contradicts its pieces spoils the call.
   */
  settle(fragment: CallFragment & { readonly index: number }): readonly CallProgress[] {
    const call = this.#byIndex.get(fragment.index);
    if (call === undefined) return this.add(fragment);
    const [whole, known] = [fragment.arguments ?? "", call.arguments.text];
    return call.add({ ...fragment, arguments: whole.startsWith(known) ? whole.slice(known.length) : whole });
  }

  get size(): number {
    return this.#calls.length;
  }

  /** The call at this index is over. If no arguments came, it has those it began with. */
  end(index: number, initial = "{}"): readonly CallProgress[] {
    const call = this.#byIndex.get(index);
    if (call === undefined || call.arguments.text.trim() !== "") return [];
    call.assumed = initial === "{}";
    return call.add({ arguments: initial });
  }

  /** True while some call has arguments that are neither blank nor a whole object. */
  get unfinished(): boolean {
    return this.#calls.some((call) => call.arguments.status !== "complete" && call.arguments.text.trim() !== "");
  }

  /**
   * The calls as the reply asks for them. `cut`: the reply hit a length limit; a last call without arguments is then
   * one that was not written to its end, and is left out.
   */
  finish(cut: boolean): readonly AssembledCall[] {
    const last = this.#calls.at(-1);
    const unwritten = last !== undefined && (last.assumed || last.arguments.text.trim() === "");
    const calls = cut && unwritten ? this.#calls.slice(0, -1) : this.#calls;
    return calls.map((call) => ({
      ...(call.id === undefined ? {} : { provider_id: call.id }),
      name: call.name,
      arguments: call.arguments.finish(cut).toWellFormed(),
    }));
  }

  #find(fragment: CallFragment): GrowingCall | undefined {
    const last = this.#calls.at(-1);
    if (fragment.index === undefined) return this.#calls.findLast((call) => fragment.id && call.id === fragment.id) ?? last;
    const indexed = this.#byIndex.get(fragment.index);
    if (indexed !== undefined) return indexed;
    const continuesUnindexed = last?.index === undefined && !fragment.name && (!fragment.id || fragment.id === last?.id);
    return continuesUnindexed ? last : undefined;
  }

  #open(): GrowingCall {
    if (this.#calls.length >= MAX_CALLS) {
      throw new ModelError("malformed", `Cannot take the reply as it asks for more than ${MAX_CALLS} tool calls`);
    }
    const call = new GrowingCall(this.#calls.length);
    this.#calls.push(call);
    return call;
  }
}

function opensNew(call: GrowingCall, fragment: CallFragment): boolean {
  const complete = call.arguments.status === "complete";
  if (fragment.id && call.id !== undefined && fragment.id !== call.id) {
    return fragment.index === undefined || Boolean(fragment.name) || (complete && Boolean(fragment.arguments));
  }
  if (!fragment.name || call.name === "") return false;
  if (fragment.name !== call.name) return true;
  const another = fragment.arguments?.trimStart() ?? "";
  return complete && another.startsWith("{") && !call.arguments.repeats(another);
}

class GrowingCall {
  id: string | undefined;
  name = "";
  index: number | undefined;
  /** No arguments came, and the call was taken to have none. */
  assumed = false;
  readonly arguments = new ArgumentsText();
  #ready = false;

  constructor(readonly position: number) {}

  add(fragment: CallFragment): readonly CallProgress[] {
    const progress: CallProgress[] = [];
    this.id ??= fragment.id || undefined;
    if (this.name === "" && fragment.name) {
      this.name = fragment.name;
      progress.push({ type: "call_announced", position: this.position, name: this.name });
    }
    if (fragment.arguments) this.arguments.append(fragment.arguments);
    if (!this.#ready && this.name !== "" && this.arguments.status === "complete") {
      this.#ready = true;
      progress.push({ type: "call_ready", position: this.position, name: this.name, arguments: this.arguments.text.toWellFormed() });
    }
    return progress;
  }
}
