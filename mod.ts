/// <reference path="./text-modules.d.ts" />
/**
 * Orrery: durable agent sessions with supervised tools. This is the only door for embedders.
 *
 * @module
 */
export { type Agent as Runtime, openAgent } from "./lib/agent/agent.ts";
export type { Answer, Approver, Question, Script } from "./lib/agent/approver.ts";
export {
  BaseAgent,
  BaseAgent as Agent,
  type BaseAgentOptions,
  NoResponse,
  type TodoItem,
  type ToolDefinition as ToolDeclaration,
} from "./lib/agent/base-agent.ts";
export type { ChatMessage, ChatToolCall } from "./lib/agent/chat-messages.ts";
export { type Cancellation, type CancelOptions, CancelUnanswered } from "./lib/agent/cancel.ts";
export type { FeedEvent, Listener } from "./lib/agent/feed.ts";
export { askServer, examine, type Finding } from "./lib/agent/examine.ts";
export type { Fork } from "./lib/agent/fork.ts";
export type { AgentNotice, AgentOptions, NewSessionOptions } from "./lib/agent/options.ts";
export type { CreatedTool, ScaffoldFormat, ScaffoldRequest } from "./lib/agent/scaffold.ts";
export { runtimeSecrets } from "./lib/agent/policy.ts";
export { type BegunTurn, type Session, SessionRefusal, type TurnOptions } from "./lib/agent/session.ts";
export { stateOf, UnsoundLog } from "./lib/agent/log-state.ts";
export type { ToolCall, ToolRequest } from "./lib/agent/tool-call.ts";
export type { Imported } from "./lib/agent/transfer.ts";
export { nameTools } from "./lib/agent/tool-names.ts";
export type { StopReason, TurnCall, TurnResult } from "./lib/agent/turn.ts";
export type { ValidatedFile } from "./lib/agent/validation.ts";
export { listingsIn, type ShownListing } from "./lib/agent/offer.ts";
export type { Workshop } from "./lib/agent/workshop.ts";
export { ConfigError, UsageError } from "./lib/config/error.ts";
export { type AgentApp, createApp, type EmbedOptions, openServerLog, type ServerLog, startServer } from "./lib/http/embed.ts";
export type { Closing, RunningServer, ServerOptions } from "./lib/http/serve.ts";
export {
  type ApprovalBody,
  type Client,
  createClient,
  type FollowOptions,
  type NewSessionBody,
  type PromptOptions,
  type SessionDocument,
} from "./lib/http/client.ts";
export { ApiProblem, type ClientOptions } from "./lib/http/client-request.ts";
export type { ClientEvent } from "./lib/http/client-events.ts";
export { type ConfigurationRow, listConfiguration } from "./lib/config/listing.ts";
export { resolvePaths } from "./lib/config/paths.ts";
export { describeSource } from "./lib/config/source.ts";
export { describeInert, describeReason, TrustError, type WorkspaceTrust } from "./lib/gate/trust.ts";
export { visible } from "./lib/gate/visible.ts";
export {
  JournalConflict,
  JournalHeld,
  JournalOccupied,
  JournalUnavailable,
  LeaseLost,
  type LogRow,
  type SessionSummary,
} from "./lib/journal/journal.ts";
export { ModelConfigError } from "./lib/model/providers.ts";
export {
  type EventOf,
  type EventType,
  isKnown,
  parseEvent,
  type SessionEvent,
  type StoredEvent,
  toPlainEvent,
} from "./lib/session/event.ts";
export type { LiveEvent } from "./lib/session/live.ts";
export type { Message } from "./lib/session/message.ts";
export type { CallResult, Mode, ModelErrorKind, Outcome, TurnEnd, Usage } from "./lib/session/outcome.ts";
export { evolve, fold } from "./lib/session/evolve.ts";
export { initialState, type SessionState } from "./lib/session/state.ts";
export { conversation, transcript } from "./lib/session/transcript.ts";
export { type Diagnostic, hasErrors } from "./lib/tools/diagnostic.ts";
export { nearest } from "./lib/tools/nearest.ts";
export {
  type JsonSchema,
  Tool,
  tool,
  type ToolContext,
  type ToolDefinition,
  type ToolInput,
  type ToolOptions,
  type ToolParameters,
  ValidationError,
} from "./lib/tools/sdk/define.ts";
export type { WireMessage } from "./lib/tools/sdk/wire.ts";
export type { Listing, Toolbox } from "./lib/tools/toolbox.ts";
