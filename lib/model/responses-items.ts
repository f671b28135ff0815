/**
 * Items of a Responses stream's output: what is kept of them, which of them an event is of, and which are the same.
 *
 * I1  An event is of the item with its id, else of the one at its place in the output.
 * I2  An event of a call that is of no known id is of another item than the one at its place if that one is over, or
 *     is no call, or if its beginning was not said and ids are known to be kept.
 * I3  An item that begins with the type, the name and an id of a known one at its place, or with both ids of a known
 *     call, is that one, said again.
 */
import { Echo } from "./echo.ts";
import { type Fields, numberIn, textIn } from "./fields.ts";
import { ModelError } from "./model.ts";
import { pair } from "./pairing.ts";

const MAX_ITEMS = 4096;

/** An item of the output. */
export interface Item {
  /** Counts the items of this reply from 0. */
  readonly key: number;
  /** In the output, as far as it was said. */
  place: number;
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
  /** The same text, which may come again. */
  readonly echo: Echo;
  /** Some of its reasoning was shown. */
  thought: boolean;
  /** The stream said its beginning. */
  begun: boolean;
  /** Of a call: how far it is. */
  progress: CallEvent;
}

/** What is said of a call, in this order. */
type CallEvent = 0 | typeof ARGUMENTS_DONE | typeof ITEM_DONE;
export const ARGUMENTS_DONE = 1;
const ITEM_DONE = 2;

/** The output as a whole, without a call that it lists once more: with the same id or call id, name and arguments. */
export function withoutRepeats(output: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>();
  return output.map((wire) => {
    if (!isCall(wire)) return wire;
    const rest = [textIn(wire, "name"), (wire as Fields)["arguments"]];
    const keys = ["id", "call_id"].flatMap((key) =>
      textIn(wire, key) === undefined ? [] : [JSON.stringify([key, textIn(wire, key), ...rest])]
    );
    const isRepeat = keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    return isRepeat ? null : wire;
  });
}

export class Items {
  readonly #all: Item[] = [];
  readonly #byId = new Map<string, Item>();
  readonly #byPlace = new Map<number, Item>();
  /** An item whose beginning was not said came again under its id. */
  #keepsIds = false;

  get all(): readonly Item[] {
    return this.#all;
  }

  of(event: Fields): Item {
    return this.#byId.get(idIn(event) ?? "") ?? this.#byPlace.get(placeIn(event)) ?? this.#addFor(event);
  }

  /** The item that this event says to be over. */
  done(event: Fields): Item {
    return isCall(event.item) ? this.ofCall(event, ITEM_DONE) : this.of(event);
  }

  ofCall(event: Fields, progress: CallEvent): Item {
    const id = idIn(event);
    const known = this.#byId.get(id ?? "");
    this.#keepsIds ||= known?.begun === false;
    const there = known ?? this.#byPlace.get(placeIn(event));
    const isOther = there === undefined || (known === undefined && this.#isPassed(there, event, progress));
    const item = isOther ? this.#addFor(event) : there;
    if (progress > item.progress) item.progress = progress;
    return item;
  }

  /** The item that this event begins. */
  begin(event: Fields): Item {
    const known = this.#all.findLast((each) => isSaidAgain(event, each));
    const item = known === undefined ? this.#addFor(event) : this.#place(known, event);
    item.begun = true;
    item.progress = 0;
    item.echo.restart();
    return item;
  }

  add(): Item {
    if (this.#all.length >= MAX_ITEMS) throw tooMany();
    const item = newItem(this.#all.length);
    this.#all.push(item);
    return item;
  }

  /** For each item of the output as a whole the one that it is, if it is known. */
  pairWith(output: readonly unknown[]): readonly (Item | undefined)[] {
    if (output.length > MAX_ITEMS) throw tooMany();
    return pair(output, this.#all, isSameItem, isAlike);
  }

  #addFor(event: Fields): Item {
    return this.#place(this.add(), event);
  }

  #place(item: Item, event: Fields): Item {
    item.place = placeIn(event);
    const id = idIn(event);
    if (id !== undefined) this.#byId.set(id, item);
    this.#byPlace.set(item.place, item);
    return item;
  }

  /** I2. */
  #isPassed(there: Item, event: Fields, progress: CallEvent): boolean {
    return isPast(there, progress, event.item) || (idIn(event) !== undefined && this.#keepsIds && !there.begun);
  }
}

function tooMany(): ModelError {
  return new ModelError("malformed", `Cannot take the reply as it has more than ${MAX_ITEMS} items`);
}

function idIn(event: Fields): string | undefined {
  return textIn(event, "item_id") ?? textIn(event.item, "id");
}

function placeIn(event: Fields): number {
  return numberIn(event, "output_index") ?? -1;
}

function newItem(key: number): Item {
  return {
    key,
    place: -1,
    fields: {},
    opaque: undefined,
    wire: {},
    said: new Set(),
    characters: 0,
    echo: new Echo(),
    thought: false,
    begun: false,
    progress: 0,
  };
}

export function isCall(wire: unknown): boolean {
  return textIn(wire, "type") === "function_call";
}

/** True if what is there is no call, or one of which such an event cannot come any more. */
function isPast({ wire, progress }: Item, event: CallEvent, said: unknown): boolean {
  const type = textIn(wire, "type");
  if (type !== undefined && type !== "function_call") return true;
  const id = textIn(said, "call_id");
  return progress > 0 && event <= progress && (id === undefined || id !== textIn(wire, "call_id"));
}

function isSameItem(wire: unknown, { wire: known }: Item): boolean {
  return isEqual("type", wire, known) && (isEqual("call_id", wire, known) || isEqual("id", wire, known));
}

/** I3. */
function isSaidAgain(event: Fields, { wire, place, begun }: Item): boolean {
  const said = event.item;
  if (!begun || !isEqual("type", said, wire) || textIn(said, "name") !== textIn(wire, "name")) return false;
  const [callId, id] = [isEqual("call_id", said, wire), isEqual("id", said, wire)];
  return (callId && id) || ((callId || id) && placeIn(event) === place);
}

function isEqual(key: string, left: unknown, right: unknown): boolean {
  return textIn(left, key) !== undefined && textIn(left, key) === textIn(right, key);
}

/** Items whose beginning was not said, but whose deltas came, are messages or calls by what came. */
function isAlike(wire: unknown, item: Item): boolean {
  const type = textIn(item.wire, "type") ?? (item.said.size > 0 ? "message" : item.thought ? "reasoning" : "function_call");
  if (type !== textIn(wire, "type")) return false;
  return type !== "function_call" || (textIn(item.wire, "name") ?? textIn(wire, "name")) === textIn(wire, "name");
}
