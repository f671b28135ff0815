/**
 * Events of a Messages stream → a reply. Events, blocks and deltas of a kind that is not known are passed over. Also
 * reads a whole message, which some servers send in place of a stream or in its first event.
 */
import type { Finish, Usage } from "../session/outcome.ts";
import { WIRE } from "./anthropic-request.ts";
import { BlockReply } from "./block-reply.ts";
import type { Document } from "./documents.ts";
import { type Place, truncatedError, unreadableError } from "./fault.ts";
import { countIn, documentIn, type Fields, fieldsIn, isFields, listIn, numberIn, textIn } from "./fields.ts";
import type { ModelEvent } from "./model.ts";
import type { ToolNames } from "./tool-names.ts";
import type { WireReader } from "./wire.ts";

export class AnthropicReader implements WireReader {
  ended = false;
  /** A stop reason came. */
  #told = false;
  /** Blocks came after it: then only the end of the stream is one. */
  #lied = false;
  /** The stream said that it is over. */
  #stopped = false;
  readonly #place: Place;
  readonly #reply: BlockReply;
  /** What goes back as a thought, by the block's index. */
  readonly #thoughts = new Map<number, { type: "thinking"; thinking: string; signature: string }>();
  readonly #counts = new TokenCounts();
  /** Indexes of blocks that are passed over, with all that belongs to them. */
  readonly #passed = new Set<number>();
  /** The first document that is no event. */
  #strange: string | undefined;
  #begun = false;
  /** A message that came as a whole. It counts if no block comes after it. */
  #whole: { readonly message: Fields; readonly exact: () => unknown } | undefined;

  constructor(place: Place, names: ToolNames, model: string) {
    this.#place = place;
    this.#reply = new BlockReply(model, names);
  }

  get finished(): boolean {
    return this.#stopped || (!this.#lied && this.#isWhole);
  }

  read({ fields, text, exact }: Document): void {
    const index = numberIn(fields, "index") ?? 0;
    switch (textIn(fields, "type")) {
      case "content_block_delta":
        this.#goOn();
        return this.#readDelta(index, fieldsIn(fields, "delta"));
      case "content_block_start":
        this.#goOn();
        return this.#openBlock(index, fieldsIn(fields, "content_block"), () => fieldsIn(exact(), "content_block"));
      case "content_block_stop":
        return this.#closeBlock(index);
      case "message_start":
        return this.#begin(fieldsIn(fields, "message") ?? {}, () => fieldsIn(exact(), "message"));
      case "message_delta":
        this.#counts.add(fieldsIn(fields, "usage"), true);
        return this.#finish(textIn(fieldsIn(fields, "delta"), "stop_reason"));
      case "message_stop":
        this.#stopped = this.#begun;
        this.ended = true;
        return;
      case "message":
        this.#begin(fields, exact);
        this.ended = true;
        return;
      case undefined:
        this.#strange ??= text;
    }
  }

  end(): void {
    this.ended = true;
  }

  take(): readonly ModelEvent[] {
    return this.#reply.take();
  }

  close(): readonly ModelEvent[] {
    if (!this.#begun && this.#strange !== undefined) {
      throw unreadableError(this.#place, "the endpoint sent JSON that is no event of a Messages stream", this.#strange);
    }
    if (!this.#isWhole) throw truncatedError(this.#place);
    this.#readWhole();
    this.#reply.usage = this.#counts.toUsage();
    return this.#reply.closeBlocks(WIRE, this.#place.model);
  }

  get #isWhole(): boolean {
    return this.#stopped || (this.#told && (!this.#reply.inCall || this.#reply.finish === "length"));
  }

  /** Another block, or more of one. */
  #goOn(): void {
    this.#whole = undefined;
    this.#lied ||= this.#told;
  }

  #begin(message: Fields, exact: () => unknown): void {
    if (this.#begun) this.#restart();
    this.#begun = true;
    this.#whole = { message, exact };
    this.#reply.model = textIn(message, "model") ?? this.#reply.model;
    this.#counts.add(fieldsIn(message, "usage"), textIn(message, "stop_reason") !== undefined);
    this.#finish(textIn(message, "stop_reason"));
  }

