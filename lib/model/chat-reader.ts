/**
 * Chunks of a chat-completions stream → a reply. Also reads a whole reply (`message` in place of `delta`, or after all
 * deltas) that some servers send in spite of `stream: true`: of what came in deltas it only completes the calls. Other
 * choices than the first are not looked at.
 */
import type { Finish, Usage } from "../session/outcome.ts";
import type { ChatBlock } from "./chat-request.ts";
import type { CallFragment } from "./growing-call.ts";
import type { Document } from "./documents.ts";
import { type Place, reportedError, truncatedError, unreadableError } from "./fault.ts";
import { amountIn, countIn, documentIn, type Fields, fieldsIn, isFields, listIn, numberIn, textIn } from "./fields.ts";
import type { ModelEvent } from "./model.ts";
import { ReasoningDetails } from "./reasoning-details.ts";
import { ReplyBuilder } from "./reply.ts";
import type { ToolNames } from "./tool-names.ts";
import type { WireReader } from "./wire.ts";

export class ChatReader implements WireReader {
  ended = false;
  readonly #place: Place;
  readonly #reply: ReplyBuilder;
  readonly #details = new ReasoningDetails();
  #named = false;
  #begun = false;
  /** A finish reason came. */
  #told = false;
  /** It came with a call that has no arguments yet: there may be none, or they follow. */
  #toldEarly = false;
  /** More came after it: in this stream a finish reason says nothing, only its end does. */
  #lied = false;
  /** The first document that is no part of a reply. */
  #strange: string | undefined;
  #wantsReasoningBack = false;
  /** What came in deltas. */
  readonly #streamed = { text: false, reasoning: false, details: false, calls: false };
  /** What it says instead of an answer is not one. */
  #refused = false;

  constructor(place: Place, names: ToolNames, model: string) {
    this.#place = place;
    this.#reply = new ReplyBuilder(model, names);
    this.#reply.usage = toUsage({});
  }

  get finished(): boolean {
    if (!this.#told || this.#lied || this.#toldEarly) return false;
    return !this.#reply.inCall || this.#reply.finish === "length";
  }

  read(chunk: Document): void {
    const { fields, text } = chunk;
    if (!Array.isArray(fields.choices) && !isFields(fields.usage)) this.#strange ??= text;
    this.#readChunk(fields, chunk);
  }

  end(): void {
    this.ended = true;
  }

  take(): readonly ModelEvent[] {
    return this.#reply.take();
  }

  close(): readonly ModelEvent[] {
    const whole = this.#lied
      ? !this.#reply.inCall && (this.#told || this.ended)
      : this.#told || (this.ended && this.#begun && !this.#reply.inCall);
    if (!whole && !this.#begun && this.#strange !== undefined) {
      throw unreadableError(this.#place, "the endpoint sent JSON without choices", this.#strange);
    }
    if (!whole) throw truncatedError(this.#place);
    return this.#reply.close(this.#blocks());
  }

  #readChunk(chunk: Fields, { exact }: Document): void {
    const model = textIn(chunk, "model");
    if (!this.#named && model !== undefined) {
      this.#named = true;
      this.#reply.model = model;
    }
    const usage = fieldsIn(chunk, "usage");
    if (usage !== undefined && isReported(usage)) this.#reply.usage = toUsage(usage);
    const choices = listIn(chunk, "choices");
    for (let position = 0; position < choices.length; position++) {
      const choice = choices[position];
      if ((numberIn(choice, "index") ?? 0) === 0 && isFields(choice)) {
        this.#readChoice(choice, (key) => fieldsIn(listIn(exact(), "choices")[position], key));
      }
    }
  }

  /** `exact` gives a part of the choice once more, with numbers as written. */
  #readChoice(choice: Fields, exact: (part: string) => unknown): void {
    this.#begun = true;
    const delta = fieldsIn(choice, "delta");
    const message = fieldsIn(choice, "message");
    if (delta !== undefined) this.#readPart(delta, false, exact);
    if (message !== undefined) this.#readPart(message, true, exact);
    const reason = textIn(choice, "finish_reason");
    if (reason === "error") throw reportedError(this.#place, choice.error ?? { message: "the model failed in the middle of its reply" });
    if (reason !== undefined) this.#reply.finish = this.#refused ? "content_filter" : toFinish(reason);
    this.#told ||= reason !== undefined || message !== undefined;
    if (reason !== undefined) this.#toldEarly = bringsCalls(delta) && this.#reply.unwritten;
  }

  /** `whole`: a message, not a delta. */
  #readPart(part: Fields, whole: boolean, exactPart: (part: string) => unknown): void {
    const told = textIn(part, "reasoning_content");
    this.#think(told ?? textIn(part, "reasoning") ?? "", whole);
    this.#wantsReasoningBack ||= told !== undefined;
    this.#readDetails(listIn(part, "reasoning_details"), whole);
    this.#readContent(part.content, whole);
    const refusal = textIn(part, "refusal");
    this.#refused ||= refusal !== undefined;
    if (refusal !== undefined) this.#say(refusal, whole);
    const exact = () => exactPart(whole ? "message" : "delta");
    const calls = listIn(part, "tool_calls");
    if (calls.length > 0) this.#readCalls(calls.map((call, position) => this.#toCall(call, position, exact)), whole);
    const legacy = fieldsIn(part, "function_call");
    if (legacy !== undefined) this.#readCalls([this.#toFragment(undefined, legacy, () => fieldsIn(exact(), "function_call"))], whole);
  }

  #say(text: string, whole: boolean): void {
    if (text === "" || (whole && this.#streamed.text)) return;
    this.#brings("text", whole);
    this.#reply.addText(text);
  }

  #think(text: string, whole: boolean): void {
    if (text === "" || (whole && this.#streamed.reasoning)) return;
    this.#brings("reasoning", whole);
    this.#reply.addReasoning(text);
  }

  #readDetails(details: readonly unknown[], whole: boolean): void {
    if (details.length === 0 || (whole && this.#streamed.details)) return;
    this.#streamed.details ||= !whole;
    this.#details.add(details);
  }

  /** Text, or a list of parts of which some are thoughts. */
  #readContent(content: unknown, whole: boolean): void {
    if (typeof content === "string") return this.#say(content, whole);
    if (!Array.isArray(content)) return;
    for (const part of content) {
      this.#say(textIn(part, "text") ?? "", whole);
      this.#think(textIn(part, "thinking") ?? "", whole);
      for (const thought of listIn(part, "thinking")) this.#think(textIn(thought, "text") ?? "", whole);
    }
  }

  #readCalls(list: readonly CallFragment[], whole: boolean): void {
    if (whole && this.#streamed.calls) return this.#reply.settleCalls(list);
    this.#brings("calls", whole);
    this.#reply.addCalls(list);
  }

  #brings(what: "text" | "reasoning" | "calls", whole: boolean): void {
    if (whole) return;
    this.#streamed[what] = true;
    this.#lied ||= this.#told;
  }

  #toCall(call: unknown, position: number, exact: () => unknown): CallFragment {
    return this.#toFragment(call, fieldsIn(call, "function"), () => fieldsIn(listIn(exact(), "tool_calls")[position], "function"));
  }

  #toFragment(call: unknown, called: Fields | undefined, exact: () => unknown): CallFragment {
    const index = numberIn(call, "index");
    const id = textIn(call, "id");
    const name = textIn(called, "name");
    const text = documentIn(called, "arguments", exact);
    return {
      ...(index === undefined ? {} : { index }),
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
      ...(text === undefined ? {} : { arguments: text, whole: typeof called?.["arguments"] !== "string" }),
    };
  }

