/**
 * A reply in a format of blocks, some of which are opaque and must go back as they came, in their place among the
 * others. The reply's text is that of its text blocks with a blank line between any two.
 *
 * K1  Opaque blocks go back unchanged, in their order, and only to the model that wrote them.
 * K2  What is kept beside them are lengths and positions: the log holds text and calls once.
 */
import type { Message, MessageCall } from "../session/message.ts";
import type { CallFragment } from "./growing-call.ts";
import { type Fields, fieldsIn, isFields, listIn, numberIn, textIn } from "./fields.ts";
import { ModelError, type ModelEvent } from "./model.ts";
import { MAX_TEXT, ReplyBuilder } from "./reply.ts";

/** What the log keeps of a reply's blocks. */
export interface BlockOrder {
  readonly wire: string;
  /** `provider/model`. */
  readonly model: string;
  readonly blocks: readonly Block[];
}

/** `text`: its length. `fields`: what else belongs to a text block. `call`: its position among the calls. */
type Block = { readonly text: number; readonly fields?: Fields } | { readonly call: number } | { readonly opaque: Fields };

const BETWEEN = "\n\n";
const MAX_BLOCKS = 4096;

interface GrowingText {
  readonly key: number;
  text: number;
  readonly fields: Record<string, unknown>;
}

type GrowingBlock = GrowingText | { readonly call: number } | { readonly opaque: Record<string, unknown> };

export class BlockReply extends ReplyBuilder {
  readonly #blocks: GrowingBlock[] = [];
  #lastText: GrowingText | undefined;
  #lastThought: string | undefined;
  #opaqueCharacters = 0;

  override restart(): void {
    super.restart();
    this.#blocks.length = 0;
    this.#lastText = undefined;
    this.#lastThought = undefined;
    this.#opaqueCharacters = 0;
  }

  /** `fields` may still be filled until the reply is closed. */
  addBlockText(key: number, piece: string, fields: Record<string, unknown> = {}): void {
    if (piece === "") return;
    if (this.#lastText?.key !== key) {
      if (this.#lastText !== undefined) this.addText(BETWEEN);
      this.#lastText = { key, text: 0, fields };
      this.#push(this.#lastText);
    }
    this.#lastText.text += piece.length;
    this.addText(piece);
  }

  addThought(key: string, piece: string): void {
    if (piece === "") return;
    if (this.#lastThought !== undefined && this.#lastThought !== key) this.addReasoning(BETWEEN);
    this.#lastThought = key;
    this.addReasoning(piece);
  }

  override addCall(fragment: CallFragment): void {
    this.#placeCalls(() => super.addCall(fragment));
  }

  override beginCall(fragment: CallFragment & { readonly index: number }): void {
    this.#placeCalls(() => super.beginCall(fragment));
  }

  override settleCall(fragment: CallFragment & { readonly index: number }): void {
    this.#placeCalls(() => super.settleCall(fragment));
  }

  /** Reserves the place of an opaque block; an empty one is left out. Its content is counted by `countOpaque`. */
  addOpaque(block: Record<string, unknown>): void {
    this.#push({ opaque: block });
  }

  /** @throws {ModelError} if opaque blocks hold too much in all. */
  countOpaque(characters: number): void {
    this.#opaqueCharacters += characters;
    if (this.#opaqueCharacters > MAX_TEXT) {
      throw new ModelError("malformed", `Cannot take the reply as its reasoning is longer than ${MAX_TEXT} characters`);
    }
  }

  closeBlocks(wire: string, model: string): readonly ModelEvent[] {
    const blocks = inOrder(this.#blocks.map(toBlock).filter((block) => this.#counts(block)));
    const matters = blocks.some((block) => "opaque" in block || "fields" in block);
    return this.close(matters ? [{ wire, model, blocks } satisfies BlockOrder] : []);
  }

  #counts(block: Block): boolean {
    if ("call" in block) return this.keepsCall(block.call);
    return !("opaque" in block) || Object.keys(block.opaque).length > 0;
  }

  #placeCalls(add: () => void): void {
    const before = this.calls;
    add();
    for (let position = before; position < this.calls; position++) this.#push({ call: position });
  }

  #push(block: GrowingBlock): void {
    if (this.#blocks.push(block) > MAX_BLOCKS) {
      throw new ModelError("malformed", `Cannot take the reply as it has more than ${MAX_BLOCKS} blocks`);
    }
  }
}

function toBlock(block: GrowingBlock): Block {
  if ("opaque" in block || "call" in block) return block;
  return Object.keys(block.fields).length === 0 ? { text: block.text } : { text: block.text, fields: block.fields };
}

/** Calls are counted as they stand in the reply. */
function inOrder(blocks: readonly Block[]): readonly Block[] {
  let calls = 0;
  return blocks.map((block) => "call" in block ? { call: calls++ } : block);
}

export type SentBlock =
  | { readonly kind: "text"; readonly text: string; readonly fields: Fields }
  | { readonly kind: "call"; readonly call: MessageCall }
  | { readonly kind: "opaque"; readonly fields: Fields };

type Assistant = Extract<Message, { role: "assistant" }>;

/**
 * A message's blocks in their order. Opaque ones are given if they are of this wire format and model and `fit`; at
 * the end of a message none is given, as no provider takes thoughts that lead to nothing.
 */
export function toSentBlocks(message: Assistant, wire: string, model: string, fit: (opaque: Fields) => boolean): readonly SentBlock[] {
  const order = (message.provider_blocks ?? []).find((each) => textIn(each, "wire") === wire && textIn(each, "model") === model);
  const blocks = place(message, listIn(order, "blocks")).filter((block) => block.kind !== "opaque" || fit(block.fields));
  return blocks.slice(0, blocks.findLastIndex((block) => block.kind !== "opaque") + 1);
}

function place(message: Assistant, order: readonly unknown[]): readonly SentBlock[] {
  const placed: SentBlock[] = [];
  let rest = message.text;
  let calls = 0;
  let fits = true;
  for (const block of order) {
    const [length, position, opaque] = [numberIn(block, "text"), numberIn(block, "call"), fieldsIn(block, "opaque")];
    if (opaque !== undefined) placed.push({ kind: "opaque", fields: opaque });
    else if (length !== undefined) {
      const start = rest === message.text ? 0 : BETWEEN.length;
      fits &&= length > 0 && (start === 0 || rest.startsWith(BETWEEN));
      placed.push({ kind: "text", text: rest.slice(start, start + length), fields: fieldsIn(block, "fields") ?? {} });
      rest = rest.slice(start + length);
    } else {
      const call = message.calls[calls++];
      fits &&= call !== undefined && position === calls - 1;
      if (call !== undefined) placed.push({ kind: "call", call });
    }
  }
  fits &&= rest === "" && calls === message.calls.length;
  return fits ? placed : [...placed.filter((block) => block.kind === "opaque"), ...inPlainOrder(message)];
}

function inPlainOrder({ text, calls }: Assistant): readonly SentBlock[] {
  return [
    ...(text === "" ? [] : [{ kind: "text", text, fields: {} } as const]),
    ...calls.map((call) => ({ kind: "call", call }) as const),
  ];
}

/** True if the value is an object with these texts, none of them empty. */
export function hasTexts(value: unknown, ...keys: readonly string[]): value is Fields {
  return isFields(value) && keys.every((key) => textIn(value, key) !== undefined);
}
