/**
 * The body of a Messages request.
 *
 * A1  Roles alternate: what one side says in several messages is one message. Results come first in theirs.
 * A2  No block is blank, and no assistant message is without text and calls.
 * A3  Thoughts go back as they came, in their place.
 */
import { parseKeepingNumbers } from "../session/json.ts";
import type { Message, ToolDeclaration } from "../session/message.ts";
import { hasTexts, type SentBlock, toSentBlocks } from "./block-reply.ts";
import { type Fields, textIn } from "./fields.ts";
import type { ModelRequest } from "./model.ts";
import type { ToolNames } from "./tool-names.ts";
import { toParameters } from "./tool-schema.ts";

export const WIRE = "anthropic";

export interface AnthropicHabits {
  /** The format demands a limit; models that allow less say how much. */
  readonly maxTokens: number;
  /** Lets the model think as much as it finds right, and shows a summary. */
  readonly thinking: boolean;
  /** Sends back earlier thoughts. Signatures of another provider are not accepted. */
  readonly thoughts: boolean;
}

export const MAX_TOKENS = 32_000;

/** These models are older than adaptive thinking; all others are asked for it. */
const NOT_ADAPTIVE = /claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:$|-[015](?:\D|$)|-\d{8}))/;

export function habitsFor(model: string): AnthropicHabits {
  return { maxTokens: MAX_TOKENS, thinking: !NOT_ADAPTIVE.test(model), thoughts: true };
}

export function concede(habits: AnthropicHabits, said: string): AnthropicHabits | null {
  const most = Number(/max_tokens: \d+ > (\d+)/.exec(said)?.[1] ?? 0);
  if (most > 0 && most < habits.maxTokens) return { ...habits, maxTokens: most };
  if (habits.thoughts && /signature/i.test(said)) return { ...habits, thoughts: false };
  if (habits.thinking && /thinking/i.test(said)) return { ...habits, thinking: false };
  return null;
}

export function toBody(
  { id, model }: { readonly id: string; readonly model: string },
  request: ModelRequest,
  names: ToolNames,
  { maxTokens, thinking, thoughts }: AnthropicHabits,
): Fields {
  const system = request.messages.flatMap((message) => message.role === "system" ? [message.text] : []).join("\n\n");
  const turns = toTurns(request.messages, (message) => toContent(message, id, names, thoughts));
  return {
    model,
    max_tokens: maxTokens,
    ...(system === "" ? {} : { system: [{ type: "text", text: system, ...CACHED }] }),
    messages: markTurns(turns),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map((tool) => toWireTool(tool, names)) }),
    stream: true,
    ...(thinking ? { thinking: { type: "adaptive", display: "summarized" } } : {}),
  };
}

/** The request up to here will be the beginning of the next one. */
const CACHED = { cache_control: { type: "ephemeral" } } as const;

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: readonly Fields[];
}

function toTurns(messages: readonly Message[], toContent: (message: Message) => readonly Fields[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const content = toContent(message);
    if (content.length === 0) continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === role) turns[turns.length - 1] = { role, content: [...last.content, ...content] };
    else turns.push({ role, content });
  }
  return turns;
}

/** The end of this request, and of the one before it: a step may add more blocks than are searched for a cached beginning. */
function markTurns(turns: readonly Turn[]): readonly Turn[] {
  const ends = turns.flatMap((turn, position) => turn.role === "user" ? [position] : []).slice(-2);
  return turns.map((turn, position) =>
    ends.includes(position)
      ? { ...turn, content: turn.content.map((block, at) => at === turn.content.length - 1 ? { ...block, ...CACHED } : block) }
      : turn
  );
}

function toWireTool({ name, description, input_schema }: ToolDeclaration, names: ToolNames): Fields {
  return { name: names.toWire(name), description, input_schema: toParameters(input_schema) };
}

function toContent(message: Message, id: string, names: ToolNames, thoughts: boolean): readonly Fields[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return [{ type: "text", text: message.text }];
    case "tool": {
      const { id: tool_use_id, text, is_error } = message;
      // An error without content is refused.
      const content = is_error && text.trim() === "" ? "The call failed without a message." : text;
      return [{ type: "tool_result", tool_use_id, content, ...(is_error ? { is_error } : {}) }];
    }
    case "assistant":
      return toSentBlocks(message, WIRE, id, (fields) => thoughts && isThought(fields))
        .filter((block) => block.kind !== "text" || block.text.trim() !== "")
        .map((block) => toBlock(block, names));
  }
}

/** A thought that was cut off has no signature and is refused. */
function isThought(fields: Fields): boolean {
  return hasTexts(fields, "signature") || hasTexts(fields, "data");
}

function toBlock(block: SentBlock, names: ToolNames): Fields {
  switch (block.kind) {
    case "opaque": {
      const { thinking, signature, data } = block.fields;
      return textIn(block.fields, "data") === undefined ? { type: "thinking", thinking, signature } : { type: "redacted_thinking", data };
    }
    case "text":
      return { type: "text", text: block.text };
    case "call":
      return {
        type: "tool_use",
        id: block.call.id,
        name: names.toWire(block.call.name),
        input: parseKeepingNumbers(block.call.arguments),
      };
  }
}
