/** A conversation in the shape of chat completions, which the Stella SDK's agents use. */
import type { Message } from "../session/message.ts";

export type ChatMessage =
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls?: readonly ChatToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

export interface ChatToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; /** JSON text. */ readonly arguments: string };
}

/** Without system texts: an agent puts its own in front. */
export function toChatMessages(messages: readonly Message[]): readonly ChatMessage[] {
  return messages.flatMap((message): readonly ChatMessage[] => {
    switch (message.role) {
      case "system":
        return [];
      case "user":
        return [{ role: "user", content: message.text }];
      case "tool":
        return [{ role: "tool", tool_call_id: message.id, content: message.text }];
      case "assistant": {
        const calls = message.calls.map((call): ChatToolCall => ({
          id: call.id,
          type: "function",
          function: { name: call.name, arguments: call.arguments },
        }));
        const content = message.text === "" && calls.length > 0 ? null : message.text;
        return [{ role: "assistant", content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
      }
    }
  });
}
