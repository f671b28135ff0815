/**
 * One POST to an endpoint and the text that comes back. Knows HTTP, not any wire format.
 *
 * X1  Nothing waits longer than the idle limit, neither for the headers nor for the body.
 * X2  No redirect is followed, so the key reaches no other host.
 * X3  Every failure is a `ModelError`, except an abort, which throws the signal's reason.
 */
import type { Answer } from "../platform/keeping-fetch.ts";
import { connectionError, type Place, refusalError } from "./fault.ts";
import { BodyText, type Patience, settleWithin } from "./sse.ts";

/** What we use of the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Answer>;

export interface Endpoint extends Place {
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
}

/** As much of a refusal's body as is read, and for how long. */
const MAX_REFUSAL = 64 * 1024;
const MAX_REFUSAL_MS = 10_000;

/** The text of an answer as it arrives. */
export interface AnswerText {
  /** More of it; null at its end. @throws {ModelError} */
  next(): Promise<string | null>;
  /** Must be called, whether the end was seen or not. */
  close(): void;
}

/**
 * Sends `body` as JSON; gives the text of the answer.
 * @throws {ModelError}
 */
export async function post(endpoint: Endpoint, body: object, patience: Patience, signal: AbortSignal): Promise<AnswerText> {
  signal.throwIfAborted();
  const response = await open(endpoint, body, patience.idleMs(), signal);
  if (!response.ok) {
    throw refusalError(
      endpoint,
      { status: response.status, headers: response.headers, body: await peek(response, patience, signal) },
      Date.now(),
    );
  }
  return response.body === null ? NOTHING : new BodyText(response.body, patience, signal, (error) => connectionError(endpoint, error));
}

async function open(endpoint: Endpoint, body: object, idleMs: number, signal: AbortSignal): Promise<Answer> {
  const gaveUp = new AbortController();
  const init = {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      "accept-encoding": "identity",
      ...endpoint.headers,
    },
    body: JSON.stringify(body),
    redirect: "manual",
    signal: AbortSignal.any([signal, gaveUp.signal]),
    // Bun ends a request that is silent for 5 minutes, whatever the signal says; elsewhere this is not looked at.
    timeout: false,
  } satisfies RequestInit & { timeout: false };
  try {
    return await settleWithin(endpoint.fetch(endpoint.url, init), idleMs, signal);
  } catch (error) {
    gaveUp.abort();
    signal.throwIfAborted();
    throw connectionError(endpoint, error);
  }
}

const NOTHING: AnswerText = { next: () => Promise.resolve(null), close: () => {} };

/** The start of a refusal's body; what cannot be read of it is left out. */
async function peek(response: Answer, patience: Patience, signal: AbortSignal): Promise<string> {
  let text = "";
  if (response.body === null) return text;
  const until = performance.now() + Math.min(patience.idleMs(), MAX_REFUSAL_MS);
  const hurry: Patience = { idleMs: () => Math.max(1, until - performance.now()), satisfied: () => false };
  const body = new BodyText(response.body, hurry, signal, (error) => error);
  try {
    while (text.length < MAX_REFUSAL) {
      const chunk = await body.next();
      if (chunk === null) break;
      text += chunk;
    }
  } catch {
    // The status says enough; a connection that breaks here adds nothing.
    signal.throwIfAborted();
  } finally {
    body.close();
  }
  return text.slice(0, MAX_REFUSAL);
}
