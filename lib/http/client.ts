/**
 * A client of the HTTP API: its operations as methods, and a session's events as one sequence that outlives dropped
 * connections and restarts of the server. It needs nothing but `fetch`.
 *
 * Its types are those that the OpenAPI document is made from.
 */
import type { InferInput, InferOutput } from "valibot";
import { ApiProblem, type ClientOptions, type Input, type Operation, sendRequest } from "./client-request.ts";
import { type ClientEvent, type Connect, followEvents, sleep } from "./client-events.ts";
import type * as api from "./schemas.ts";

export interface FollowOptions {
  /** The last event that was seen; 0, the default: none. */
  readonly after?: number;
  /** Ends the sequence when it aborts. */
  readonly signal?: AbortSignal;
}

export interface PromptOptions {
  readonly if_busy?: "refuse" | "queue";
  /** The same key makes one prompt of a request that is sent again, whoever sends it; else each prompt has its own. */
  readonly idempotency_key?: string;
  readonly signal?: AbortSignal;
}

export type SessionDocument = InferOutput<typeof api.SessionState>;
export type NewSessionBody = InferInput<typeof api.NewSession>;
export type ApprovalBody = InferInput<typeof api.ApprovalAnswer>;

/** About six seconds in all. */
const PROMPT_TRIES = 6;
const FIRST_PAUSE_MS = 100;

type SentPrompt = PromptOptions & { readonly idempotency_key: string; readonly signal: AbortSignal };

interface Taken {
  readonly taken: InferOutput<typeof api.PromptTaken>;
  /** It was taken before. */
  readonly repeated: boolean;
}

/**
 * @example
 * const client = createClient({ url, token });
 * const { session } = await client.create({ workspace: "/srv/project" });
 * for await (const event of client.run(session, "How many words has README.md?")) {
 *   if (event.type === "reply_committed") console.log(event.text);
 * }
 */
