/**
 * One POST to an endpoint and the text that comes back. Knows HTTP, not any wire format.
 *
 * X1  Nothing waits longer than the idle limit, neither for the headers nor for the body.
 * X2  No redirect is followed, so the key reaches no other host.
 * X3  Every failure is a `ModelError`, except an abort, which throws the signal's reason.
 */
import { connectionError, type Place, refusalError } from "./fault.ts";
import { type Patience, readText, settleWithin } from "./sse.ts";

/** What we use of the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Endpoint extends Place {
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
}

/** As much of a refusal's body as is read, and for how long. */
const MAX_REFUSAL = 64 * 1024;
const MAX_REFUSAL_MS = 10_000;

/**
 * Sends `body` as JSON; gives the text of the answer as it arrives.
 * @throws {ModelError} also while iterating.
 */
export async function post(endpoint: Endpoint, body: object, patience: Patience, signal: AbortSignal): Promise<AsyncGenerator<string>> {
  signal.throwIfAborted();
  const response = await open(endpoint, body, patience.idleMs(), signal);
  if (!response.ok) {
    throw refusalError(
      endpoint,
      { status: response.status, headers: response.headers, body: await peek(response, patience, signal) },
      Date.now(),
    );
  }
  return guarded(endpoint, response, patience, signal);
}

async function open(endpoint: Endpoint, body: object, idleMs: number, signal: AbortSignal): Promise<Response> {
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

async function* guarded(endpoint: Endpoint, response: Response, patience: Patience, signal: AbortSignal): AsyncGenerator<string> {
  if (response.body === null) return;
  try {
    yield* readText(response.body, patience, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw connectionError(endpoint, error);
  }
}

/** The start of a refusal's body; what cannot be read of it is left out. */
async function peek(response: Response, patience: Patience, signal: AbortSignal): Promise<string> {
  let text = "";
  if (response.body === null) return text;
  const until = performance.now() + Math.min(patience.idleMs(), MAX_REFUSAL_MS);
  const hurry: Patience = { idleMs: () => Math.max(1, until - performance.now()), satisfied: () => false };
  try {
    for await (const chunk of readText(response.body, hurry, signal)) {
      text += chunk;
      if (text.length >= MAX_REFUSAL) break;
    }
  } catch {
    // The status says enough; a connection that breaks here adds nothing.
    signal.throwIfAborted();
  }
  return text.slice(0, MAX_REFUSAL);
}
