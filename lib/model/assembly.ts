/**
 * Fragments of one attempt's tool calls → calls. Pure: no clock, no I/O. A new attempt needs a new assembly.
 *
 * C1  The index is the key; an id only binds. Without an index the id is the key, and without both a fragment
 *     continues the last call, or in a list of several the call at its place in the list before.
 * C2  Only a name opens a call where there is one already: a new name, a name with a new id, a name with an object that
 *     is not the one that is there, any name once the call there is over. It does not with the id that is there, nor
 *     while what comes with it continues the arguments there, says them again, or can be their beginning. Two named
 *     entries of one list are two calls, however equal they are.
 * C3  Calls keep the order in which they first appeared.
 * C4  `call_ready` is given with the fragment that completes the arguments: once, and again if others take their place,
 *     then with the end of the call, or with the next one, as they may grow again; in place of none at all, at once.
 * C5  Arguments that a length limit cut off never become complete, not even as none at all.
 * C6  Arguments with which a call begins are ready at once if they are an object that is not empty, and stand unless
 *     others come: pieces that follow say all of it, and are never joined to them.
 * C7  A name without arguments at a call that may be whole is a repeat or begins another call: the next piece there
 *     decides as if it carried the name itself.
 * C8  Until arguments come, a name grows: by a piece with which it begins the name of a tool, or by all of it so far.
 *     It is told when it is a tool's, or no tool's name begins with it, or arguments or another call come.
 * C9  Some servers invent a new id for every fragment. Once one is seen to, ids tell no calls apart.
 * C10 A call that begins again, with its id, its name and its index, is the same call. Its arguments are said anew if
 *     they begin with an object, else they go on; if none come, those before stand. So are arguments that follow an
 *     empty object, and those that come as an object instead of as text.
 * C11 An entry of a list with the id, the name and the arguments of another one there is that one, said again: an id is
 *     no other call's.
 */
import { type CallFragment, type CallProgress, GrowingCall } from "./growing-call.ts";
import { ModelError, type ModelReply } from "./model.ts";
import { pair } from "./pairing.ts";
import { isAnother, isBlank, isRenamed, isSaidAgain, opensNew, withName, withoutRepeats } from "./same-call.ts";
import { ANY_NAME, type ToolNames } from "./tool-names.ts";

export type AssembledCall = ModelReply["calls"][number];

export const MAX_CALLS = 256;

export class CallAssembly {
  readonly #names: ToolNames;
  readonly #calls: GrowingCall[] = [];
  readonly #byIndex = new Map<number, GrowingCall>();
  /** The calls of the last list of several entries, by their places in it. */
  #row: readonly (GrowingCall | undefined)[] = [];
  /** C9. */
  #inventsIds = false;

  constructor(names: ToolNames = ANY_NAME) {
    this.#names = names;
  }

  /** Takes one fragment; gives what it brought about. */
  add(fragment: CallFragment): readonly CallProgress[] {
    if (isBlank(fragment)) return [];
    const found = this.#find(fragment);
    const named = withName(fragment, found);
    return this.#take(named, found === undefined || this.#opensNew(found, named) ? this.#open() : found);
  }

  /** Takes the fragments of one list. */
  addList(list: readonly CallFragment[]): readonly CallProgress[] {
    const fragments = withoutRepeats(list);
    const [only] = fragments;
    if (fragments.length < 2) return only === undefined ? [] : this.add(only);
    const before = this.#row.at(-1) === this.#calls.at(-1) ? this.#row : [];
    const row: (GrowingCall | undefined)[] = fragments.map(() => undefined);
    const taken = new Set<GrowingCall>();
    const progress = fragments.flatMap((fragment, place) => {
      if (isBlank(fragment)) return [];
      const found = this.#find(fragment, before[place]);
      const named = withName(fragment, found);
      const opens = found === undefined || this.#opensNew(found, named) || (taken.has(found) && isAnother(found, fragment));
      const call = opens ? this.#open() : found;
      row[place] = call;
      taken.add(call);
      return this.#take(named, call);
    });
    this.#row = row;
    return progress;
  }

