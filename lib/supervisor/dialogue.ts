/** [main thread] A conversation as its caller sees it (T1 to T6 in session/launch.ts); the process is in a worker thread. */
import { Buffer } from "node:buffer";
import type { Conversation, ConversationRequest, Run } from "../session/launch.ts";
import type { ToWorker } from "./wire.ts";

/** What a dialogue asks of the link to its worker. */
export interface DialogueLink {
  send(message: Extract<ToWorker, { type: "say" | "took" }>): void;
  cancel(): void;
}

interface Saying {
  readonly bytes: number;
  resolve(): void;
  reject(error: Error): void;
}

export class Dialogue implements Conversation {
  readonly ended: Promise<Run>;
  readonly #id: number;
  readonly #request: ConversationRequest;
  readonly #link: DialogueLink;
  readonly #end = Promise.withResolvers<Run>();
  readonly #sayings = new Map<number, Saying>();
  #said = 0;
  #waiting = 0;
  #state: "open" | "closing" | "ended" = "open";
  #fault: string | null = null;

  constructor(id: number, request: ConversationRequest, link: DialogueLink) {
    this.#id = id;
    this.#request = request;
    this.#link = link;
    this.ended = this.#end.promise;
  }

  send(line: string): Promise<void> {
    if (this.#state !== "open") return Promise.reject(new Error("Cannot send as the conversation is closed"));
    if (line.includes("\n")) return Promise.reject(new TypeError("Cannot send more than one line at a time"));
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#waiting + bytes > this.#request.queue_bytes) {
      return Promise.reject(new RangeError(`Cannot send ${bytes} bytes as ${this.#waiting} are waiting for the process to read them`));
    }
    const number = ++this.#said;
    this.#waiting += bytes;
    return new Promise((resolve, reject) => {
      this.#sayings.set(number, { bytes, resolve, reject });
      this.#link.send({ type: "say", id: this.#id, number, line });
    });
  }

  close(): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#link.cancel();
  }

  hear(lines: readonly string[], bytes: number): void {
    for (const line of lines) this.#tell(line);
    this.#link.send({ type: "took", id: this.#id, bytes });
  }

  learn(number: number, problem: string | null): void {
    const saying = this.#sayings.get(number);
    if (saying === undefined) return;
    this.#sayings.delete(number);
    this.#waiting -= saying.bytes;
    if (problem === null) saying.resolve();
    else saying.reject(new Error(problem));
  }

  settle(run: Run): void {
    this.#state = "ended";
    for (const number of [...this.#sayings.keys()]) this.learn(number, "Cannot send as the process has ended");
    this.#end.resolve(this.#fault === null ? run : { ...run, problem: [this.#fault, run.problem].filter(Boolean).join("; ") });
  }

  /** A listener that fails ends its own conversation and nothing else. */
  #tell(line: string): void {
    if (this.#state === "ended" || this.#fault !== null) return;
    try {
      this.#request.onLine(line);
    } catch (error) {
      this.#fault = `Who listens to it failed: ${error instanceof Error ? error.message : String(error)}`;
      this.close();
    }
  }
}
