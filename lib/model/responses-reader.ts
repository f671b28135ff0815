/**
 * Events of a Responses stream → a reply.
 *
 * An item is known by its id or by its place in the output: some servers change the id from event to event, others
 * give several items one place. Events of a kind that is not known are passed over. What is said again as a whole, at
 * the end of a part, of an item or of the response, gives only what had not come before. A response that comes as one
 * document is read too.
 */
import type { Finish, Usage } from "../session/outcome.ts";
import type { CallFragment } from "./growing-call.ts";
import { BlockReply } from "./block-reply.ts";
import type { Document } from "./documents.ts";
import { type Place, reportedError, truncatedError, unreadableError } from "./fault.ts";
import { countIn, documentIn, type Fields, fieldsIn, isFields, listIn, numberIn, textIn } from "./fields.ts";
import type { ModelEvent } from "./model.ts";
import { ARGUMENTS_DONE, isCall, type Item, Items, withoutRepeats } from "./responses-items.ts";
import { WIRE } from "./responses-request.ts";
import type { ToolNames } from "./tool-names.ts";
import type { WireReader } from "./wire.ts";

export class ResponsesReader implements WireReader {
  finished = false;
  ended = false;
  readonly #place: Place;
  readonly #reply: BlockReply;
  #items = new Items();
  #refused = false;
  /** The first document that is no event. */
  #strange: string | undefined;

  constructor(place: Place, names: ToolNames, model: string) {
    this.#place = place;
    this.#reply = new BlockReply(model, names);
    this.#reply.usage = toUsage({});
  }

  read({ fields, text, exact }: Document): void {
    const exactItem = () => fieldsIn(exact(), "item");
    switch (textIn(fields, "type")) {
      case undefined:
        if (isEnded(fields)) this.#finish(fields, exact);
        else this.#strange ??= text;
        return;
      case "response.output_text.delta":
        return this.#readText(fields);
      case "response.refusal.delta":
        this.#refused = true;
        return this.#readText(fields);
      case "response.output_text.done":
      case "response.refusal.done":
        return this.#sayPart(this.#items.of(fields), numberIn(fields, "content_index") ?? 0, fields);
      case "response.content_part.done":
        return this.#closePart(fields, fieldsIn(fields, "part"));
      case "response.reasoning_summary_text.delta":
        return this.#readThought(fields, `s${numberIn(fields, "summary_index") ?? 0}`);
      case "response.reasoning_text.delta":
        return this.#readThought(fields, `c${numberIn(fields, "content_index") ?? 0}`);
      case "response.function_call_arguments.delta":
        return this.#reply.addCall({ index: this.#items.ofCall(fields, 0).key, arguments: textIn(fields, "delta") ?? "" });
      case "response.function_call_arguments.done":
        return this.#settle(this.#items.ofCall(fields, ARGUMENTS_DONE), fields, exact);
      case "response.output_item.added":
        return this.#openItem(this.#items.begin(fields), fieldsIn(fields, "item") ?? {}, exactItem);
      case "response.output_item.done":
        return this.#closeItem(this.#items.done(fields), fieldsIn(fields, "item") ?? {}, exactItem);
      case "response.created":
        if (this.#items.all.length > 0) this.#restart();
        this.#reply.model = textIn(fieldsIn(fields, "response"), "model") ?? this.#reply.model;
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#finish(fieldsIn(fields, "response") ?? {}, () => fieldsIn(exact(), "response"));
    }
  }

  end(): void {
    this.ended = true;
  }

  take(): readonly ModelEvent[] {
    return this.#reply.take();
  }

  close(): readonly ModelEvent[] {
    if (!this.finished && this.#items.all.length === 0 && this.#strange !== undefined) {
      throw unreadableError(this.#place, "the endpoint sent JSON that is no event of a Responses stream", this.#strange);
    }
    if (!this.finished) throw truncatedError(this.#place);
    return this.#reply.closeBlocks(WIRE, this.#place.model);
  }

  /** All of it is said anew. */
  #restart(): void {
    this.#items = new Items();
    this.#refused = false;
    this.#reply.restart();
  }

  #readText(fields: Fields): void {
    const item = this.#items.of(fields);
    const piece = item.echo.rest(textIn(fields, "delta") ?? "");
    item.said.add(numberIn(fields, "content_index") ?? 0);
    item.characters += piece.length;
    this.#reply.addBlockText(item.key, piece, item.fields);
  }

  #readThought(fields: Fields, part: string): void {
    const item = this.#items.of(fields);
    item.thought = true;
    this.#reply.addThought(`${item.key}${part}`, textIn(fields, "delta") ?? "");
  }

