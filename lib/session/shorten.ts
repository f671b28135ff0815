/**
 * A conversation that does not fit the model's window is shown shorter; the log keeps everything. First each part of it
 * is cut, old results and arguments before new ones, then whole old replies are left out, then old prompts, and at last
 * the middle of the prompt itself.
 *
 * H1  A call and its result stay together: both are shown, or neither.
 * H2  The same messages and the same budget give the same bytes.
 * H3  Of the system text nothing is cut.
 */
import { parseArguments } from "./arguments.ts";
import { cutMiddle } from "./excerpt.ts";
import { parseKeepingNumbers } from "./json.ts";
import type { Message, MessageCall } from "./message.ts";

/** The messages, in at most this many bytes of JSON; as few as can be where that is too little. */
export function shorten(messages: readonly Message[], budget_bytes: number): readonly Message[] {
  if (budget_bytes === Infinity) return messages;
  let shortest = messages;
  for (const limits of [null, ...LEVELS]) {
    shortest = limits === null ? messages : cutParts(messages, limits);
    if (sizeOf(shortest) <= budget_bytes) return shortest;
  }
  const fewer = leaveOut(shortest, budget_bytes);
  if (sizeOf(fewer) <= budget_bytes) return fewer;
  return cutPrompt(cutParts(fewer, LAST), budget_bytes);
}

/** What a request may have after one of this size was too long: half at first, then an eighth, so that three are enough. */
export function learnBudget(known: number | null, sent_bytes: number): number {
  return Math.floor(known === null ? sent_bytes / 2 : Math.min(known, sent_bytes) / 8);
}

/** How much of each part is left, in bytes. */
interface Limits {
  readonly old_result: number;
  readonly old_arguments: number;
  readonly old_text: number;
  readonly new_result: number;
  readonly new_arguments: number;
  readonly new_text: number;
}

const whole = Infinity;
const LEVELS: readonly Limits[] = [
  { old_result: 2000, old_arguments: 2000, old_text: whole, new_result: 16_000, new_arguments: whole, new_text: whole },
  { old_result: 200, old_arguments: 500, old_text: 1000, new_result: 4000, new_arguments: 4000, new_text: whole },
  { old_result: 40, old_arguments: 200, old_text: 200, new_result: 1000, new_arguments: 1000, new_text: 4000 },
];
const LAST: Limits = { old_result: 40, old_arguments: 100, old_text: 100, new_result: 100, new_arguments: 100, new_text: 400 };
const LEAST_PROMPT_BYTES = 1000;
const MARKER_BYTES = 200;

function cutParts(messages: readonly Message[], limits: Limits): readonly Message[] {
  const newest = messages.findLastIndex((message) => message.role === "assistant");
  const lastPrompt = messages.findLastIndex((message) => message.role === "user");
  return messages.map((message, index) => {
    switch (message.role) {
      case "system":
        return message;
      case "tool":
        return cutText(message, index > newest ? limits.new_result : limits.old_result);
      case "user":
        return index === lastPrompt ? message : cutText(message, limits.old_text);
      case "assistant":
        return index === newest
          ? cutCalls(cutText(message, limits.new_text), limits.new_arguments)
          : cutCalls(cutText(message, limits.old_text), limits.old_arguments);
    }
  });
}

/** A prompt, or a reply with the results of its calls (H1). */
interface Part {
  readonly messages: readonly Message[];
  readonly bytes: number;
  readonly kind: "kept" | "prompt" | "reply";
}

/** Without as many of the oldest replies, and then of the oldest prompts, as must go. */
function leaveOut(messages: readonly Message[], budget_bytes: number): readonly Message[] {
  const parts = toParts(messages);
  let excess = sizeOf(messages) + MARKER_BYTES - budget_bytes;
  const out = new Set<Part>();
  for (const kind of ["reply", "prompt"] as const) {
    for (const part of parts) {
      if (excess <= 0 || part.kind !== kind) continue;
      out.add(part);
      excess -= part.bytes;
    }
  }
  if (out.size === 0) return messages;
  return withMarker(parts, out);
}

