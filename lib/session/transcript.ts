/**
 * The conversation as the next request to the model shows it.
 *
 * T1  Every call of an assistant message is followed by exactly one result, in call order, before anything else.
 * T2  The same log gives the same messages, byte for byte.
 */
import { toArray } from "./append-list.ts";
import { parseArguments } from "./arguments.ts";
import type { Message, MessageCall } from "./message.ts";
import type { CallResult } from "./outcome.ts";
import type { CallState, Entry, SessionState } from "./state.ts";

const NO_RESULT: CallResult = { is_error: true, text: "This call has no recorded result: it was interrupted." };

/** All messages, the system text first. Calls of an open step without an end are given an interim result. */
export function transcript(state: SessionState): readonly Message[] {
  return messagesOf(state, {
    results: (call) => resultOf(call, state) ?? NO_RESULT,
    named: ({ name }, id) => ({ id, name }),
  });
}

export type RecordedMessage = ToldMessage<OwnId>;
interface OwnId {
  readonly call: string;
}

/** The same as far as it is recorded: a call without an end has no result. Calls and results have our own id too. */
export function conversation(state: SessionState): readonly RecordedMessage[] {
  return messagesOf<OwnId>(state, {
    results: (call) => resultOf(call, state),
    named: ({ call, name }, id) => ({ id, call, name }),
  });
}

/** The text of the last reply of the session; empty if there is none. */
export function lastText(state: SessionState): string {
  for (const entry of [...entriesOf(state)].reverse()) if (entry.kind === "reply") return entry.reply.text;
  return "";
}

/** Closed entries and, as the last one, the open step's reply. */
export function entriesOf(state: SessionState): readonly Entry[] {
  const closed = toArray(state.history);
  if (state.turn.kind !== "running" || state.turn.phase.kind !== "calling") return closed;
  const { turn, step, phase } = state.turn;
  return [...closed, { kind: "reply", turn, step, reply: phase.reply, calls: phase.calls }];
}

type ToldMessage<More> =
  | Exclude<Message, { role: "assistant" | "tool" }>
  | Omit<Extract<Message, { role: "assistant" }>, "calls"> & { readonly calls: readonly (MessageCall & More)[] }
  | Extract<Message, { role: "tool" }> & More;

interface Telling<More> {
  /** Null: nothing is told. */
  results(call: CallState): CallResult | null;
  named(call: CallState, id: string): Pick<MessageCall, "id" | "name"> & More;
}

function messagesOf<More>(state: SessionState, telling: Telling<More>): readonly ToldMessage<More>[] {
  const ids = new WireIds();
  const messages: ToldMessage<More>[] = [];
  if (state.header !== null && state.header.system !== "") messages.push({ role: "system", text: state.header.system });
  for (const entry of entriesOf(state)) messages.push(...toMessages(entry, telling, ids));
  return messages;
}

function toMessages<More>(entry: Entry, telling: Telling<More>, ids: WireIds): readonly ToldMessage<More>[] {
  if (entry.kind === "prompt") return [{ role: "user", text: entry.text }];
  const { text, provider_blocks } = entry.reply;
  if (text === "" && entry.calls.length === 0 && provider_blocks === undefined) return [];
  const told = entry.calls.map((call) => ({ call, name: telling.named(call, ids.of(call)) }));
  const results = told.flatMap(({ call, name }) => {
    const result = telling.results(call);
    return result === null ? [] : [{ role: "tool" as const, ...name, text: result.text, is_error: result.is_error }];
  });
  return [
    {
      role: "assistant",
      text,
      calls: told.map(({ call, name }) => ({ ...name, arguments: wireArguments(call.arguments) })),
      ...(provider_blocks === undefined ? {} : { provider_blocks }),
    },
    ...results,
  ];
}

function resultOf({ call, status }: CallState, { late }: SessionState): CallResult | null {
  if (status.kind === "ended") return status.result;
  return Object.hasOwn(late, call) ? late[call] ?? null : null;
}

/** Providers refuse a history whose arguments are not an object: what was malformed goes back as a quoted string. */
function wireArguments(text: string): string {
  const parsed = parseArguments(text);
  return parsed.kind === "input" ? parsed.input.text : JSON.stringify({ malformed_arguments: text.toWellFormed() });
}

/** The provider's id where it is fit and not used before, else our own, shortened to the 40 characters some allow. */
class WireIds {
  readonly #used = new Set<string>();

  of(call: CallState): string {
    const given = call.provider_id;
    const fit = given !== undefined && /^[A-Za-z0-9_-]{1,40}$/.test(given) && !this.#used.has(given);
    const id = fit ? given : call.call.replaceAll("-", "");
    this.#used.add(id);
    return id;
  }
}