export function createClient(options: ClientOptions): Client {
  return new Client(options);
}

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  capabilities(): Promise<InferOutput<typeof api.Capabilities>> {
    return this.#json("capabilities");
  }

  tools(workspace?: string): Promise<InferOutput<typeof api.Tools>> {
    return this.#json("listTools", { query: { workspace } });
  }

  sessions(query: { readonly limit?: number; readonly cursor?: string } = {}): Promise<InferOutput<typeof api.SessionList>> {
    return this.#json("listSessions", { query });
  }

  create(body: NewSessionBody = {}): Promise<InferOutput<typeof api.SessionOpened>> {
    return this.#json("createSession", { body });
  }

  state(id: string): Promise<SessionDocument> {
    return this.#json("getSession", { id });
  }

  async remove(id: string): Promise<void> {
    await this.#ask("deleteSession", { id });
  }

  /** Resolves when the prompt is durable. Sent again under its key where no answer comes: it begins one turn at most. */
  async prompt(
    id: string,
    text: string,
    { idempotency_key = crypto.randomUUID(), signal = new AbortController().signal, ...rest }: PromptOptions = {},
  ): Promise<InferOutput<typeof api.PromptTaken>> {
    return (await this.#prompt(id, text, { idempotency_key, signal, ...rest })).taken;
  }

  async #prompt(id: string, text: string, { idempotency_key, signal, ...rest }: SentPrompt): Promise<Taken> {
    for (let tries = 1;; tries++) {
      try {
        const headers = { accept: "application/json", "idempotency-key": idempotency_key };
        const response = await this.#ask("prompt", { id, body: { text, ...rest }, headers, signal });
        const taken = await response.json() as InferOutput<typeof api.PromptTaken>;
        return { taken, repeated: response.headers.get("idempotency-replayed") === "true" };
      } catch (error) {
        if (error instanceof ApiProblem || signal.aborted || tries >= PROMPT_TRIES) throw error;
        await sleep(FIRST_PAUSE_MS * 2 ** tries, signal);
      }
    }
  }

  /**
   * Begins a turn and gives what happens in it to its end, also if the server ends meanwhile: the next one is told to go
   * on. A prompt that waits for other turns gives nothing of these. Leaving the loop does not stop the turn.
   * @throws {ApiProblem} `dropped`: the prompt was queued, and dropped before its turn began.
   */
  async *run(id: string, text: string, options: PromptOptions = {}): AsyncGenerator<ClientEvent, void> {
    const { idempotency_key: key = crypto.randomUUID(), signal = new AbortController().signal, ...rest } = options;
    const { seq } = await this.state(id);
    const { taken: { turn, queued = false }, repeated } = await this.#prompt(id, text, { idempotency_key: key, signal, ...rest });
    // Where a prompt that waits ends up is known when the log has it, under its key.
    let mine = queued ? null : turn;
    let begun = false;
    let waiting = queued;
    const after = repeated && !queued ? 0 : seq;
    let seen = after;
    let gone = Infinity;
    for await (const event of this.follow(id, { after, signal })) {
      if (event.type === "connected") await this.#resumeIfLeft(id);
      if ("seq" in event) seen = event.seq;
      if (event.type === "prompted" && (mine === null ? event.key === key : event.turn === mine)) {
        [mine, begun, waiting] = [event.turn, true, false];
      }
      if (begun || event.type === "connected" || event.type === "reset") yield event;
      if (begun && event.type === "turn_ended" && event.turn === mine) return;
      if (waiting && (event.type === "connected" || event.type === "turn_ended")) {
        const left = await this.#leftQueueAt(id, key);
        if (left !== null) [gone, waiting] = [left, false];
      }
      if (!begun && seen >= gone) throw new ApiProblem(409, "dropped", "The prompt was queued, and dropped before its turn began");
    }
  }

  resume(id: string): Promise<InferOutput<typeof api.PromptTaken>> {
    return this.#json("resume", { id, body: {} });
  }

  cancel(id: string, body: InferInput<typeof api.Cancel> = {}): Promise<InferOutput<typeof api.Cancelled>> {
    return this.#json("cancel", { id, body });
  }

  /** Holds for every call that was not decided yet, also in a turn that runs. */
  changeMode(id: string, body: InferInput<typeof api.NewMode>): Promise<InferOutput<typeof api.ModeChanged>> {
    return this.#json("changeMode", { id, body });
  }

  fork(id: string, body: InferInput<typeof api.ForkAt> = {}): Promise<InferOutput<typeof api.Forked>> {
    return this.#json("forkSession", { id, body });
  }

  answer(id: string, call: string, body: ApprovalBody): Promise<InferOutput<typeof api.ApprovalTaken>> {
    return this.#json("answerApproval", { id, call, body });
  }

  call(id: string, call: string): Promise<InferOutput<typeof api.CallDetail>> {
    return this.#json("getCall", { id, call });
  }

  /** One page of what is recorded. */
  events(id: string, query: { readonly after?: number; readonly limit?: number } = {}): Promise<InferOutput<typeof api.EventPage>> {
    return this.#json("getEvents", { id, query });
  }

  /**
   * What is recorded behind `after`, then what happens, until the signal aborts, the loop is left, or the session is
   * removed. Comes back by itself after whatever breaks the connection. @throws {ApiProblem} what waiting does not mend.
   */
  follow(id: string, { after = 0, signal = new AbortController().signal }: FollowOptions = {}): AsyncGenerator<ClientEvent, void> {
    const connect: Connect = async (cursor, given) => {
      const headers = { accept: "application/x-ndjson" };
      return (await this.#ask("getEvents", { id, query: { after: cursor }, headers, signal: given })).body;
    };
    return followEvents(connect, after, signal);
  }

  /** The event up to which the log has the prompt or never will; null: it waits, or nobody can tell at the moment. */
  async #leftQueueAt(id: string, key: string): Promise<number | null> {
    try {
      const { queued, seq } = await this.state(id);
      return queued.some((each) => each.key === key) ? null : seq;
    } catch (error) {
      if (error instanceof ApiProblem && error.status < 500) throw error;
      return null;
    }
  }

  async #resumeIfLeft(id: string): Promise<void> {
    try {
      if ((await this.state(id)).status === "interrupted") await this.resume(id);
    } catch (error) {
      // Somebody else was faster, or the connection is gone again: the next one tells.
      if (error instanceof ApiProblem && error.status !== 409 && error.status < 500) throw error;
    }
  }

  async #json<T>(operation: Operation, input: Input = {}): Promise<T> {
    return await (await this.#ask(operation, { ...input, headers: { accept: "application/json", ...input.headers } })).json() as T;
  }

  /** @throws {ApiProblem} @throws what `fetch` throws. */
  #ask(operation: Operation, input: Input): Promise<Response> {
    return sendRequest(this.#options, operation, input);
  }
}
