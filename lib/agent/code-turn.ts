/**
 * One turn whose replies are decided by an agent's own code instead of by a model: what the code calls becomes the calls
 * of a reply, what it returns becomes the text of the last one. So the turn is recorded, gated and supervised like any.
 *
 * C1  The code runs while the turn waits for a reply; it goes on when its calls have results.
 * C2  After a crash the code is run again from its beginning: a call that the log knows gets the result it had, and is
 *     not made again. One whose outcome is unknown gets that as its error.
 * C3  The code gets results as the log has them, never as they were shortened for a model. Calls that the model made in
 *     the turn are not the code's: the log names another one than `BY_CODE` as the author of their reply.
 * C4  When the turn is stopped, whatever the code waits for is rejected, and whatever it asks for from then on.
 * C5  What the code tells its watchers is told when it is said, in that order: it waits for no reply and for no call.
 */
import type { Model, ModelEvent, ModelReply, ModelRequest } from "../model/model.ts";
import { ModelError } from "../model/model.ts";
import { parseArguments } from "../session/arguments.ts";
import { canonicalText } from "../session/json.ts";
import type { Message } from "../session/message.ts";
import type { CallResult } from "../session/outcome.ts";
import type { CallState, Entry } from "../session/state.ts";
import { describeThrown } from "../tools/sdk/thrown.ts";
import type { WireMessage } from "../tools/sdk/wire.ts";
import { AnnouncedCalls } from "./announced-calls.ts";

/** What the log names in a model's place where the code has asked for calls. No model's id is without a slash. */
export const BY_CODE = "code";

/** The agent's code: from what the user said to the answer. It finds the turn it runs in by itself. */
export type Respond = (turn: CodeTurn, input: string) => Promise<string>;

interface WantedCall {
  readonly name: string;
  readonly arguments: string;
  readonly provider_id: string | undefined;
  readonly settle: PromiseWithResolvers<CallResult>;
}

interface RecordedCall {
  readonly key: string;
  readonly result: CallResult;
}

/** The model is asked in the code's place. */
interface Consultation {
  readonly input: string;
  readonly settle: PromiseWithResolvers<string>;
}

/** What a reply has besides its calls, if a model was asked for it. */
type Used = Pick<ModelReply, "usage"> & Partial<ModelReply>;

type Ending = { readonly kind: "returned"; readonly text: string } | { readonly kind: "threw"; readonly error: unknown };

export class CodeTurn {
  /** What was said in the session before this turn. */
  readonly before: readonly Message[];
  readonly #input: string;
  readonly #recorded: RecordedCall[];
  readonly #wanted: WantedCall[] = [];
  /** Calls of the reply before, in its order, whose results the next request has. */
  #asked: readonly WantedCall[] = [];
  readonly #announced = new AnnouncedCalls();
  readonly #tell: (message: WireMessage) => void;
  /** What the session offers now, to whoever stands in for its model. */
  offered: ModelRequest["tools"];
  #consultation: Consultation | null = null;
  #consulted = false;
  #stopped = false;
  #ending: Ending | null = null;
  #wake = Promise.withResolvers<void>();

  /** `at`: where the prompt of the turn stands among the messages. */
  constructor({ messages: shown, tools, turn }: ModelRequest, at: number, respond: Respond, tell: (message: WireMessage) => void) {
    this.#tell = tell;
    this.offered = tools;
    const messages = turn?.whole ?? shown;
    const prompt = messages[at];
    this.#input = prompt?.role === "user" ? prompt.text : "";
    this.before = messages.slice(0, Math.max(0, at));
    this.#recorded = recordedIn(turn?.entries ?? []);
    respond(this, this.#input).then((text): Ending => ({ kind: "returned", text })).then(
      (ending) => this.#end(ending),
      (error: unknown) => this.#end({ kind: "threw", error }),
    );
  }

  /** Null while the code runs. */
  get ending(): Ending | null {
    return this.#ending;
  }

