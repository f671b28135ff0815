/**
 * A conversation that does not fit the model's window is shown shorter: old results first, then the newest. Nothing is
 * taken out, so calls and results stay pairs; the log keeps everything.
 */
import { cutMiddle } from "./excerpt.ts";
import type { Message } from "./message.ts";

/** How much of each part is left, in bytes. */
interface Level {
  readonly old_result: number;
  readonly new_result: number;
  readonly old_text: number;
}

const LEVELS: readonly Level[] = [
  { old_result: Infinity, new_result: Infinity, old_text: Infinity },
  { old_result: 2000, new_result: 16_000, old_text: Infinity },
  { old_result: 200, new_result: 4000, old_text: 1000 },
  { old_result: 40, new_result: 1000, old_text: 200 },
];

export const MOST_SHORTENED = LEVELS.length - 1;

/** The messages with as much left as the level allows; 0 leaves everything. */
export function shorten(messages: readonly Message[], level: number): readonly Message[] {
  const limits = LEVELS[Math.min(level, MOST_SHORTENED)];
  if (limits === undefined || level <= 0) return messages;
  const newest = messages.findLastIndex((message) => message.role === "assistant");
  const lastPrompt = messages.findLastIndex((message) => message.role === "user");
  return messages.map((message, index) => {
    switch (message.role) {
      case "system":
        return message;
      case "tool":
        return cut(message, index > newest ? limits.new_result : limits.old_result);
      case "user":
        return index === lastPrompt ? message : cut(message, limits.old_text);
      case "assistant":
        return index === newest ? message : cut(message, limits.old_text);
    }
  });
}

/** The least level whose messages take at most this many bytes; the last one if none does. */
export function levelFor(messages: readonly Message[], budget_bytes: number): number {
  for (let level = 0; level < MOST_SHORTENED; level++) if (sizeOf(shorten(messages, level)) <= budget_bytes) return level;
  return MOST_SHORTENED;
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + new TextEncoder().encode(JSON.stringify(message)).length, 0);
}

function cut<M extends { readonly text: string }>(message: M, limit: number): M {
  // A character is at most three bytes of UTF-8 here, so short texts need no measuring.
  if (message.text.length * 3 <= limit) return message;
  const excerpt = cutMiddle(message.text, limit);
  return excerpt.cut ? { ...message, text: excerpt.text } : message;
}
