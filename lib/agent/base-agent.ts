/**
 * An agent as a class, as the Stella SDK has it: tools, a system prompt, and `generateResponse`. It is a session on the
 * same runtime as any other, so what it does is recorded, can be watched and taken up again.
 *
 * Without a `generateResponse` of its own the model answers, and calls the agent's tools. One that is overridden takes the
 * model's place in its turns: what it calls by `executeTool` is recorded, gated and supervised as if a model had asked.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Model } from "../model/model.ts";
import { isToolClass, type Tool } from "../tools/sdk/define.ts";
import { describeEmbedded } from "../tools/sdk/embedded.ts";
import { speaker } from "../tools/sdk/speaker.ts";
import { toJsonText } from "../tools/sdk/json-text.ts";
import { toLiveEvent, type WireMessage } from "../tools/sdk/wire.ts";
import { parseArguments } from "../session/arguments.ts";
import type { ToolDeclaration } from "../session/message.ts";
import type { CallResult } from "../session/outcome.ts";
import { type Agent, openDriven } from "./agent.ts";
import { type ChatMessage, toChatMessages } from "./chat-messages.ts";
import { CodeModel } from "./code-model.ts";
import { AnnouncedCalls } from "./announced-calls.ts";
import type { CodeTurn } from "./code-turn.ts";
import type { AgentOptions } from "./options.ts";
import type { Session } from "./session.ts";
import { requireText } from "./text.ts";
import type { TurnResult } from "./turn.ts";

export interface BaseAgentOptions extends Omit<AgentOptions, "tools" | "system"> {
  /** A session to go on with; without it a new one. */
  readonly session?: string;
}

/** In the shape of chat completions' `tools`. */
export interface ToolDefinition {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: Readonly<Record<string, unknown>> };
}

export interface TodoItem {
  readonly id: string;
  readonly description: string;
  readonly status?: "pending" | "in_progress" | "completed";
  readonly required?: boolean;
}

/** Thrown where a turn ended without an answer; `result` says how. */
export class NoResponse extends Error {
  override readonly name = "NoResponse";
  readonly result: TurnResult;

  constructor(result: TurnResult, options?: ErrorOptions) {
    const why = result.error?.message ?? result.detail;
    super(`The turn was ${result.reason}${why === undefined ? "" : `: ${why}`}`, options);
    this.result = result;
  }
}

/** What a turn was begun for in this program, and what its code threw. */
interface Attempt {
  thrown?: unknown;
}

const attempts = new AsyncLocalStorage<Attempt>();
const turns = new AsyncLocalStorage<{ readonly agent: BaseAgent; readonly turn: CodeTurn }>();

/**
 * An agent as a class: its tools, its system prompt, and a session that is recorded. Also exported as `Agent`.
 *
 * @example
 * ```ts
 * import { Agent, tool } from "orrery";
 * import * as v from "valibot";
 *
 * class WeatherAgent extends Agent {
 *   override readonly systemPrompt = "You know the weather.";
 *   override readonly tools = [tool({
 *     name: "get_weather",
 *     description: "Tell the weather.",
 *     parameters: v.object({ city: v.string() }),
 *     inProcess: true,
 *     execute: ({ city }) => ({ city, temp: 65, conditions: "sunny" }),
 *   })];
 * }
 *
 * await using agent = new WeatherAgent({ model: "local/llama3.3", baseUrl: "http://127.0.0.1:11434/v1" });
 * console.log(await agent.generateResponse("And in San Francisco?")); // It is 65 degrees and sunny in San Francisco.
 * ```
 */
export class BaseAgent {
  /** Its tools, beside those that are registered. */
  readonly tools: readonly (Tool | (new () => Tool))[] = [];
  readonly systemPrompt: string = "";
  readonly #options: BaseAgentOptions;
  readonly #registered: Tool[] = [];
  /** Of the classes among `tools`. */
  readonly #instances = new Map<unknown, Tool>();
  /** Told outside of a turn of its code. */
  readonly #announced = new AnnouncedCalls();
  readonly #code: ((input: string) => Promise<string>) | null;
  #runtime: Agent | null = null;
  #session: Promise<Session> | null = null;
  #opened: Session | null = null;
  #closed = false;