/** The system text, the last prompt, and the reply that answers it last are always shown. */
function toParts(messages: readonly Message[]): readonly Part[] {
  const newest = messages.findLastIndex((message) => message.role === "assistant");
  const lastPrompt = messages.findLastIndex((message) => message.role === "user");
  const parts: Part[] = [];
  for (let index = 0; index < messages.length;) {
    let end = index + 1;
    while (messages[end]?.role === "tool") end++;
    const own = messages.slice(index, end);
    const kept = own[0]?.role === "system" || index === lastPrompt || (index === newest && newest > lastPrompt);
    parts.push({ messages: own, bytes: sizeOf(own), kind: kept ? "kept" : own[0]?.role === "user" ? "prompt" : "reply" });
    index = end;
  }
  return parts;
}

/** A line says what is missing, with the prompt before the first gap or, where there is none, as one. */
function withMarker(parts: readonly Part[], out: ReadonlySet<Part>): readonly Message[] {
  const marker = `[Left out, as the conversation is longer than the model's window: ${out.size} earlier parts of it.]`;
  const shown: Message[] = [];
  let marked = false;
  for (const part of parts) {
    if (!out.has(part)) {
      shown.push(...part.messages);
      continue;
    }
    if (marked) continue;
    marked = true;
    const before = shown[shown.length - 1];
    if (before?.role === "user") shown[shown.length - 1] = { ...before, text: `${before.text}\n\n${marker}` };
    else shown.push({ role: "user", text: marker });
  }
  return shown;
}

function cutPrompt(messages: readonly Message[], budget_bytes: number): readonly Message[] {
  const at = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[at];
  if (prompt?.role !== "user") return messages;
  const rest = sizeOf(messages) - sizeOf([prompt]);
  // A byte of text is up to six of JSON.
  for (let limit = Math.max(LEAST_PROMPT_BYTES, budget_bytes - rest - MARKER_BYTES);; limit = Math.max(LEAST_PROMPT_BYTES, limit / 2)) {
    const cut = messages.with(at, cutText(prompt, Math.floor(limit)));
    if (sizeOf(cut) <= budget_bytes || limit <= LEAST_PROMPT_BYTES) return cut;
  }
}

/** Size of a part of a request, as JSON. */
export function sizeOf(value: readonly unknown[]): number {
  return value.reduce((sum: number, each) => sum + new TextEncoder().encode(JSON.stringify(each)).length + 1, 0);
}

function cutText<M extends { readonly text: string }>(message: M, limit: number): M {
  const text = excerptOf(message.text, limit);
  return text === message.text ? message : { ...message, text };
}

function cutCalls<M extends { readonly calls: readonly MessageCall[] }>(message: M, limit: number): M {
  return { ...message, calls: message.calls.map((call) => ({ ...call, arguments: cutArguments(call.arguments, limit) })) };
}

/** Still an object with the same keys where that can be; providers refuse anything but an object. */
function cutArguments(text: string, limit: number): string {
  if (text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit || parseArguments(text).kind !== "input") return text;
  const members = Object.entries(parseKeepingNumbers(text) as Record<string, unknown>);
  const each = Math.floor(limit / Math.max(1, members.length));
  const cut = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${cutValue(value, each)}`).join(",")}}`;
  if (cut.length <= Math.max(2 * limit, 400)) return cut.length < text.length ? cut : text;
  return JSON.stringify({ shortened: excerptOf(text, limit) });
}

function cutValue(value: unknown, limit: number): string {
  const text = JSON.stringify(value);
  if (text.length * 3 <= limit) return text;
  const excerpt = JSON.stringify(excerptOf(typeof value === "string" ? value : text, limit));
  return excerpt.length < text.length ? excerpt : text;
}

function excerptOf(text: string, limit: number): string {
  // A character is at most three bytes of UTF-8 here, so short texts need no measuring.
  if (text.length * 3 <= limit) return text;
  const excerpt = cutMiddle(text, limit);
  return excerpt.cut && excerpt.text.length < text.length ? excerpt.text : text;
}
