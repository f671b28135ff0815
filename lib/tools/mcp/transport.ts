/** What this room needs of the supervisor: a process that stays and is talked with (T1 to T6 in session/launch.ts). */
import type { Conversation, ConversationRequest } from "../../session/launch.ts";

export type OpenConversation = (request: ConversationRequest) => Conversation;

export const LINE_BYTES = 8 * 1024 * 1024;
export const WINDOW_BYTES = 8 * 1024 * 1024;
export const QUEUE_BYTES = 32 * 1024 * 1024;
/** Enough for a stack trace; what people are shown is a tail of it. */
export const STDERR_BYTES = 16 * 1024;
