/** What only those who watch now can see: text that is being written, output of calls that run. Bounded, and gone when the log has it. */
import type { LiveEvent } from "../../../session/live.ts";
import type { RecordedEvent } from "./wire.ts";

/** The end of longer text is kept. */
const KEPT = 64_000;

export interface Writing {
  readonly step: number;
  readonly attempt: number;
  text: string;
  reasoning: string;
  /** Tools whose calls the model has begun to write. */
  announced: string[];
  /** Its beginning was not seen by this page. */
  readonly partial: boolean;
}

export class Live {
  writing: Writing | null = null;
  readonly #outputs = new Map<string, string>();
  /** Grows with every change. */
  version = 0;
  /** The attempt whose beginning came while we watched. */
  #seen = "";

  outputOf(call: string): string {
    return this.#outputs.get(call) ?? "";
  }

  /** The connection was cut: what was heard may have holes. */
  cut(): void {
    this.version++;
    this.#seen = "";
    this.writing = null;
    this.#outputs.clear();
  }

  settle(event: RecordedEvent): void {
    if (event.type === "attempt_started") this.#seen = `${event.step}/${event.attempt}`;
    if (event.type === "call_ended") this.#outputs.delete(event.call);
    if (event.type === "turn_ended") this.#outputs.clear();
    if (event.type === "reply_committed" || event.type === "attempt_started" || event.type === "turn_ended") this.writing = null;
  }

  take(event: LiveEvent): void {
    this.version++;
    if (event.type === "call_output") {
      this.#outputs.set(event.call, (this.outputOf(event.call) + event.text).slice(-KEPT));
      return;
    }
    if (event.step === undefined || event.attempt === undefined) return;
    if (event.type === "status") return this.#takeStatus(event.status, event.text, event.step, event.attempt);
    const writing = this.#writingOf(event.step, event.attempt);
    if (event.type === "text_delta") writing.text = (writing.text + event.text).slice(-KEPT);
    else writing.reasoning = (writing.reasoning + event.text).slice(-KEPT);
  }

  #takeStatus(status: string, text: string | undefined, step: number, attempt: number): void {
    if (status === "superseded") this.writing = null;
    if (status === "call_announced" && text !== undefined) this.#writingOf(step, attempt).announced.push(text);
  }

  #writingOf(step: number, attempt: number): Writing {
    const { writing } = this;
    if (writing !== null && writing.step === step && writing.attempt === attempt) return writing;
    const partial = this.#seen !== `${step}/${attempt}`;
    return this.writing = { step, attempt, text: "", reasoning: "", announced: [], partial };
  }
}
