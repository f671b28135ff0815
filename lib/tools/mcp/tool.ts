/** A tool of a server as the record that every tool becomes. It starts no process: its call is a message to one that lives. */
import type { CallEnd } from "./connection.ts";
import type { Offer } from "./listing.ts";
import type { Origin } from "../../session/event.ts";
import type { JsonInput } from "../../session/json.ts";
import { NOTHING_CAPTURED, type Run } from "../../session/launch.ts";
import type { ReadResult, RemotePlan, Tool } from "../tool.ts";
import { aliasOf, ruleNameOf } from "./names.ts";
import { renderResult } from "./render.ts";

export interface McpTool extends Omit<Tool, "plan"> {
  /** The name that switches, hooks and grants are written for. */
  readonly rule_name: string;
  plan(input: JsonInput): RemotePlan;
}

/** Carries out one call of an offer that may have changed since. Never rejects. */
export type Caller = (offer: Offer, input: JsonInput, signal: AbortSignal) => Promise<CallEnd>;

export function toMcpTool(offer: Offer, origin: Origin, call: Caller): McpTool {
  const name = aliasOf(offer);
  return {
    name,
    rule_name: ruleNameOf(offer),
    description: offer.description,
    input_schema: offer.schema.declared,
    origin,
    digest: offer.digest,
    // What the server claims of these is not asked for.
    read_only: false,
    speculation_safe: false,
    approval: "destructive",
    check: ({ value, text }) => offer.schema.check(value, text),
    plan: (input) => ({
      kind: "remote",
      worker: `mcp:${offer.server}`,
      call: async (signal) => {
        const began = performance.now();
        const end = await call(offer, input, signal);
        return toRun(name, end, performance.now() - began);
      },
    }),
    read: (run) => readRun(name, offer.server, run),
  };
}

function toRun(name: string, end: CallEnd, duration_ms: number): Run {
  const run = { stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED, duration_ms, reaped: [] };
  switch (end.kind) {
    case "answered":
      return { ...run, outcome: { kind: "returned" }, reply: renderResult(name, end.result) };
    case "refused":
      return {
        ...run,
        outcome: { kind: "returned" },
        reply: { is_error: true, text: `${name} was refused by its server: ${end.problem}` },
      };
    case "timed_out":
      return { ...run, outcome: { kind: "timed_out", after_ms: end.after_ms } };
    case "cancelled":
      return { ...run, outcome: { kind: "cancelled" } };
    case "unsent":
      return { ...run, outcome: { kind: "not_started", reason: "cannot_start" }, problem: end.problem };
    case "lost":
      return { ...run, outcome: { kind: "unknown", cause: "server_lost" }, problem: end.problem };
  }
}

function readRun(name: string, server: string, run: Run): ReadResult {
  if (run.outcome.kind === "returned" && run.reply !== undefined) {
    const { is_error, text, data, whole_bytes } = run.reply;
    if (text === "") {
      return { result: { is_error, text: `${name} ${is_error ? "failed" : "succeeded"} and answered nothing.`, empty: true } };
    }
    return {
      result: { is_error, text, ...(data === undefined ? {} : { data }) },
      ...(whole_bytes === undefined ? {} : { truncated: { stdout_bytes: whole_bytes, stderr_bytes: 0 } }),
    };
  }
  return { result: { is_error: true, text: `${name} ${sentenceOf(server, run)}` } };
}

function sentenceOf(server: string, { outcome, problem }: Run): string {
  const because = problem === undefined ? "" : `: ${problem}`;
  const peer = `the MCP server "${server}"`;
  switch (outcome.kind) {
    case "timed_out":
      return `got no answer from ${peer} within ${outcome.after_ms} ms. The server was told to stop; whether it did, and what it had done by then, is not known.`;
    case "cancelled":
      return `was cancelled. ${peer} was told to stop; what it had done by then is not known.`;
    case "not_started":
      return `was not run, as it did not reach ${peer}${because}`;
    case "unknown":
      return `has an unknown outcome (${outcome.cause}). It was sent to ${peer} and may or may not have taken effect; it was not sent again${because}`;
    case "returned":
    case "exited":
    case "signalled":
      return `gave an answer that cannot be read${because}`;
  }
}
