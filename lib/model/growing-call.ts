/** One call as it comes: its id, its name, the arguments it began with, the pieces of arguments after them. */
import { canonicalText } from "../session/json.ts";
import { ArgumentsText } from "./arguments-text.ts";
import type { ModelEvent } from "./model.ts";
import { ObjectScanner } from "./object-scanner.ts";
import { isSaidAgain } from "./same-call.ts";
import type { ToolNames } from "./tool-names.ts";

/** Any part of a call. Blank strings count as absent. */
export interface CallFragment {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
  /** The arguments came as an object, not as text. */
  readonly whole?: boolean;
}

export type CallProgress = Extract<ModelEvent, { readonly type: "call_announced" | "call_ready" }>;

export class GrowingCall {
  id: string | undefined;
  /** As it came. */
  name = "";
  index: number | undefined;
  arguments = new ArgumentsText();
  ended = false;
  /** It is not asked for after all. */
  dropped = false;
  /** Its name came once more and without arguments after all of it may have come: that may be where another call begins. */
  namedAgain = false;
  /** The arguments it began with. */
  #initial = "";
  /** No arguments came, and it was taken to have none. */
  #assumed = false;
  /** Its arguments may be said anew: no others have come since (C10). */
  #begunAgain = false;
  /** The arguments with which it was ready last. */
  #ready: string | null = null;
  /** Others that took their place: there may be more of them, so they are told once the call is over. */
  #replaced: string | null = null;
  /** The name that was told last. */
  #told = "";
  readonly #names: ToolNames;

  constructor(readonly position: number, names: ToolNames) {
    this.#names = names;
  }

  add(fragment: CallFragment): readonly CallProgress[] {
    const isNamed = Boolean(fragment.name);
    const isAgain = isNamed && isSaidAgain(this, fragment);
    const isComplete = this.arguments.status === "complete";
    // A text that still grows is not looked into: that would flatten it every time.
    this.#begunAgain ||= isComplete && (isAgain || fragment.whole === true || isPlaceholder(this.arguments.text, fragment));
    this.namedAgain ||= isNamed && !(isAgain && isComplete) && isBlank(fragment.arguments) && this.arguments.mayBeWhole;
    return this.#take(fragment);
  }