  /** All of it is said anew. */
  #restart(): void {
    this.#told = false;
    this.#lied = false;
    this.#thoughts.clear();
    this.#passed.clear();
    this.#reply.restart();
  }

  #readWhole(): void {
    if (this.#whole === undefined) return;
    const { message, exact } = this.#whole;
    listIn(message, "content").forEach((block, index) => {
      if (isFields(block)) this.#openBlock(index, block, () => listIn(exact(), "content")[index]);
      this.#closeBlock(index);
    });
  }

  /** `exact` gives the block once more, with numbers as written. */
  #openBlock(index: number, block: Fields | undefined, exact: () => unknown): void {
    this.#passed.delete(index);
    switch (textIn(block, "type")) {
      case "text":
        return this.#reply.addBlockText(index, textIn(block, "text") ?? "");
      case "thinking": {
        const thought = { type: "thinking", thinking: "", signature: textIn(block, "signature") ?? "" } as const;
        this.#thoughts.set(index, thought);
        this.#reply.addOpaque(thought);
        return this.#think(index, textIn(block, "thinking") ?? "");
      }
      case "redacted_thinking": {
        const data = textIn(block, "data") ?? "";
        this.#reply.countOpaque(data.length);
        return this.#reply.addOpaque({ type: "redacted_thinking", data });
      }
      case "tool_use": {
        const [id, name, input] = [textIn(block, "id"), textIn(block, "name"), documentIn(block, "input", exact)];
        return this.#reply.beginCall({
          index,
          ...(input === undefined ? {} : { arguments: input }),
          ...(id === undefined ? {} : { id }),
          ...(name === undefined ? {} : { name }),
        });
      }
      case undefined:
        return;
      default:
        this.#passed.add(index);
    }
  }

  #readDelta(index: number, delta: Fields | undefined): void {
    if (this.#passed.has(index)) return;
    switch (textIn(delta, "type")) {
      case "text_delta":
        return this.#reply.addBlockText(index, textIn(delta, "text") ?? "");
      case "input_json_delta":
        return this.#reply.addCall({ index, arguments: textIn(delta, "partial_json") ?? "" });
      case "thinking_delta":
        return this.#think(index, textIn(delta, "thinking") ?? "");
      case "signature_delta": {
        const thought = this.#thoughts.get(index);
        const signature = textIn(delta, "signature") ?? "";
        this.#reply.countOpaque(signature.length);
        if (thought !== undefined) thought.signature = signature;
      }
    }
  }

  #closeBlock(index: number): void {
    if (!this.#passed.delete(index)) this.#reply.endCall(index);
    this.#thoughts.delete(index);
  }

  #think(index: number, piece: string): void {
    const thought = this.#thoughts.get(index);
    if (thought !== undefined) thought.thinking += piece;
    this.#reply.addThought(String(index), piece);
  }

  #finish(reason: string | undefined): void {
    if (reason === undefined) return;
    this.#reply.finish = toFinish(reason);
    this.#told = true;
  }
}

function toFinish(reason: string): Finish {
  switch (reason) {
    case "end_turn":
    case "stop_sequence":
    case "pause_turn":
      return "stop";
    case "tool_use":
      return "tool_calls";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "content_filter";
    default:
      return "unknown";
  }
}

/** Counts come twice and grow: at the start, when little is known, and at the end for the whole message. */
class TokenCounts {
  readonly #most: Record<string, number> = {};
  /** The start can only guess at the output. */
  #hasOutput = false;

  /** `final`: for the whole message. */
  add(usage: Fields | undefined, final: boolean): void {
    this.#hasOutput ||= final && countIn(usage, "output_tokens") !== undefined;
    for (const key of ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]) {
      this.#raise(key, countIn(usage, key));
    }
    this.#raise("thinking_tokens", countIn(fieldsIn(usage, "output_tokens_details"), "thinking_tokens"));
  }

  /** Here `input_tokens` is what was neither read from a cache nor written to one. */
  toUsage(): Usage {
    const { input_tokens = 0, output_tokens = 0, cache_read_input_tokens: read, cache_creation_input_tokens: written } = this.#most;
    const reasoning = this.#most.thinking_tokens;
    const reported = this.#most.input_tokens !== undefined && this.#hasOutput;
    return {
      input_tokens: input_tokens + (read ?? 0) + (written ?? 0),
      output_tokens,
      ...(read === undefined ? {} : { cached_input_tokens: read }),
      ...(written === undefined ? {} : { cache_write_input_tokens: written }),
      ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
      ...(reported ? {} : { unreported_replies: 1 }),
    };
  }

  #raise(key: string, count: number | undefined): void {
    if (count !== undefined) this.#most[key] = Math.max(this.#most[key] ?? 0, count);
  }
}
