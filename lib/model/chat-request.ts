/** The body of a chat-completions request. */
import type { Message, ToolDeclaration } from "../session/message.ts";
import { type Fields, isFields, listIn, textIn } from "./fields.ts";
import type { ModelRequest } from "./model.ts";
import type { ToolNames } from "./tool-names.ts";
import { toParameters } from "./tool-schema.ts";

/** What a reply's opaque parts are kept as, so that they go back only to the model that wrote them. */
export interface ChatBlock {
  readonly wire: "chat";
  readonly model: string;
  /** Fields of the assistant message, as they came. */
  readonly fields: Fields;
}

export interface ChatHabits {
  /** Some endpoints refuse `stream_options`; usage is then not known. */
  readonly includeUsage: boolean;
}

/** `id`: whose blocks go back. `model`: the name at the endpoint. */
export function toBody(
  { id, model }: { readonly id: string; readonly model: string },
  request: ModelRequest,
  names: ToolNames,
  { includeUsage }: ChatHabits,
): Fields {
  return {
    model,
    messages: request.messages.map((message) => toWireMessage(message, id, names)),
    stream: true,
    ...(includeUsage ? { stream_options: { include_usage: true } } : {}),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map((tool) => toWireTool(tool, names)) }),
  };
}

function toWireTool({ name, description, input_schema }: ToolDeclaration, names: ToolNames): Fields {
  return { type: "function", function: { name: names.toWire(name), description, parameters: toParameters(input_schema) } };
}

function toWireMessage(message: Message, model: string, names: ToolNames): Fields {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text };
    case "tool":
      return { role: "tool", tool_call_id: message.id, content: message.text };
    case "assistant": {
      const calls = message.calls.map(({ id, name, arguments: text }) => ({
        id,
        type: "function",
        function: { name: names.toWire(name), arguments: text },
      }));
      return {
        // Before `role` and `content`, so that a block can never replace them.
        ...Object.assign({}, ...(message.provider_blocks ?? []).map((block) => fieldsFor(block, model))),
        role: "assistant",
        content: message.text === "" && calls.length > 0 ? null : message.text,
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
    }
  }
}

function fieldsFor(block: unknown, model: string): Fields {
  if (textIn(block, "wire") !== "chat" || textIn(block, "model") !== model || !isFields(block)) return {};
  const fields = block.fields;
  if (!isFields(fields)) return {};
  const reasoning = textIn(fields, "reasoning_content");
  const details = listIn(fields, "reasoning_details");
  return {
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
}