  /** What the code is given for a call of its own. `toValue`: what it makes of the result. */
  async call(name: string, given: string, toValue: (result: CallResult) => unknown): Promise<unknown> {
    if (this.#stopped) throw stopError();
    const key = keyOf(name, given);
    const announced = this.#announced.make(key);
    const value = toValue(this.#takeRecorded(key) ?? await this.#make(name, given, announced?.id));
    announced?.returns(value);
    return value;
  }

  /** Has the model answer, with the turn's tools; once in a turn, as what it said is in no log before the turn ends. */
  async consult(input: string): Promise<string> {
    if (this.#stopped) throw stopError();
    if (this.#consulted) throw new Error("Cannot ask the model twice in one turn: generateResponse of the base class was called before");
    this.#consulted = true;
    const settle = Promise.withResolvers<string>();
    this.#consultation = { input, settle };
    this.#stir();
    return await settle.promise;
  }

  /** C5. */
  say(message: WireMessage): void {
    this.#announced.follow(() => this.#tell(message));
  }

  /** A call that the code tells of, and perhaps makes next. */
  announce(name: string, given: string, call_id: string | undefined, toMessage: (id: string) => WireMessage): void {
    this.#announced.announce(keyOf(name, given), call_id, true, (id) => this.#tell(toMessage(id)));
  }

  /** The id under which a result that the code tells of is told; null if the log tells it. */
  answer(call_id: string, result: unknown): string | null {
    return this.#announced.answer(call_id, result);
  }

  /** C4. */
  stop(): void {
    const error = stopError();
    this.#stopped = true;
    for (const { settle } of [...this.#asked, ...this.#wanted.splice(0)]) settle.reject(error);
    this.#asked = [];
    this.#consultation?.settle.reject(error);
    this.#consultation = null;
    this.#stir();
  }

  /** The next reply. @throws {ModelError} the code has thrown, or the model that it asked has failed. */
  async *reply(request: ModelRequest, model: Model, at: number, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    this.offered = request.tools;
    this.#deliver(request.turn?.entries ?? []);
    let usage: Used = NOTHING_USED;
    for (;;) {
      if (signal.aborted) throw new ModelError("transport", "The turn was stopped");
      if (this.#consultation !== null) {
        const consulted = yield* this.#consult(this.#consultation, request, model, at, signal);
        if (consulted === null) return;
        usage = consulted;
        continue;
      }
      if (this.#wanted.length > 0) {
        // Calls that are made together come in one reply.
        await new Promise<void>((resolve) => setTimeout(resolve, 0));
        yield* this.#ask(usage);
        return;
      }
      if (this.#ending !== null) {
        yield toFinal(this.#ending, model.id, usage);
        return;
      }
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
    }
  }

  /** The model's last words, which are not the turn's yet; null if it has made calls, after which it goes on. */
  async *#consult(
    { input, settle }: Consultation,
    request: ModelRequest,
    model: Model,
    at: number,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, ModelReply | null> {
    const { turn } = request;
    const asked = (turn?.whole ?? request.messages).map((message, index) =>
      index === at && message.role === "user" ? { ...message, text: input } : message
    );
    const messages = turn?.fit(asked) ?? asked;
    for await (const event of model.stream({ ...request, messages }, signal)) {
      if (event.type !== "finished") {
        yield event;
        continue;
      }
      if (event.reply.calls.length > 0) {
        yield event;
        return null;
      }
      this.#consultation = null;
      settle.resolve(event.reply.text);
      return event.reply;
    }
    throw new ModelError("transport", "The model's stream ended before the reply was finished");
  }

  async *#ask(used: Used): AsyncGenerator<ModelEvent, void> {
    this.#asked = this.#wanted.splice(0);
    const calls = this.#asked.map(({ name, arguments: text, provider_id }) => ({
      name,
      arguments: text,
      ...(provider_id === undefined ? {} : { provider_id }),
    }));
    for (const [position, call] of calls.entries()) {
      yield { type: "call_announced", position, name: call.name };
      yield { type: "call_ready", position, name: call.name, arguments: call.arguments };
    }
    // Of a model that was asked before, the step has the usage; what it said is the code's to use.
    yield { type: "finished", reply: { text: "", model: BY_CODE, usage: used.usage, calls, finish: "tool_calls" } };
  }

  /** C1. */
  #deliver(entries: readonly Entry[]): void {
    const asked = this.#asked;
    if (asked.length === 0) return;
    this.#asked = [];
    const last = entries.findLast((entry) => entry.kind === "reply");
    const calls = last?.kind === "reply" ? last.calls : [];
    for (const [index, { settle }] of asked.entries()) {
      settle.resolve(resultOf(calls[index]) ?? { text: "This call has no result.", is_error: true });
    }
  }

  /** C2. The oldest of them, as the code asked for them in that order. */
  #takeRecorded(key: string): CallResult | undefined {
    const index = this.#recorded.findIndex((each) => each.key === key);
    return index < 0 ? undefined : this.#recorded.splice(index, 1)[0]?.result;
  }

  async #make(name: string, given: string, provider_id: string | undefined): Promise<CallResult> {
    const settle = Promise.withResolvers<CallResult>();
    this.#wanted.push({ name, arguments: given, provider_id, settle });
    this.#stir();
    return await settle.promise;
  }

  #end(ending: Ending): void {
    this.#ending = ending;
    this.#stir();
  }

  #stir(): void {
    this.#wake.resolve();
  }
}

function stopError(): Error {
  return new DOMException("The turn was stopped", "AbortError");
}

const NOTHING_USED = { usage: { input_tokens: 0, output_tokens: 0 } };

function toFinal(ending: Ending, id: string, used: Used): ModelEvent {
  if (ending.kind === "threw") {
    const { error } = ending;
    const said = `The agent's own code failed: ${describeThrown(error, "It")}`;
    throw error instanceof ModelError ? error : new ModelError("rejected", said, { cause: error });
  }
  const { provider_blocks, ...rest } = used;
  // Opaque blocks belong to the words they came with.
  const blocks = provider_blocks !== undefined && used.text === ending.text ? { provider_blocks } : {};
  return { type: "finished", reply: { model: id, ...rest, ...blocks, text: ending.text, calls: [], finish: "stop" } };
}

/** The code's calls that have a result, oldest first, since it was asked for the answer that it now works at. */
function recordedIn(entries: readonly Entry[]): RecordedCall[] {
  const isAnswer = (entry: Entry | undefined) => entry?.kind === "reply" && entry.calls.length === 0;
  const begin = entries.findLastIndex((entry, index) =>
    entry.kind === "prompt" && (isAnswer(entries[index - 1]) || entries[index - 1]?.turn !== entry.turn)
  );
  return entries.slice(begin + 1).flatMap((entry) => entry.kind === "reply" && entry.reply.model === BY_CODE ? entry.calls : [])
    .flatMap((call) => {
      const result = resultOf(call);
      return result === undefined ? [] : [{ key: keyOf(call.name, call.arguments), result }];
    });
}

function resultOf(call: CallState | undefined): CallResult | undefined {
  return call?.status.kind === "ended" ? call.status.result : undefined;
}

function keyOf(name: string, given: string): string {
  const parsed = parseArguments(given);
  return JSON.stringify([name, parsed.kind === "input" ? canonicalText(parsed.input.text) : given]);
}
