/** An agent's own code in the place of its model: see `code-turn.ts`. One for each session. */
import type { Model, ModelEvent, ModelRequest } from "../model/model.ts";
import type { Message } from "../session/message.ts";
import type { WireMessage } from "../tools/sdk/wire.ts";
import { CodeTurn, type Respond } from "./code-turn.ts";

/** What drives a session: a model, or code in its place, which has words of its own for those who watch. */
export interface SessionModel extends Model {
  /** Before the first request. */
  speakTo?(tell: (message: WireMessage) => void): void;
}

export class CodeModel implements SessionModel {
  readonly id: string;
  /** Sessions that work for a call of this one have no code: the model drives them. */
  readonly plain: Model;
  readonly #respond: Respond;
  #open: { readonly number: number; readonly turn: CodeTurn } | null = null;
  #tell: (message: WireMessage) => void = () => undefined;

  constructor(model: Model, respond: Respond) {
    this.id = model.id;
    this.plain = model;
    this.#respond = respond;
  }

  speakTo(tell: (message: WireMessage) => void): void {
    this.#tell = tell;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    const at = promptOf(request);
    const turn = this.#turn(request, at);
    const stop = () => {
      turn.stop();
      this.#forget(turn);
    };
    // The signal is the turn's: it also fires while calls of the reply run.
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      yield* turn.reply(request, this.plain, at, signal);
    } finally {
      if (turn.ending !== null) {
        signal.removeEventListener("abort", stop);
        this.#forget(turn);
      }
    }
  }

  #turn(request: ModelRequest, at: number): CodeTurn {
    const number = request.turn?.number ?? 0;
    if (this.#open?.number === number) return this.#open.turn;
    // A turn that ended while its code still waited (by a limit) is not asked for again.
    this.#open?.turn.stop();
    const turn = new CodeTurn(request, at, this.#respond, this.#tell);
    this.#open = { number, turn };
    return turn;
  }

  #forget(turn: CodeTurn): void {
    if (this.#open?.turn === turn) this.#open = null;
  }
}

/**
 * Where the words stand that the code is to answer: the prompt of the turn, or what was said since the code gave an answer
 * (a stop hook's objection). What is said between calls is not for the code.
 */
function promptOf({ messages: shown, turn }: ModelRequest): number {
  const messages = turn?.whole ?? shown;
  const isUser = (message: Message) => message.role === "user";
  const last = messages.findLastIndex(isUser);
  const prompt = turn === undefined
    ? last
    : messages.findLastIndex((message) => isUser(message) && "text" in message && message.text === turn.prompt);
  const isAnswer = (message: Message | undefined) => message?.role === "assistant" && message.calls.length === 0;
  const objection = messages.findLastIndex((message, index) => index > prompt && isUser(message) && isAnswer(messages[index - 1]));
  return prompt < 0 ? last : Math.max(prompt, objection);
}
