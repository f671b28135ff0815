/**
 * A model that plays a script: for `script:FILE`, the demo, and tests. What it plays goes through the same assembly
 * as a real model's stream.
 *
 * Which reply is played follows from the request alone (the number of its assistant messages), so a session that is
 * resumed elsewhere goes on where it was. Only the count of failed attempts is kept here.
 */
import { setTimeout as startTimer } from "node:timers";
import type { Message } from "../session/message.ts";
import { type Place, reportedError, truncatedError } from "./fault.ts";
import { type Model, ModelError, type ModelEvent, type ModelRequest } from "./model.ts";
import { ReplyBuilder } from "./reply.ts";
import type { Script, ScriptAction, ScriptedError, ScriptStep } from "./script.ts";

export function createScriptedModel({ id, script }: { readonly id: string; readonly script: Script }): Model {
  const failures = new Map<number, number>();
  return { id, stream: (request, signal) => play(id, script, failures, request, signal) };
}

/** Puts the text of the latest result (of the named tool) where the script asks for it. */
export function insertResults(text: string, messages: readonly Message[]): string {
  return text.replaceAll(/\{\{\s*result(?:\s+([^\s{}]+))?\s*\}\}/g, (_all, name: string | undefined) => {
    const latest = messages.findLast((message) => message.role === "tool" && (name === undefined || message.name === name));
    return latest?.text.trimEnd() ?? `(no result${name === undefined ? "" : ` of ${name}`})`;
  });
}

async function* play(
  id: string,
  script: Script,
  failures: Map<number, number>,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const place: Place = { model: id, url: "", secrets: [] };
  const position = request.messages.filter((message) => message.role === "assistant").length;
  const failed = failures.get(position) ?? 0;
  const reply = new ReplyBuilder(id);
  for (const { wait_ms, action } of stepsOf(id, script, position, failed)) {
    await wait(wait_ms, signal);
    if (action.type === "drop" || action.type === "eof" || action.type === "error") failures.set(position, failed + 1);
    perform(action, reply, request.messages, place);
    yield* reply.take();
    if (action.type === "finish") break;
  }
  failures.delete(position);
  yield* reply.close();
}

function stepsOf(id: string, script: Script, position: number, failed: number): readonly ScriptStep[] {
  const attempts = script.replies[position]?.attempts;
  const steps = attempts?.[Math.min(failed, attempts.length - 1)];
  if (steps !== undefined) return steps;
  throw new ModelError(
    "rejected",
    `Cannot get a reply from "${id}" as the script is over: reply ${position + 1} was asked for, it has ${script.replies.length}`,
  );
}

function perform(action: ScriptAction, reply: ReplyBuilder, messages: readonly Message[], place: Place): void {
  switch (action.type) {
    case "wait":
      return;
    case "text":
      return reply.addText(insertResults(action.text, messages));
    case "reasoning":
      return reply.addReasoning(insertResults(action.text, messages));
    case "call":
      return reply.addCall(action.fragment);
    case "finish":
      if (action.finish !== undefined) reply.finish = action.finish;
      if (action.usage !== undefined) reply.usage = action.usage;
      return;
    case "drop":
      throw new ModelError("transport", `Cannot get a reply from "${place.model}" as the script drops the connection here`);
    case "eof":
      throw truncatedError(place);
    case "error":
      throw toModelError(place, action.error);
  }
}

function toModelError(place: Place, { kind, status, message, retry_after_ms }: ScriptedError): ModelError {
  const reported = reportedError(place, { message, ...(status === undefined ? {} : { code: status }) });
  return new ModelError(kind ?? reported.kind, reported.message, {
    ...(status === undefined ? {} : { status }),
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  });
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    if (ms === 0) return resolve();
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = startTimer(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal.addEventListener("abort", abort, { once: true });
  });
}