  constructor(options: BaseAgentOptions = {}) {
    this.#options = options;
    const own = this.generateResponse;
    this.#code = own === BaseAgent.prototype.generateResponse ? null : (input) => own.call(this, input);
    if (this.#code !== null) this.generateResponse = (input) => this.#respond(input);
  }

  /** @throws {TypeError} if it cannot be offered, or the agent is at work already. */
  registerTool(tool: Tool | (new () => Tool)): void {
    const made = isToolClass(tool) ? new tool() : tool as Tool;
    if (this.#runtime !== null) throw new TypeError(`Cannot register the tool "${made.name}" as the agent is at work: register it before`);
    describeEmbedded(made);
    this.#registered.push(made);
  }

  /**
   * What a model of your own can be offered: the agent's tools and, with `offer: "all"`, whatever else the session offers,
   * as far as that is known: in `generateResponse`, and wherever the session is open.
   */
  getToolDefinitions(): readonly ToolDefinition[] {
    return this.#offered().map(({ name, description, input_schema }) => ({
      type: "function",
      function: { name, description, parameters: input_schema },
    }));
  }

  /**
   * What the tool returns: the value of one of the agent's own tools, the text of any other. What went wrong is
   * `{ error: message }`, so that a loop can hand it to its model; so are a value of more than 64 KiB, which the log does not
   * hold whole, and arguments that JSON cannot hold. In `generateResponse` the call is one of the session's; elsewhere it is
   * gated and supervised, and leaves no trace.
   * @throws {DOMException} `AbortError`: the turn was stopped meanwhile.
   */
  async executeTool(name: string, args: string | object): Promise<unknown> {
    requireText(name, "the name of a tool");
    const given = typeof args === "string" ? { kind: "text" as const, text: args } : toJsonText(args);
    if (given.kind === "unholdable") return { error: `Cannot call "${name}" as JSON cannot hold its arguments: ${given.fault}` };
    const own = this.#tools().some((tool) => tool.name === name);
    const toValue = (result: CallResult) => valueOf(name, result, own);
    const current = this.#turn();
    return current === null ? toValue(await this.#callAlone(name, given.text)) : await current.call(name, given.text, toValue);
  }

  /** The answer to what a user says. @throws {NoResponse} @throws {SessionRefusal} while another turn of the session is open. */
  async generateResponse(input: string): Promise<string> {
    requireText(input, "a prompt");
    const turn = this.#turn();
    return turn === null ? await this.#respond(input) : await turn.consult(input);
  }

  /** Finishes a turn that was left open, by a crash for example; null if none was. @throws {NoResponse} */
  async resume(): Promise<string | null> {
    const session = await this.session();
    const attempt: Attempt = {};
    const result = await attempts.run(attempt, () => session.resume({}));
    return result === null ? null : toText(result, attempt);
  }

  /** What was said before, in the shape of chat completions and without the system prompt. */
  get history(): readonly ChatMessage[] {
    const turn = this.#turn();
    return toChatMessages(turn === null ? this.#opened?.messages() ?? [] : turn.before);
  }

  async sendStatus(status: string, message?: string): Promise<void> {
    await this.send({ type: "agent_status", data: { status, ...(message === undefined ? {} : { message }) } });
  }

  /**
   * Tells those who watch of a call. One that `executeTool` makes right after it is in the session's log, and is told from
   * there, with the log's own id: the two are told once.
   */
  async sendToolCall(name: string, args: string | object, callId?: string): Promise<void> {
    const text = typeof args === "string" ? args : JSON.stringify(args);
    const toMessage = (call_id: string) => wire("tool_call", { tool_name: name, arguments: toObject(text), call_id });
    const turn = this.#turn();
    if (turn === null) this.#announced.announce("", callId, false, (call_id) => this.#say(toMessage(call_id)));
    else turn.announce(name, text, callId, toMessage);
  }

  /** An id that was not sent with a call is a model's: the result is told under the id of a call that was sent without one. */
  async sendToolResult(callId: string, result: unknown, error?: string): Promise<void> {
    const call_id = (this.#turn() ?? this.#announced).answer(callId, result);
    if (call_id === null) return;
    await this.send({ type: "tool_result", data: { call_id, result, ...(error === undefined ? {} : { error }) } });
  }

  /** `progress` goes from 0 to 100. */
  async sendProgress(taskId: string, progress: number, message?: string): Promise<void> {
    await this.send({ type: "progress_update", data: { task_id: taskId, progress, ...(message === undefined ? {} : { message }) } });
  }

  /** Always the whole list. */
  async updateTodo(items: readonly TodoItem[]): Promise<void> {
    const whole = items.map(({ id, description, status = "pending", required = true }) => ({ id, description, status, required }));
    await this.send({ type: "todo_list", data: { items: whole, timestamp: new Date().toISOString() } });
  }

  /** A message of any type, for those who watch the session and the call that this runs for. */
  async send({ type, data }: { readonly type: string; readonly data: unknown }): Promise<void> {
    this.#say(wire(type, data));
  }

  /** Its session, opened when it is first needed. */
  async session(): Promise<Session> {
    this.#checkOpen();
    return await (this.#session ??= this.#openSession());
  }

  /** The runtime that its sessions run on: its own, and those that are begun over HTTP. */
  get runtime(): Agent {
    this.#checkOpen();
    return this.#runtime ??= this.#openRuntime();
  }

  /** Ends every call, session and process of it, and the agent with them: its session is another agent's to go on with. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#runtime?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #respond(input: string): Promise<string> {
    requireText(input, "a prompt");
    const session = await this.session();
    const attempt: Attempt = {};
    return toText(await attempts.run(attempt, () => session.prompt(input, { source: "agent" })), attempt);
  }

  #checkOpen(): void {
    if (!this.#closed) return;
    const id = this.#opened?.id ?? this.#options.session;
    const instead = id === undefined ? "a new agent" : `a new agent with session: "${id}"`;
    throw new Error(`Cannot go on with this agent as it is closed: make ${instead}`);
  }

  async #openSession(): Promise<Session> {
    const { session } = this.#options;
    const opened = session === undefined ? await this.runtime.create() : await this.runtime.open(session);
    return this.#opened = opened;
  }

  #openRuntime(): Agent {
    const { session: _session, ...options } = this.#options;
    const system = this.systemPrompt === "" ? {} : { system: this.systemPrompt };
    const code = this.#code;
    const drive = (model: Model) => code === null ? model : new CodeModel(model, (turn, input) => this.#run(code, turn, input));
    return openDriven({ offer: "own", ...options, ...system, tools: this.#tools() }, drive);
  }

  /** The agent's code as one turn: what it calls and says finds its way back by the asynchronous context. */
  async #run(code: (input: string) => Promise<string>, turn: CodeTurn, input: string): Promise<string> {
    const attempt = attempts.getStore();
    try {
      const say = (message: WireMessage) => turn.say(message);
      return toAnswer(await turns.run({ agent: this, turn }, () => speaker.run({ agent: this, say }, () => code(input))));
    } catch (error) {
      if (attempt !== undefined) attempt.thrown = error;
      throw error;
    }
  }

  /** The turn whose code runs now; null outside of one. */
  #turn(): CodeTurn | null {
    const current = turns.getStore();
    return current?.agent === this && current.turn.ending === null ? current.turn : null;
  }

  #offered(): readonly ToolDeclaration[] {
    const session = this.#options.offer === "all" ? this.#opened?.state().header?.tools : undefined;
    return this.#turn()?.offered ?? session ??
      this.#tools().map(describeEmbedded).map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  }

  #tools(): readonly Tool[] {
    return [...this.tools.map((tool) => isToolClass(tool) ? this.#instanceOf(tool) : tool as Tool), ...this.#registered];
  }

  #instanceOf(of: new () => Tool): Tool {
    const known = this.#instances.get(of);
    if (known !== undefined) return known;
    const made = new of();
    this.#instances.set(of, made);
    return made;
  }

  async #callAlone(name: string, text: string): Promise<CallResult> {
    const { result } = await this.runtime.callTool({ name, arguments: text });
    return result;
  }

  #say(message: WireMessage): void {
    const current = speaker.getStore();
    if (current !== undefined && (current.agent ?? this) === this) current.say(message);
    else this.#tell(message);
  }

  #tell(message: WireMessage): void {
    this.#opened?.tell(toLiveEvent(this.#opened.id, message));
  }
}

function wire(type: string, data: unknown): WireMessage {
  return { type, data, timestamp: new Date().toISOString() };
}

function toText(result: TurnResult, { thrown }: Attempt): string {
  if (result.reason === "completed") return result.text;
  throw new NoResponse(result, thrown === undefined ? undefined : { cause: thrown });
}

/** @throws {TypeError} it is no text: nothing checks the types of an agent's code where it runs. */
function toAnswer(returned: unknown): string {
  if (typeof returned === "string") return returned;
  const what = returned === undefined ? "nothing" : returned === null ? "null" : `a value of type ${typeof returned}`;
  throw new TypeError(`generateResponse returned ${what}, and must return the answer as a string`);
}

/** What code is given for a result; `own`: of a tool in code, whose text is JSON. */
function valueOf(name: string, { is_error, text, data }: CallResult, own: boolean): unknown {
  if (is_error) return { error: text };
  if (!own) return text;
  // A copy: what the code does to it is not done to the log.
  return data !== undefined
    ? structuredClone(data)
    : { error: `"${name}" returned more than the 64 KiB of JSON that a log holds: have it return less.` };
}

function toObject(text: string): object {
  const read = parseArguments(text);
  return read.kind === "input" ? read.input.value : { malformed_arguments: text };
}
