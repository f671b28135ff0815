/**
 * Orrery: durable agent sessions with supervised tools. This is the only door for embedders.
 *
 * @module
 */
export { type Agent, openAgent } from "./lib/agent/agent.ts";
export type { Answer, Approver, Question } from "./lib/agent/approver.ts";
export type { FeedEvent, Listener } from "./lib/agent/feed.ts";
export type { AgentNotice, AgentOptions } from "./lib/agent/options.ts";
export { type Session, SessionRefusal, type TurnOptions } from "./lib/agent/session.ts";
export { stateOf } from "./lib/agent/sessions.ts";
export type { StopReason, TurnCall, TurnResult } from "./lib/agent/turn.ts";
export { ConfigError, UsageError } from "./lib/config/error.ts";
export { JournalConflict, JournalHeld, JournalUnavailable, LeaseLost, type LogRow, type SessionSummary } from "./lib/journal/journal.ts";
export { ModelConfigError } from "./lib/model/providers.ts";
export { type EventOf, type EventType, isKnown, parseEvent, type SessionEvent, type StoredEvent, toPlainEvent } from "./lib/session/event.ts";
export type { LiveEvent } from "./lib/session/live.ts";
export type { Message } from "./lib/session/message.ts";
export type { CallResult, Mode, ModelErrorKind, Outcome, TurnEnd, Usage } from "./lib/session/outcome.ts";
export { evolve, fold, initialState, type SessionState } from "./lib/session/state.ts";
export { transcript } from "./lib/session/transcript.ts";
export type { Listing, Toolbox } from "./lib/tools/toolbox.ts";
