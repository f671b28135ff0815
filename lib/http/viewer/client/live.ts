/** What only those who watch now can see: text that is being written, output of calls that run. Bounded, and gone when the log has it. */
import type { LiveEvent } from "../../../session/live.ts";
import type { RecordedEvent } from "./wire.ts";

/** The end of longer text is kept. */
const KEPT = 64_000;

const ENDS_WRITING: ReadonlySet<string> = new Set(["attempt_started", "attempt_failed", "reply_committed", "turn_ended"]);

export interface Writing {
  readonly step: number;
  readonly attempt: number;
  text: string;
  reasoning: string;
  /** Tools whose calls the model has begun to write. */
  announced: string[];
  /** The beginning of its text is not kept. */
  partial: boolean;
}

export class Live {
  writing: Writing | null = null;
  readonly #outputs = new Map<string, string>();
  /** Grows with every change. */
  version = 0;

  outputOf(call: string): string {
    return this.#outputs.get(call) ?? "";
  }

  /** What is live now follows as a whole, or there is nothing. */
  clear(): void {
    this.version++;
    this.writing = null;
    this.#outputs.clear();
  }

  settle(event: RecordedEvent): void {
    if (event.type === "call_ended") this.#outputs.delete(event.call);
    if (event.type === "turn_ended") this.#outputs.clear();
    if (ENDS_WRITING.has(event.type)) this.writing = null;
  }

  take(event: LiveEvent): void {
    this.version++;
    if (event.type === "call_output") {
      const before = event.whole === true ? "" : this.outputOf(event.call);
      return void this.#outputs.set(event.call, (before + event.text).slice(-KEPT));
    }
    if (event.step === undefined || event.attempt === undefined) return;
    if (event.type === "status" && event.status === "superseded") this.writing = null;
    else this.#write(this.#writingOf(event.step, event.attempt), event);
  }

  #write(writing: Writing, event: Exclude<LiveEvent, { type: "call_output" }>): void {
    const { whole = false, text = "" } = event;
    if (event.type === "status") {
      if (event.status === "call_announced") writing.announced = [...whole ? [] : writing.announced, text];
    } else if (event.type === "reasoning_delta") {
      writing.reasoning = ((whole ? "" : writing.reasoning) + text).slice(-KEPT);
    } else {
      const all = (whole ? "" : writing.text) + text;
      writing.text = all.slice(-KEPT);
      writing.partial = all.length > KEPT || (whole ? event.omitted !== undefined : writing.partial);
    }
  }

  #writingOf(step: number, attempt: number): Writing {
    const { writing } = this;
    if (writing !== null && writing.step === step && writing.attempt === attempt) return writing;
    return this.writing = { step, attempt, text: "", reasoning: "", announced: [], partial: false };
  }
}