  /** Takes the start of a call, with the arguments it begins with if there are any (C6, C10). What was there is over. */
  begin(fragment: CallFragment & { readonly index: number }): readonly CallProgress[] {
    const { arguments: initial = "", ...start } = fragment;
    if (isBlank(start)) return this.add(fragment);
    const again = this.#calls.findLast((call) => isSaidAgain(call, fragment));
    if (again !== undefined) return this.#beginAgain(again, fragment);
    const there = this.#byIndex.get(fragment.index);
    const isAgain = there === undefined || there.ended || (Boolean(start.id) && start.id === there.id);
    const progress = [...isAgain ? [] : there.end(), ...this.add(start)];
    return [...progress, ...this.#byIndex.get(fragment.index)?.begin(initial) ?? []];
  }

  /**
   * Takes a call that the stream says once more as a whole: what is still missing of it is taken, the rest is not.
   * A whole that contradicts its pieces spoils the call.
   */
  settle(fragment: CallFragment & { readonly index: number }): readonly CallProgress[] {
    const call = this.#byIndex.get(fragment.index);
    if (call === undefined) return this.add(fragment);
    return call.settle(fragment);
  }

  /** Takes all calls once more, each as a whole: those that are not complete are completed, those that are new are opened. */
  settleList(fragments: readonly CallFragment[]): readonly CallProgress[] {
    const said = withoutRepeats(fragments).filter((fragment) => !isBlank(fragment));
    if (said.length > MAX_CALLS) throw tooMany();
    const partners = pair(
      said,
      this.#calls,
      (fragment, call) => Boolean(fragment.id) && fragment.id === call.id,
      (fragment, call) => !fragment.name || call.name === "" || fragment.name === call.name,
    );
    return said.flatMap((fragment, place) => {
      const call = partners[place];
      if (call === undefined) return this.#take(fragment, this.#open());
      return call.isWhole ? [] : call.settle(fragment);
    });
  }

  /** The call at this index is not asked for after all. */
  drop(index: number): void {
    const call = this.#byIndex.get(index);
    if (call !== undefined) call.dropped = true;
  }

  /** True unless the call at this place was dropped. */
  keeps(position: number): boolean {
    return this.#calls[position]?.dropped !== true;
  }

  /** True if the call at this index has all its arguments. */
  isWhole(index: number): boolean {
    return this.#byIndex.get(index)?.isWhole ?? false;
  }

  get size(): number {
    return this.#calls.length;
  }

  /** The call at this index is over. If no arguments came, it has those it began with, nearly always none. */
  end(index: number): readonly CallProgress[] {
    return this.#byIndex.get(index)?.end() ?? [];
  }

  /** True while some call has arguments that are neither blank nor a whole object. */
  get unfinished(): boolean {
    return this.#calls.some((call) => call.arguments.begun && call.arguments.status !== "complete");
  }

  /** True if the last call may still get arguments: none came. */
  get unwritten(): boolean {
    return this.#calls.at(-1)?.isUnwritten ?? false;
  }

  /** The reply is over: tells what waited for that. */
  endAll(): readonly CallProgress[] {
    return this.#calls.flatMap((call) => call.settled());
  }

  /**
   * The calls as the reply asks for them. `cut`: the reply hit a length limit; a last call without arguments is then
   * one that was not written to its end, and is left out.
   */
  finish(cut: boolean): readonly AssembledCall[] {
    const last = this.#calls.at(-1);
    const calls = cut && last?.isUnwritten ? this.#calls.slice(0, -1) : this.#calls;
    return calls.filter((call) => !call.dropped).map((call) => ({
      ...(call.id === undefined ? {} : { provider_id: call.id.toWellFormed() }),
      name: call.toolName,
      arguments: call.finish(cut).toWellFormed(),
    }));
  }

  #beginAgain(call: GrowingCall, { index, arguments: initial = "" }: CallFragment & { readonly index: number }): readonly CallProgress[] {
    const there = this.#byIndex.get(index);
    this.#byIndex.set(index, call);
    return [...there === call ? [] : there?.end() ?? [], ...call.beginAgain(initial)];
  }

  #take(fragment: CallFragment, call: GrowingCall): readonly CallProgress[] {
    if (fragment.index !== undefined) {
      call.index = fragment.index;
      this.#byIndex.set(fragment.index, call);
    }
    const before = this.#calls[call.position - 1];
    return [...before?.announce() ?? [], ...before?.settled() ?? [], ...call.add(fragment)];
  }

  /** `aligned`: the call at the fragment's place in the list before. */
  #find(fragment: CallFragment, aligned?: GrowingCall): GrowingCall | undefined {
    const last = this.#calls.at(-1);
    if (fragment.index === undefined) {
      return this.#calls.findLast((call) => fragment.id && call.id === fragment.id) ?? aligned ?? last;
    }
    const indexed = this.#byIndex.get(fragment.index);
    if (indexed !== undefined) return this.#earlierAt(indexed, fragment) ?? indexed;
    const continuesUnindexed = last?.index === undefined && !fragment.name && (!fragment.id || fragment.id === last?.id);
    return continuesUnindexed ? last : undefined;
  }

  /** The call of this id, if it was at this index before the one that is there now. */
  #earlierAt(indexed: GrowingCall, { id, index }: CallFragment): GrowingCall | undefined {
    if (!id || id === indexed.id) return undefined;
    return this.#calls.findLast((call) => call.id === id && call.index === index);
  }

  /** True if a fragment that was `found` to be of this call begins another one (C2). */
  #opensNew(found: GrowingCall, fragment: CallFragment): boolean {
    const renamed = isRenamed(found, fragment);
    const opens = Boolean(fragment.name) && opensNew(found, fragment, renamed && !this.#inventsIds);
    this.#inventsIds ||= renamed && !opens && found.name !== "";
    return opens;
  }

  #open(): GrowingCall {
    if (this.#calls.length >= MAX_CALLS) throw tooMany();
    const call = new GrowingCall(this.#calls.length, this.#names);
    this.#calls.push(call);
    return call;
  }
}

function tooMany(): ModelError {
  return new ModelError("malformed", `Cannot take the reply as it asks for more than ${MAX_CALLS} tool calls`);
}
