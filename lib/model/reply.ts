/**
 * One attempt's reply while it streams, for every wire format: text, reasoning and calls in, events out.
 *
 * The text of the events since it began, or began anew, joins to the text of the reply, and both are well-formed: a
 * character that a server cut in two is held back until its other half arrives.
 */
import type { Finish, Usage } from "../session/outcome.ts";
import { CallAssembly } from "./assembly.ts";
import type { CallFragment, CallProgress } from "./growing-call.ts";
import { ModelError, type ModelEvent, type ModelReply } from "./model.ts";
import { ANY_NAME, type ToolNames } from "./tool-names.ts";

/** Characters of text, and of reasoning, in one reply. */
export const MAX_TEXT = 16 * 1024 * 1024;

export class ReplyBuilder {
  usage: Usage = { input_tokens: 0, output_tokens: 0 };
  finish: Finish = "unknown";
  model: string;
  readonly #text = new WellFormedText("text");
  readonly #reasoning = new WellFormedText("reasoning");
  readonly #names: ToolNames;
  #calls: CallAssembly;
  /** Something was given that a restart makes void. */
  #given = false;
  #events: ModelEvent[] = [];

  /** `names`: of the tools that there are. */
  constructor(model: string, names = ANY_NAME) {
    this.model = model;
    this.#names = names;
    this.#calls = new CallAssembly(names);
  }

  /** The stream says its reply from the beginning, as behind a gateway that asked anew: what came before is no part of it. */
  restart(): void {
    this.#text.restart();
    this.#reasoning.restart();
    this.#calls = new CallAssembly(this.#names);
    this.finish = "unknown";
    this.#events = this.#given ? [{ type: "restarted" }] : [];
  }

  addText(piece: string): void {
    const text = this.#text.push(piece);
    if (text !== "") this.#events.push({ type: "text", text });
  }

  addReasoning(piece: string): void {
    const text = this.#reasoning.push(piece);
    if (text !== "") this.#events.push({ type: "reasoning", text });
  }

  addCall(fragment: CallFragment): void {
    this.#tell(this.#calls.add(fragment));
  }

  addCalls(list: readonly CallFragment[]): void {
    this.#tell(this.#calls.addList(list));
  }

  beginCall(fragment: CallFragment & { readonly index: number }): void {
    this.#tell(this.#calls.begin(fragment));
  }

  settleCall(fragment: CallFragment & { readonly index: number }): void {
    this.#tell(this.#calls.settle(fragment));
  }

  settleCalls(list: readonly CallFragment[]): void {
    this.#tell(this.#calls.settleList(list));
  }

  endCall(index: number): void {
    this.#tell(this.#calls.end(index));
  }

  /** The call at this index is not asked for after all. */
  dropCall(index: number): void {
    this.#calls.drop(index);
  }

  /** True unless the call that began at this place among all calls was dropped. */
  keepsCall(position: number): boolean {
    return this.#calls.keeps(position);
  }

  hasWholeCall(index: number): boolean {
    return this.#calls.isWhole(index);
  }

  get reasoning(): string {
    return this.#reasoning.whole;
  }

  /** How many calls have begun. */
  get calls(): number {
    return this.#calls.size;
  }

  /** True while a call is in the middle of its arguments. */
  get inCall(): boolean {
    return this.#calls.unfinished;
  }

  /** True while the last call may still get its arguments. */
  get unwritten(): boolean {
    return this.#calls.unwritten;
  }

  /** The events since the last time. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    if (events.length === 0) return events;
    this.#events = [];
    this.#given = true;
    return events;
  }

  /** Closes the reply: what is still held back comes as events, `finished` last. */
  close(provider_blocks: readonly unknown[] = []): readonly ModelEvent[] {
    const reasoning = this.#reasoning.end();
    if (reasoning !== "") this.#events.push({ type: "reasoning", text: reasoning });
    const text = this.#text.end();
    if (text !== "") this.#events.push({ type: "text", text });
    this.#tell(this.#calls.endAll());
    const calls = this.#calls.finish(this.finish === "length");
    const reply: ModelReply = {
      text: this.#text.whole,
      calls,
      finish: truthful(this.finish, calls.length > 0),
      usage: this.usage,
      model: this.model,
      ...(provider_blocks.length === 0 ? {} : { provider_blocks }),
    };
    this.#events.push({ type: "finished", reply });
    return this.take();
  }

  #tell(progress: readonly CallProgress[]): void {
    for (const each of progress) this.#events.push(each);
  }
}

/** Some servers say `stop` when there are calls, or `tool_calls` when there are none. */
function truthful(finish: Finish, hasCalls: boolean): Finish {
  if (finish === "length" || finish === "content_filter") return finish;
  return hasCalls ? "tool_calls" : "stop";
}

class WellFormedText {
  whole = "";
  /** The first half of a surrogate pair at the end of what was pushed. */
  #half = "";

  constructor(readonly what: string) {}

  restart(): void {
    this.whole = "";
    this.#half = "";
  }

  /** Gives what of it can be told. */
  push(piece: string): string {
    let text = this.#half + piece;
    this.#half = "";
    if (text === "") return "";
    if (isFirstHalf(text.charCodeAt(text.length - 1))) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    return this.#append(text);
  }

  end(): string {
    const rest = this.#half;
    this.#half = "";
    return this.#append(rest);
  }

  #append(text: string): string {
    if (this.whole.length + text.length > MAX_TEXT) {
      throw new ModelError("malformed", `Cannot take the reply as its ${this.what} is longer than ${MAX_TEXT} characters`);
    }
    const wellFormed = text.toWellFormed();
    this.whole += wellFormed;
    return wellFormed;
  }
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
