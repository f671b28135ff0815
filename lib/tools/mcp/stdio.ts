/** A server that is a process of ours: the SDK's messages as lines of a supervised conversation. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Conversation, ConversationRequest, Run } from "../../session/launch.ts";
import { LINE_BYTES, type OpenConversation, QUEUE_BYTES, STDERR_BYTES, WINDOW_BYTES } from "./transport.ts";

export interface StdioTransport extends Transport {
  /** The process's end; null if it was never started. */
  readonly ended: Promise<Run | null>;
  /** The beginning of the first line on standard output that was no message, if there was one. */
  readonly noise: string | null;
  /** Told of every line that is no message. */
  onnoise?: () => void;
}

export function createStdioTransport(open: OpenConversation, call: string, launch: ConversationRequest["launch"]): StdioTransport {
  return new LineTransport(open, call, launch);
}

/** How the hosts word a write to a process that has closed its standard input, nearly always by ending. */
const BROKEN_PIPE = /EPIPE|broken pipe/i;

/** The line did not get to the server whole, so it cannot have been read as a message. */
export class SendFailure extends Error {
  override readonly name = "SendFailure";
}

const SHOWN_NOISE = 200;
/** JSON-RPC's range for what implementations define. */
const MALFORMED = -32097;

class LineTransport implements StdioTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  onnoise?: () => void;
  noise: string | null = null;
  readonly #open: () => Conversation;
  readonly #ended = Promise.withResolvers<Run | null>();
  #conversation: Conversation | null = null;
  #closed = false;

  constructor(open: OpenConversation, call: string, launch: ConversationRequest["launch"]) {
    const onLine = (line: string) => this.#receive(line);
    const limits = { line_bytes: LINE_BYTES, window_bytes: WINDOW_BYTES, queue_bytes: QUEUE_BYTES, stderr_bytes: STDERR_BYTES };
    this.#open = () => open({ call, launch, onLine, ...limits });
  }

  get ended(): Promise<Run | null> {
    return this.#ended.promise;
  }

  start(): Promise<void> {
    const conversation = this.#conversation = this.#open();
    void conversation.ended.then((run) => {
      this.#ended.resolve(run);
      this.#announceClose();
    });
    if (this.#closed) conversation.close();
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed || this.#conversation === null) throw new SendFailure("Cannot send as the connection is closed");
    // Numbers of a call's arguments are raw JSON values: they come out as the model wrote them.
    const line = JSON.stringify(message);
    await this.#conversation.send(line).catch((error: unknown) => {
      const words = error instanceof Error ? error.message : String(error);
      throw BROKEN_PIPE.test(words) ? new SendFailure("it ended the connection") : new SendFailure(words, { cause: error });
    });
  }

  /** Resolves at once: the SDK waits for it, and a process may take its time. `ended` tells when it is gone. */
  close(): Promise<void> {
    if (this.#conversation === null) this.#ended.resolve(null);
    this.#conversation?.close();
    this.#announceClose();
    return Promise.resolve();
  }

  #announceClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  #receive(line: string): void {
    if (this.#closed || line.trim() === "") return;
    const parsed = parseLine(line);
    if (parsed === null) {
      this.noise ??= line.slice(0, SHOWN_NOISE).toWellFormed();
      this.onnoise?.();
      return;
    }
    // Revision 2025-03-26 knows batches.
    for (const message of Array.isArray(parsed) ? parsed : [parsed]) this.onmessage?.(mendAnswer(message as JSONRPCMessage));
  }
}

/** The SDK takes an answer that is none for no answer, and waits on: told as a refusal, the request ends with what came. */
function mendAnswer(message: JSONRPCMessage): JSONRPCMessage {
  if ("method" in message || !("id" in message) || message.id === undefined) return message;
  const { id } = message;
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  if (isRecord(result) || (isRecord(error) && typeof error["code"] === "number" && typeof error["message"] === "string")) return message;
  const came = JSON.stringify(error === undefined ? { result } : { error }).slice(0, SHOWN_NOISE).toWellFormed();
  return { jsonrpc: "2.0", id, error: { code: MALFORMED, message: `it answered with what is no answer of the protocol: ${came}` } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A message or a batch of them; null if the line is something else, such as a greeting. The SDK checks the rest. */
function parseLine(line: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Many servers print what is meant for people. It is counted, and the first of it is shown if the server fails.
    return null;
  }
  const messages = Array.isArray(value) ? value : [value];
  return messages.length > 0 && messages.every(isMessage) ? value : null;
}

function isMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "jsonrpc" in value && value.jsonrpc === "2.0";
}
