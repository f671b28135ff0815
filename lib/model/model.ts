/**
 * The port of a model: one request, one stream of events. An adapter per wire format implements it; retries are
 * the loop's, because every attempt is an event.
 *
 * M1  `call_ready` comes the moment a call's arguments are a complete JSON document, not when the stream ends.
 * M2  `finished` comes last and once; a stream that ends without it throws.
 * M3  No wait for a silent endpoint is without end, and no line or call grows without bound.
 * M4  Reasoning is for watchers. What must go back to the model that wrote it is in `provider_blocks`, as it came.
 */
import type { Message, ToolDeclaration } from "../session/message.ts";
import type { Finish, ModelErrorKind, Usage } from "../session/outcome.ts";
import type { Entry } from "../session/state.ts";

export interface Model {
  /** `provider/model`, as sessions record it. */
  readonly id: string;
  /** What drives sessions that work for a call of this one's, if it is another. */
  readonly plain?: Model;
  /** @throws {ModelError} before or during iteration. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

export interface ModelRequest {
  /** For code that stands in for a model. */
  readonly turn?: RequestingTurn;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDeclaration[];
}

/** Which turn of the session asks, and what there is in the log. */
export interface RequestingTurn {
  readonly number: number;
  /** What began it. */
  readonly prompt: string;
  /** The request's messages before they were made to fit a window. */
  readonly whole: readonly Message[];
  /** Makes messages fit it, as it made the request's. */
  fit(whole: readonly Message[]): readonly Message[];
  readonly entries: readonly Entry[];
}

export type ModelEvent =
  /** The reply begins anew: nothing that was given before is part of it, and all of it is given from its beginning. */
  | { readonly type: "restarted" }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A call's name is known; its arguments may still be coming. `position` counts calls of this reply from 0. */
  | { readonly type: "call_announced"; readonly position: number; readonly name: string }
  | { readonly type: "call_ready"; readonly position: number; readonly name: string; readonly arguments: string }
  | { readonly type: "finished"; readonly reply: ModelReply };

export interface ModelReply {
  readonly text: string;
  readonly calls: readonly { readonly provider_id?: string; readonly name: string; readonly arguments: string }[];
  readonly finish: Finish;
  readonly usage: Usage;
  /** The model that answered, as the endpoint names it, or the one that was asked. */
  readonly model: string;
  readonly provider_blocks?: readonly unknown[];
}

/** Why an attempt failed. `retry_after_ms`: what the endpoint asked for. `said`: its own words of refusal, codes included. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly kind: ModelErrorKind;
  readonly retry_after_ms: number | null;
  readonly status: number | null;
  readonly said: string;

  constructor(kind: ModelErrorKind, message: string, details: ModelErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.retry_after_ms = details.retry_after_ms ?? null;
    this.status = details.status ?? null;
    this.said = details.said ?? "";
  }
}

export interface ModelErrorDetails {
  readonly retry_after_ms?: number;
  readonly status?: number;
  readonly said?: string;
  readonly cause?: unknown;
}
