/** Asking a model in a test. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Model, ModelError, type ModelEvent, type ModelReply, type ModelRequest } from "../../lib/model/model.ts";
import type { Message } from "../../lib/session/message.ts";
import type { EndpointReply } from "../fixtures/endpoint.ts";

export const HELLO: ModelRequest = { messages: [{ role: "user", text: "hello" }], tools: [] };

export async function collect(model: Model, request = HELLO, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, signal)) events.push(event);
  return events;
}

export async function replyOf(model: Model, request = HELLO, hear: (event: ModelEvent) => void = () => {}): Promise<ModelReply> {
  let last: ModelEvent | undefined;
  for await (const event of model.stream(request, new AbortController().signal)) hear(last = event);
  if (last?.type !== "finished") throw new Error("the stream ended without a reply");
  return last.reply;
}

export async function errorOf(work: Promise<unknown>): Promise<ModelError> {
  const error = await work.then(() => new Error("it did not fail"), (reason: unknown) => reason);
  if (!(error instanceof ModelError)) throw error;
  return error;
}

/** An answer that plays a recording, such as `anthropic/call.sse`. */
export async function recorded(name: string): Promise<EndpointReply> {
  return { steps: [{ write: await readFile(fileURLToPath(import.meta.resolve(`../fixtures/recordings/${name}`))) }] };
}

/** A reply and the results of its calls, as the next request shows them after they were in the log. */
export function toHistory(reply: ModelReply): readonly Message[] {
  const { text, calls, provider_blocks } = JSON.parse(JSON.stringify(reply)) as ModelReply;
  const named = calls.map((call, position) => ({ id: call.provider_id ?? `c${position}`, name: call.name, arguments: call.arguments }));
  return [
    { role: "assistant", text, calls: named, ...(provider_blocks === undefined ? {} : { provider_blocks }) },
    ...named.map(({ id, name }): Message => ({ role: "tool", id, name, text: `result of ${name}`, is_error: false })),
  ];
}
