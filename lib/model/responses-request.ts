/** The body of a Responses request. */
import type { Message, ToolDeclaration } from "../session/message.ts";
import { hasTexts, type SentBlock, toSentBlocks } from "./block-reply.ts";
import { type Fields, textIn } from "./fields.ts";
import type { ModelRequest } from "./model.ts";
import type { ToolNames } from "./tool-names.ts";
import { toParameters } from "./tool-schema.ts";

export const WIRE = "responses";

export interface ResponsesHabits {
  /** Asks for reasoning in a form that can be sent back. Models that do not reason refuse it. */
  readonly encrypted: boolean;
  /** Asks for summaries of the reasoning, to show. Some models and organisations are refused them. */
  readonly summary: boolean;
  /** Sends back earlier reasoning. Another organisation's cannot be read. */
  readonly thoughts: boolean;
}

export const EAGER: ResponsesHabits = { encrypted: true, summary: true, thoughts: true };

export function concede(habits: ResponsesHabits, said: string): ResponsesHabits | null {
  if (/invalid_encrypted_content|encrypted.?content.*(could not be|was not issued)/i.test(said)) {
    return habits.thoughts ? { ...habits, thoughts: false } : null;
  }
  if (habits.encrypted && /encrypted.?content/i.test(said)) return { ...habits, encrypted: false };
  if (habits.summary && /reasoning/i.test(said)) return { ...habits, summary: false };
  return null;
}

export function toBody(
  { id, model }: { readonly id: string; readonly model: string },
  request: ModelRequest,
  names: ToolNames,
  { encrypted, summary, thoughts }: ResponsesHabits,
): Fields {
  const system = request.messages.flatMap((message) => message.role === "system" ? [message.text] : []);
  return {
    model,
    ...(system.length === 0 ? {} : { instructions: system.join("\n\n") }),
    input: request.messages.flatMap((message) => toItems(message, id, names, (fields) => thoughts && isReasoning(fields))),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map((tool) => toWireTool(tool, names)) }),
    stream: true,
    store: false,
    ...(encrypted ? { include: ["reasoning.encrypted_content"] } : {}),
    ...(summary ? { reasoning: { summary: "auto" } } : {}),
  };
}

function toWireTool({ name, description, input_schema }: ToolDeclaration, names: ToolNames): Fields {
  return { type: "function", name: names.toWire(name), description, parameters: toParameters(input_schema), strict: false };
}

function toItems(message: Message, id: string, names: ToolNames, fit: (opaque: Fields) => boolean): readonly Fields[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return [{ role: "user", content: [{ type: "input_text", text: message.text }] }];
    case "tool":
      return [{ type: "function_call_output", call_id: message.id, output: message.text }];
    case "assistant":
      return toSentBlocks(message, WIRE, id, fit).map((block) => toItem(block, names));
  }
}

/** Reasoning that cannot be read without the endpoint's own memory is not sent. */
function isReasoning(fields: Fields): boolean {
  return hasTexts(fields, "id", "encrypted_content");
}

function toItem(block: SentBlock, names: ToolNames): Fields {
  switch (block.kind) {
    case "opaque": {
      const { id, summary, content, encrypted_content } = block.fields;
      return {
        type: "reasoning",
        id,
        summary: Array.isArray(summary) ? summary : [],
        ...(Array.isArray(content) ? { content } : {}),
        encrypted_content,
      };
    }
    case "text": {
      const phase = textIn(block.fields, "phase");
      return { role: "assistant", content: block.text, ...(phase === undefined ? {} : { phase }) };
    }
    case "call":
      return { type: "function_call", call_id: block.call.id, name: names.toWire(block.call.name), arguments: block.call.arguments };
  }
}
