/**
 * One turn whose replies are decided by an agent's own code instead of by a model: what the code calls becomes the calls
 * of a reply, what it returns becomes the text of the last one. So the turn is recorded, gated and supervised like any.
 *
 * C1  The code runs while the turn waits for a reply; it goes on when its calls have results.
 * C2  After a crash the code is run again from its beginning: a call that the log knows gets the result it had, and is
 *     not made again. One whose outcome is unknown gets that as its error.
 * C3  When the turn is stopped, whatever the code waits for is rejected, and whatever it asks for from then on.
 */
import type { Model, ModelEvent, ModelReply, ModelRequest } from "../model/model.ts";
import { ModelError } from "../model/model.ts";
import { parseArguments } from "../session/arguments.ts";
import { canonicalText } from "../session/json.ts";
import type { Message } from "../session/message.ts";
import type { WireMessage } from "../tools/sdk/wire.ts";

export interface ToolResult {
  readonly text: string;
  readonly is_error: boolean;
}

/** The agent's code: from what the user said to the answer. It finds the turn it runs in by itself. */
export type Respond = (turn: CodeTurn, input: string) => Promise<string>;

interface WantedCall {
  readonly name: string;
  readonly arguments: string;
  readonly provider_id: string | undefined;
  readonly settle: PromiseWithResolvers<ToolResult>;
}

interface RecordedCall extends ToolResult {
  readonly key: string;
}

interface Announced {
  readonly key: string;
  readonly call_id: string | undefined;
  readonly timer: ReturnType<typeof setTimeout>;
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
  readonly #said: WireMessage[] = [];
  readonly #announced: Announced[] = [];
  /** Announced calls that the turn has made itself, whose results are told by the log. */
  #told = 0;
  #consultation: Consultation | null = null;
  #consulted = false;
  #stopped = false;
  #ending: Ending | null = null;
  #wake = Promise.withResolvers<void>();

  /** `at`: where the prompt of the turn stands among the messages. */
  constructor({ messages }: ModelRequest, at: number, respond: Respond) {
    const prompt = messages[at];
    this.#input = prompt?.role === "user" ? prompt.text : "";
    this.before = messages.slice(0, Math.max(0, at));
    this.#recorded = recordedIn(messages.slice(at + 1));
    respond(this, this.#input).then(
      (text) => this.#end({ kind: "returned", text: String(text) }),
      (error: unknown) => this.#end({ kind: "threw", error }),
    );
  }

  /** Null while the code runs. */
  get ending(): Ending | null {
    return this.#ending;
  }

  /** What the code is given for a call of its own. */
  async call(name: string, given: string): Promise<ToolResult> {
    if (this.#stopped) throw stopError();
    const key = keyOf(name, given);
    const recorded = this.#recorded.findIndex((each) => each.key === key);
    if (recorded >= 0) {
      this.#takeAnnounced(key);
      const [result] = this.#recorded.splice(recorded, 1);
      if (result !== undefined) return result;
    }
    const announced = this.#takeAnnounced(key);
    const settle = Promise.withResolvers<ToolResult>();
    this.#wanted.push({ name, arguments: given, provider_id: announced?.call_id, settle });
    this.#stir();
    return await settle.promise;
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

  say(message: WireMessage): void {
    this.#said.push(message);
    this.#stir();
  }

  /** A call that the code tells of. One that it then makes is told by the log, so it is held back for a moment. */
  announce(name: string, given: string, call_id: string | undefined, say: () => void): void {
    const key = keyOf(name, given);
    const timer = setTimeout(() => {
      if (this.#takeAnnounced(key, false) !== undefined) say();
    }, 0);
    this.#announced.push({ key, call_id, timer });
  }

  /** Whether a result that the code tells of is told by the log already. */
  answers(): boolean {
    if (this.#told === 0) return false;
    this.#told--;
    return true;
  }

  /** C3. */
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
    this.#deliver(request.messages);
    let usage: Used = NOTHING_USED;
    for (;;) {
      if (signal.aborted) throw new ModelError("transport", "The turn was stopped");
      for (const message of this.#said.splice(0)) yield { type: "said", message };
      if (this.#consultation !== null) {
        const consulted = yield* this.#consult(this.#consultation, request, model, at, signal);
        if (consulted === null) return;
        usage = consulted;
        continue;
      }
      if (this.#wanted.length > 0) {
        // Calls that are made together come in one reply.
        await new Promise<void>((resolve) => setTimeout(resolve, 0));
        yield* this.#ask(model.id, usage);
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
    const messages = request.messages.map((message, index) =>
      index === at && message.role === "user" ? { ...message, text: input } : message
    );
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

  async *#ask(id: string, used: Used): AsyncGenerator<ModelEvent, void> {
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
    yield { type: "finished", reply: { text: "", model: id, ...used, calls, finish: "tool_calls" } };
  }

  /** C1. */
  #deliver(messages: readonly Message[]): void {
    const asked = this.#asked;
    if (asked.length === 0) return;
    this.#asked = [];
    const last = messages.findLastIndex((message) => message.role === "assistant");
    const results = messages.slice(last + 1).filter((message) => message.role === "tool");
    for (const [index, { settle }] of asked.entries()) {
      const { text, is_error } = results[index] ?? { text: "This call has no result.", is_error: true };
      settle.resolve({ text, is_error });
    }
  }

  #takeAnnounced(key: string, made = true): Announced | undefined {
    const index = this.#announced.findIndex((each) => each.key === key);
    if (index < 0) return undefined;
    const [announced] = this.#announced.splice(index, 1);
    clearTimeout(announced?.timer);
    if (made) this.#told++;
    return announced;
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
    const message = error instanceof Error ? error.message : String(error);
    throw error instanceof ModelError ? error : new ModelError("rejected", `The agent's own code failed: ${message}`, { cause: error });
  }
  const { provider_blocks, ...rest } = used;
  // Opaque blocks belong to the words they came with.
  const blocks = provider_blocks !== undefined && used.text === ending.text ? { provider_blocks } : {};
  return { type: "finished", reply: { model: id, ...rest, ...blocks, text: ending.text, calls: [], finish: "stop" } };
}

/** Calls of the open turn that have a result, oldest first. */
function recordedIn(messages: readonly Message[]): RecordedCall[] {
  const results = new Map(messages.flatMap((message) => message.role === "tool" ? [[message.id, message]] : []));
  return messages.flatMap((message) => message.role === "assistant" ? message.calls : []).flatMap(({ id, name, arguments: text }) => {
    const result = results.get(id);
    return result === undefined ? [] : [{ key: keyOf(name, text), text: result.text, is_error: result.is_error }];
  });
}

function keyOf(name: string, given: string): string {
  const parsed = parseArguments(given);
  return JSON.stringify([name, parsed.kind === "input" ? canonicalText(parsed.input.text) : given]);
}
