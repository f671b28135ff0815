/**
 * Events of a Responses stream → a reply.
 *
 * An item is known by its id or by its place in the output: some servers change the id from event to event, others
 * give several items one place. Events of a kind that is not known are passed over.
 */
import type { Finish, Usage } from "../session/outcome.ts";
import { BlockReply } from "./block-reply.ts";
import type { Document } from "./documents.ts";
import { type Place, reportedError, truncatedError, unreadableError } from "./fault.ts";
import { type Fields, fieldsIn, numberIn, textIn } from "./fields.ts";
import type { ModelEvent } from "./model.ts";
import { WIRE } from "./responses-request.ts";
import type { ToolNames } from "./tool-names.ts";
import type { WireReader } from "./wire.ts";

/** An item of the output. */
interface Item {
  /** Counts the items of this reply from 0. */
  readonly key: number;
  /** What goes back with the text of a message. */
  readonly fields: Record<string, unknown>;
  /** What goes back as reasoning. */
  opaque: Record<string, unknown> | undefined;
}

export class ResponsesReader implements WireReader {
  finished = false;
  ended = false;
  readonly #place: Place;
  readonly #names: ToolNames;
  readonly #reply: BlockReply;
  readonly #byId = new Map<string, Item>();
  readonly #byPlace = new Map<number, Item>();
  #items = 0;
  #refused = false;
  /** The first document that is no event. */
  #strange: string | undefined;

  constructor(place: Place, names: ToolNames, model: string) {
    this.#place = place;
    this.#names = names;
    this.#reply = new BlockReply(model);
  }

  read({ fields, text }: Document): void {
    switch (textIn(fields, "type")) {
      case undefined:
        this.#strange ??= text;
        return;
      case "response.output_text.delta":
        return this.#readText(fields);
      case "response.refusal.delta":
        this.#refused = true;
        return this.#readText(fields);
      case "response.reasoning_summary_text.delta":
        return this.#readThought(fields, `s${numberIn(fields, "summary_index") ?? 0}`);
      case "response.reasoning_text.delta":
        return this.#readThought(fields, `c${numberIn(fields, "content_index") ?? 0}`);
      case "response.function_call_arguments.delta":
        return this.#reply.addCall({ index: this.#itemOf(fields).key, arguments: textIn(fields, "delta") ?? "" });
      case "response.function_call_arguments.done":
        return this.#settle(this.#itemOf(fields), fields);
      case "response.output_item.added":
        return this.#openItem(this.#newItem(fields), fieldsIn(fields, "item"));
      case "response.output_item.done":
        return this.#closeItem(this.#itemOf(fields), fieldsIn(fields, "item"));
      case "response.created":
        this.#reply.model = textIn(fieldsIn(fields, "response"), "model") ?? this.#reply.model;
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#finish(fieldsIn(fields, "response") ?? {});
    }
  }

  end(): void {
    this.ended = true;
  }

  take(): readonly ModelEvent[] {
    return this.#reply.take();
  }

  close(): readonly ModelEvent[] {
    if (!this.finished && this.#items === 0 && this.#strange !== undefined) {
      throw unreadableError(this.#place, "the endpoint sent JSON that is no event of a Responses stream", this.#strange);
    }
    if (!this.finished) throw truncatedError(this.#place);
    return this.#reply.closeBlocks(WIRE, this.#place.model);
  }

  #readText(fields: Fields): void {
    const item = this.#itemOf(fields);
    this.#reply.addBlockText(item.key, textIn(fields, "delta") ?? "", item.fields);
  }

  #readThought(fields: Fields, part: string): void {
    this.#reply.addThought(`${this.#itemOf(fields).key}${part}`, textIn(fields, "delta") ?? "");
  }

  #openItem(item: Item, wire: Fields | undefined): void {
    this.#fill(item, wire);
    if (textIn(wire, "type") === "function_call") this.#reply.addCall({ index: item.key, ...this.#callIn(wire) });
  }

  #closeItem(item: Item, wire: Fields | undefined): void {
    this.#fill(item, wire);
    if (textIn(wire, "type") === "function_call") this.#settle(item, wire);
  }

  /** The arguments are complete, and are said once more as a whole. */
  #settle(item: Item, wire: Fields | undefined): void {
    const whole = textIn(wire, "arguments") ?? "";
    this.#reply.settleCall({ index: item.key, ...this.#callIn(wire), arguments: whole });
    this.#reply.endCall(item.key);
  }

  #callIn(wire: Fields | undefined): { readonly id?: string; readonly name?: string } {
    const id = textIn(wire, "call_id");
    const name = textIn(wire, "name");
    return { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name: this.#names.fromWire(name) }) };
  }

  /** Takes what must go back with an item. Its last form is the one that counts. */
  #fill(item: Item, wire: Fields | undefined): void {
    const type = textIn(wire, "type");
    if (type === "message") {
      const phase = textIn(wire, "phase");
      if (phase !== undefined) item.fields.phase = phase;
    } else if (type === "reasoning" && wire !== undefined) {
      if (item.opaque === undefined) this.#reply.addOpaque(item.opaque = {});
      if (textIn(wire, "encrypted_content") === undefined) return;
      const { id, summary, content, encrypted_content } = wire;
      this.#reply.countOpaque(JSON.stringify(wire).length);
      Object.assign(item.opaque, { type, id, summary, ...(content === undefined ? {} : { content }), encrypted_content });
    }
  }

  #itemOf(fields: Fields): Item {
    const id = textIn(fields, "item_id") ?? textIn(fieldsIn(fields, "item"), "id");
    const known = id === undefined ? undefined : this.#byId.get(id);
    return known ?? this.#byPlace.get(numberIn(fields, "output_index") ?? -1) ?? this.#newItem(fields);
  }

  #newItem(fields: Fields): Item {
    const item: Item = { key: this.#items++, fields: {}, opaque: undefined };
    const id = textIn(fields, "item_id") ?? textIn(fieldsIn(fields, "item"), "id");
    if (id !== undefined) this.#byId.set(id, item);
    this.#byPlace.set(numberIn(fields, "output_index") ?? -1, item);
    return item;
  }

  #finish(response: Fields): void {
    const reason = textIn(fieldsIn(response, "incomplete_details"), "reason");
    if (textIn(response, "status") === "failed" || fieldsIn(response, "error") !== undefined) {
      throw reportedError(this.#place, response.error ?? { message: "the model failed in the middle of its reply" });
    }
    const usage = fieldsIn(response, "usage");
    if (usage !== undefined) this.#reply.usage = toUsage(usage);
    this.#reply.model = textIn(response, "model") ?? this.#reply.model;
    this.#reply.finish = reason === undefined ? (this.#refused ? "content_filter" : "stop") : toFinish(reason);
    this.finished = true;
    this.ended = true;
  }
}

function toFinish(reason: string): Finish {
  if (reason === "max_output_tokens" || reason === "max_tokens") return "length";
  return reason === "content_filter" ? "content_filter" : "unknown";
}

function toUsage(usage: Fields): Usage {
  const cached = numberIn(fieldsIn(usage, "input_tokens_details"), "cached_tokens");
  const written = numberIn(fieldsIn(usage, "input_tokens_details"), "cache_write_tokens");
  const reasoning = numberIn(fieldsIn(usage, "output_tokens_details"), "reasoning_tokens");
  return {
    input_tokens: numberIn(usage, "input_tokens") ?? 0,
    output_tokens: numberIn(usage, "output_tokens") ?? 0,
    ...(cached === undefined ? {} : { cached_input_tokens: cached }),
    ...(written === undefined ? {} : { cache_write_input_tokens: written }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
  };
}
