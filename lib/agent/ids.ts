/** Everything that is random or reads a clock, so that `session/` needs neither. */
import { uuidv7 } from "uuidv7";

export function newSessionId(): string {
  return `ses_${uuidv7()}`;
}

export function newCallId(): string {
  return `call_${uuidv7()}`;
}

/** RFC 3339, UTC, milliseconds. */
export function now(): string {
  return new Date().toISOString();
}

/** Names one runtime for its lifetime: in leases, and in the tags of its processes. */
export function newRuntimeId(): string {
  return `run_${uuidv7()}`;
}

export function newSpeculationId(): string {
  return `spec_${uuidv7()}`;
}

/** Names a hook's process for the supervisor. */
export function newHookId(): string {
  return `hook_${uuidv7()}`;
}

/** Names the process of an MCP server for the supervisor. */
export function newServerId(): string {
  return `mcp_${uuidv7()}`;
}

/** Names a process that asks a tool file what is in it. */
export function newInquiryId(): string {
  return `ask_${uuidv7()}`;
}