  /** What a next request must carry for the model to go on thinking where it was. */
  #blocks(): readonly ChatBlock[] {
    const details = this.#details.list;
    const fields = details.length > 0
      ? { reasoning_details: details }
      : this.#wantsReasoningBack && this.#reply.calls > 0
      ? { reasoning_content: this.#reply.reasoning }
      : null;
    return fields === null ? [] : [{ wire: "chat", model: this.#place.model, fields }];
  }
}

function bringsCalls(delta: Fields | undefined): boolean {
  return listIn(delta, "tool_calls").length > 0 || fieldsIn(delta, "function_call") !== undefined;
}

function toFinish(reason: string): Finish {
  switch (reason.toLowerCase()) {
    case "stop":
    case "eos":
    case "eos_token":
    case "end_turn":
    case "stop_sequence":
      return "stop";
    case "tool_calls":
    case "tool_use":
    case "function_call":
      return "tool_calls";
    case "length":
    case "max_tokens":
      return "length";
    case "content_filter":
    case "safety":
      return "content_filter";
    default:
      return "unknown";
  }
}

function isReported(usage: Fields): boolean {
  return (countIn(usage, "prompt_tokens") ?? countIn(usage, "completion_tokens") ?? amountIn(usage, "cost")) !== undefined;
}

function toUsage(usage: Fields): Usage {
  const cached = countIn(fieldsIn(usage, "prompt_tokens_details"), "cached_tokens") ?? countIn(usage, "prompt_cache_hit_tokens");
  const written = countIn(fieldsIn(usage, "prompt_tokens_details"), "cache_write_tokens");
  const reasoning = countIn(fieldsIn(usage, "completion_tokens_details"), "reasoning_tokens");
  const cost = amountIn(usage, "cost");
  const [input, output] = [countIn(usage, "prompt_tokens"), countIn(usage, "completion_tokens")];
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    ...(cached === undefined ? {} : { cached_input_tokens: cached }),
    ...(written === undefined ? {} : { cache_write_input_tokens: written }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
    ...(cost === undefined ? {} : { cost_usd: cost }),
    ...((input === undefined || output === undefined) && cost === undefined ? { unreported_replies: 1 } : {}),
  };
}