  #take(fragment: CallFragment): readonly CallProgress[] {
    const progress: CallProgress[] = [];
    this.id ??= fragment.id || undefined;
    if (fragment.name) this.name = this.nameWith(fragment.name, false) ?? this.name;
    if (fragment.arguments) this.#append(fragment.arguments);
    if (this.arguments.begun || !this.#isStub) progress.push(...this.announce());
    if (this.arguments.status === "complete") progress.push(...this.#becomeReady(this.arguments.text));
    else this.#replaced = null;
    return progress;
  }

  /**
   * Its name if this is said of it too; null if that is another's. Some servers send of a name, too, piece after piece,
   * or all that there is so far. `other`: by its id it is another's.
   */
  nameWith(said: string, other: boolean): string | null {
    if (this.name === "") return said;
    if (this.#ready !== null || this.ended || this.arguments.begun) return said === this.name ? said : null;
    const { has, begins } = this.#names;
    const [isTool, joined] = [has(this.name), this.name + said];
    const grows = said.length > this.name.length && said.startsWith(this.name);
    if (grows && (begins(said) || !begins(joined))) return isTool && other && has(said) ? null : said;
    if (begins(joined) && !(isTool && has(said))) return joined;
    if (said === this.name) return said;
    // Of no tool: one call that cannot run, not one for every piece.
    return isTool || begins(said) ? null : joined;
  }

  /** The name that another call begins with, if this piece of it continues what was said here again (C7). */
  againWith(piece: string | undefined): string | undefined {
    if (!this.namedAgain || !piece) return this.namedAgain ? this.name : piece;
    return !this.#names.has(piece) && this.#names.begins(this.name + piece) ? this.name + piece : piece;
  }

  /** Tells its name, if it has one that was not told. */
  announce(): readonly CallProgress[] {
    if (this.name === this.#told) return [];
    this.#told = this.name;
    return [{ type: "call_announced", position: this.position, name: this.toolName }];
  }

  /** It is over, for all that is known: tells what waited for that. */
  settled(): readonly CallProgress[] {
    const text = this.#replaced;
    this.#replaced = null;
    return text === null ? [] : [this.#readyWith(text)];
  }

  get toolName(): string {
    return this.#names.fromWire(this.name).toWellFormed();
  }

  /** True while its name is no tool's, but the beginning of one's. */
  get #isStub(): boolean {
    return !this.#names.has(this.name) && this.#names.begins(this.name);
  }

  /** It begins with these arguments, which stand unless others come. */
  begin(initial: string): readonly CallProgress[] {
    this.#initial = initial;
    return this.isWhole ? this.#becomeReady(initial) : [];
  }

  /** It begins once more. What came of its arguments stands until they are said anew. */
  beginAgain(initial: string): readonly CallProgress[] {
    this.ended = false;
    this.namedAgain = false;
    this.#begunAgain = true;
    if (isNone(initial)) return [];
    if (!this.#isBare) this.#forget();
    return this.begin(initial);
  }

  /** It is said once more as a whole. */
  settle(fragment: CallFragment): readonly CallProgress[] {
    const whole = fragment.arguments ?? "";
    const known = this.#settled(whole);
    if (whole.startsWith(known)) return this.#take({ ...fragment, arguments: whole.slice(known.length) });
    // It began with a first piece, not with a whole.
    if (this.#initial !== "" && whole.startsWith(this.#initial + known)) this.arguments = new ArgumentsText();
    return this.#take({ ...fragment, arguments: whole });
  }

  /** Nothing more comes, save for a whole. */
  end(): readonly CallProgress[] {
    this.ended = true;
    if (!this.#isBare) return this.settled();
    this.#assumed = isNone(this.#initial);
    return this.add({ arguments: this.#assumed ? "{}" : this.#initial });
  }

  /** What of its arguments counts where they are said as this whole. */
  #settled(whole: string): string {
    const isAnother = this.#begunAgain && !whole.startsWith(this.arguments.text);
    if ((this.#assumed || isAnother) && whole !== "") this.#forget();
    this.#begunAgain = false;
    return this.arguments.text;
  }

  #append(piece: string): void {
    if (this.#begunAgain && !isBlank(piece)) {
      const isKnown = this.arguments.status === "complete" && this.arguments.repeats(piece);
      if (piece.trimStart().startsWith("{") && !isKnown) this.#forget();
      this.#begunAgain = false;
    }
    this.arguments.append(piece);
  }

  #forget(): void {
    this.#assumed = false;
    this.arguments = new ArgumentsText();
  }

  finish(cut: boolean): string {
    return this.#isBare && this.#initial !== "" ? this.#initial : this.arguments.finish(cut);
  }

  /** True if it has a name and its arguments came, or it began with them, as a whole object. */
  get isWhole(): boolean {
    if (this.name === "") return false;
    if (!this.#isBare) return !this.#assumed && this.arguments.status === "complete";
    return !isNone(this.#initial) && new ObjectScanner().feed(this.#initial) === "complete";
  }

  /** True if its arguments may not have begun: none came, or it was only taken to have none. */
  get isUnwritten(): boolean {
    return this.#assumed || (this.#isBare && isNone(this.#initial));
  }

  /** True while no piece of arguments came. */
  get #isBare(): boolean {
    return isBlank(this.arguments.text);
  }

  #becomeReady(text: string): readonly CallProgress[] {
    if (this.name === "") return [];
    this.#replaced = null;
    if (this.#ready !== null && isSame(text, this.#ready)) return [];
    if (this.#ready !== null && !isNone(this.#ready) && !this.ended) {
      this.#replaced = text;
      return [];
    }
    return [this.#readyWith(text)];
  }

  #readyWith(text: string): CallProgress {
    this.#ready = text;
    return { type: "call_ready", position: this.position, name: this.toolName, arguments: text.toWellFormed() };
  }
}

function isBlank(text = ""): boolean {
  return text.trim() === "";
}

function isSame(left: string, right: string): boolean {
  return left === right || canonicalText(left) === canonicalText(right);
}

/** True for an empty object that more comes behind. */
function isPlaceholder(text: string, { arguments: more }: CallFragment): boolean {
  return !isBlank(more) && isNone(text);
}

function isNone(text: string): boolean {
  const inner = text.trim();
  return inner === "" || (inner.startsWith("{") && inner.endsWith("}") && inner.slice(1, -1).trim() === "");
}
