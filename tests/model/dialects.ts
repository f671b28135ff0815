/** Asking servers whose habits are crossed with one another. */
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import { ModelError, type ModelReply, type ModelRequest } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import { parseArguments } from "../../lib/session/arguments.ts";

export interface Meant {
  readonly name: string;
  readonly input: object;
}

export type Choice<T extends Readonly<Record<string, readonly string[]>>> = { readonly [K in keyof T]: T[K][number] };

export function cross<const T extends Readonly<Record<string, readonly string[]>>>(axes: T): readonly Choice<T>[] {
  let all: Record<string, string>[] = [{}];
  for (const [axis, values] of Object.entries(axes)) all = all.flatMap((each) => values.map((value) => ({ ...each, [axis]: value })));
  return all as unknown as readonly Choice<T>[];
}

const models = { chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel };

const TOOLS = ["read", "read_file", "write_file", "list", "to", "toto"];
const REQUEST: ModelRequest = {
  messages: [{ role: "user", text: "go" }],
  tools: TOOLS.map((name) => ({ name, description: "", input_schema: {} })),
};

export interface Result {
  /** By the position of the call. */
  readonly ready: readonly string[];
  /** Null if the attempt broke off. */
  readonly reply: ModelReply | null;
}

/** `broken`: the connection fails behind the stream. */
export async function askDialect(wire: keyof typeof models, stream: string, broken = false): Promise<Result> {
  const left = [new TextEncoder().encode(stream)];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (broken) controller.error(new TypeError("terminated"));
      else controller.close();
    },
  });
  const fetch = () => Promise.resolve(new Response(body));
  const model = models[wire]({ id: "local/m", model: "m", baseUrl: "http://127.0.0.1:9/v1", fetch });
  const ready: string[] = [];
  try {
    for await (const event of model.stream(REQUEST, new AbortController().signal)) {
      if (event.type === "restarted") ready.length = 0;
      if (event.type === "call_ready") ready[event.position] = brief(event);
      if (event.type === "finished") return { ready, reply: event.reply };
    }
  } catch (error) {
    if (!(error instanceof ModelError && error.kind === "transport")) throw error;
  }
  return { ready, reply: null };
}

export interface Said {
  readonly name: string;
  readonly arguments: string;
}

export function brief({ name, arguments: text }: Said): string {
  const parsed = parseArguments(text);
  return `${name} ${parsed.kind === "input" ? parsed.input.text : `malformed: ${text}`}`;
}

/** True for a call, in brief, whose arguments are broken or that is of no tool. */
export function cannotRun(call: string): boolean {
  return call.includes(" malformed: ") || !TOOLS.some((tool) => call.startsWith(`${tool} `));
}

/** What was ready early though the reply does not ask for it. */
export function notAskedFor({ ready, reply }: Result): readonly string[] {
  const asked = reply?.calls.map(brief) ?? [];
  return reply === null ? [] : ready.flatMap((each, position) => asked[position] === each ? [] : [each]);
}