  #openItem(item: Item, wire: Fields, exact: () => unknown): void {
    this.#fill(item, wire);
    if (isCall(wire)) this.#reply.beginCall({ index: item.key, ...this.#callIn(wire, exact) });
  }

  #closeItem(item: Item, wire: Fields, exact: () => unknown): void {
    this.#fill(item, wire);
    this.#sayItem(item);
    if (isCall(wire)) this.#settle(item, wire, exact);
  }

  /** The arguments are complete, and are said once more as a whole. */
  #settle(item: Item, wire: Fields, exact: () => unknown): void {
    this.#reply.settleCall({ index: item.key, ...this.#callIn(wire, exact) });
    this.#reply.endCall(item.key);
  }

  /**
   * Takes from the output as a whole what the stream did not say. What a complete one does not list is no call, but an
   * empty list says nothing.
   */
  #readOutput(response: Fields, exact: () => unknown): void {
    const output = withoutRepeats(listIn(response, "output"));
    const known = this.#items.pairWith(output);
    const streamed = [...this.#items.all];
    output.forEach((wire, place) => {
      if (!isFields(wire)) return;
      const item = known[place] ?? this.#items.add();
      if (!isCall(wire) || !this.#reply.hasWholeCall(item.key)) this.#closeItem(item, wire, () => listIn(exact(), "output")[place]);
    });
    if (output.length > 0 && textIn(response, "status") !== "incomplete") this.#dropUnlisted(streamed, new Set(known));
    for (const item of this.#items.all) this.#sayItem(item);
  }

  #dropUnlisted(streamed: readonly Item[], listed: ReadonlySet<Item | undefined>): void {
    for (const item of streamed) if (!listed.has(item)) this.#reply.dropCall(item.key);
  }

  #closePart(fields: Fields, part: Fields | undefined): void {
    const type = textIn(part, "type");
    if (type !== "output_text" && type !== "refusal") return;
    this.#sayPart(this.#items.of(fields), numberIn(fields, "content_index") ?? 0, part);
  }

  #sayItem(item: Item): void {
    const type = textIn(item.wire, "type");
    const content = listIn(item.wire, "content");
    // Some servers give all parts one number: then nothing is missing, though some numbers are.
    const isShort = item.characters < content.reduce((sum: number, part) => sum + (textOf(part)?.length ?? 0), 0);
    if (type === "message" && isShort) content.forEach((part, index) => this.#sayPart(item, index, part));
    if (type !== "reasoning" || item.thought) return;
    for (const [index, part] of [...listIn(item.wire, "summary"), ...content].entries()) {
      this.#reply.addThought(`${item.key}w${index}`, textIn(part, "text") ?? "");
      item.thought = true;
    }
  }

  #sayPart(item: Item, index: number, part: unknown): void {
    if (item.said.has(index)) return;
    const text = textOf(part);
    if (text === undefined) return;
    this.#refused ||= textIn(part, "refusal") !== undefined;
    item.said.add(index);
    item.characters += text.length;
    this.#reply.addBlockText(item.key, text, item.fields);
  }

  #callIn(wire: Fields, exact: () => unknown): Omit<CallFragment, "index"> {
    const id = textIn(wire, "call_id");
    const name = textIn(wire, "name");
    const text = documentIn(wire, "arguments", exact);
    return {
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
      ...(text === undefined ? {} : { arguments: text }),
    };
  }

  /** Takes what must go back with an item. Its last form is the one that counts. */
  #fill(item: Item, wire: Fields): void {
    item.wire = wire;
    const type = textIn(wire, "type");
    if (type === "message") {
      const phase = textIn(wire, "phase");
      if (phase !== undefined) item.fields.phase = phase;
    } else if (type === "reasoning") {
      if (item.opaque === undefined) this.#reply.addOpaque(item.opaque = {});
      if (textIn(wire, "encrypted_content") === undefined) return;
      const { id, summary, content, encrypted_content } = wire;
      this.#reply.countOpaque(JSON.stringify(wire).length);
      Object.assign(item.opaque, { type, id, summary, ...(content === undefined ? {} : { content }), encrypted_content });
    }
  }

  #finish(response: Fields, exact: () => unknown): void {
    const reason = textIn(fieldsIn(response, "incomplete_details"), "reason");
    if (textIn(response, "status") === "failed" || fieldsIn(response, "error") !== undefined) {
      throw reportedError(this.#place, response.error ?? { message: "the model failed in the middle of its reply" });
    }
    this.#readOutput(response, exact);
    const usage = fieldsIn(response, "usage");
    if (usage !== undefined) this.#reply.usage = toUsage(usage);
    this.#reply.model = textIn(response, "model") ?? this.#reply.model;
    // Incomplete without a reason: it was cut, by whatever.
    const whole = textIn(response, "status") === "incomplete" ? "length" : "stop";
    this.#reply.finish = reason !== undefined ? toFinish(reason) : this.#refused ? "content_filter" : whole;
    this.finished = true;
    this.ended = true;
  }
}

/** True for a document that is a response as a whole, not an event of one. */
function isEnded(fields: Fields): boolean {
  return Array.isArray(fields.output) && ["completed", "incomplete", "failed"].includes(textIn(fields, "status") ?? "");
}

/** Of a part of a message, whether it answers or refuses. */
function textOf(part: unknown): string | undefined {
  return textIn(part, "refusal") ?? textIn(part, "text");
}

function toFinish(reason: string): Finish {
  if (reason === "max_output_tokens" || reason === "max_tokens") return "length";
  return reason === "content_filter" ? "content_filter" : "unknown";
}

function toUsage(usage: Fields): Usage {
  const cached = countIn(fieldsIn(usage, "input_tokens_details"), "cached_tokens");
  const written = countIn(fieldsIn(usage, "input_tokens_details"), "cache_write_tokens");
  const reasoning = countIn(fieldsIn(usage, "output_tokens_details"), "reasoning_tokens");
  const [input, output] = [countIn(usage, "input_tokens"), countIn(usage, "output_tokens")];
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    ...(cached === undefined ? {} : { cached_input_tokens: cached }),
    ...(written === undefined ? {} : { cache_write_input_tokens: written }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
    ...(input === undefined || output === undefined ? { unreported_replies: 1 } : {}),
  };
}
