/**
 * A session as the page shows it: a fold of its recorded events, cut wherever the reader looks. Total: what it does
 * not know is shown as a remark, never dropped and never fatal.
 *
 * A thing that changed carries the number of the event that changed it (`stamp`), so that what is drawn already can be
 * kept, in whatever order the reader moves through the log.
 */
import {
  beginReads,
  changeSpeculation,
  commitReads,
  endRead,
  leading,
  noEarlyRuns,
  type SpeculationState,
} from "../../../session/early-runs.ts";
import type { EventOf, OfferedTool, RequestedCall, TaskRecord } from "../../../session/event.ts";
import type { Usage } from "../../../session/outcome.ts";
import type { Call, Header, Item, Remark, Reply, TurnState } from "./items.ts";
import { Spans } from "./spans.ts";
import type { RecordedEvent } from "./wire.ts";
import { allowedText, endText, failureText, resumedText } from "./words.ts";

export class Story {
  seq = 0;
  /** Time of the last event, in milliseconds. */
  at = 0;
  header: Header | null = null;
  turn: TurnState = { kind: "none" };
  readonly items: Item[] = [];
  readonly calls = new Map<string, Call>();
  readonly tasks = new Map<string, TaskRecord>();
  readonly scratch = new Set<string>();
  readonly spans = new Spans();
  usage: Usage = { input_tokens: 0, output_tokens: 0 };
  forked_from: string | null = null;
  /** What early runs were worth. */
  speculation: SpeculationState = noEarlyRuns;
  #reply: Reply | null = null;
  #reads: ReadonlySet<string> = new Set();

  /** The session after these events. */
  static of(events: readonly RecordedEvent[], count = events.length): Story {
    const story = new Story();
    for (let index = 0; index < count; index++) {
      const event = events[index];
      if (event !== undefined) story.apply(event);
    }
    return story;
  }

  /** Calls that wait for an answer, oldest first. */
  get asking(): readonly Call[] {
    return this.turn.kind === "open" && this.#reply !== null ? this.#reply.calls.filter(({ status }) => status === "asking") : [];
  }

  apply(event: RecordedEvent): void {
    this.seq = event.seq;
    const at = "at" in event ? Date.parse(event.at) : this.at;
    this.#take(event, at);
    this.spans.apply(event, at, this.turn.kind === "none" ? 0 : this.turn.turn);
    this.at = at;
  }

  #take(event: RecordedEvent, at: number): void {
    switch (event.type) {
      case "session_opened": {
        const { title = "", workspace, model, mode, parent } = event;
        this.#reads = readsOf(event.tools);
        this.header = { title, workspace, model, mode, parent: parent?.session ?? null };
        return;
      }
      case "prompted":
        this.turn = { kind: "open", turn: event.turn };
        this.items.push({ kind: "prompt", ...this.#place(event.seq, at), text: event.text, source: event.source });
        return;
      case "mode_changed":
        if (this.header !== null) this.header.mode = event.mode;
        return this.#remark(event.seq, at, "quiet", `Mode: ${event.mode}`);
      case "model_changed":
        if (this.header !== null) this.header.model = event.model;
        return this.#remark(event.seq, at, "quiet", `Model: ${event.model}`);
      case "tools_changed":
        this.#reads = readsOf(event.tools);
        return this.#remark(event.seq, at, "quiet", `Tools or instructions have changed: ${event.tools.length} tools`);
      case "step_started":
        this.speculation = beginReads(this.speculation);
        return this.#openReply(event, at);
      case "attempt_started":
        return this.#changeReply(event.seq, { attempt: event.attempt, model: event.model });
      case "attempt_failed":
        return this.#changeReply(event.seq, { failures: [...this.#reply?.failures ?? [], failureText(event)] });
      case "reply_committed":
        return this.#commit(event);
      case "call_allowed":
        return this.#changeCall(event.seq, event.call, { ...inputOf(event), status: "allowed", verdict: allowedText(event.by) });
      case "call_denied":
        return this.#changeCall(event.seq, event.call, { status: "denied", verdict: `denied by ${event.by}: ${event.reason}` });
      case "approval_requested": {
        const { reason, input_digest } = event;
        return this.#changeCall(event.seq, event.call, { ...inputOf(event), status: "asking", approval: { reason, input_digest } });
      }
      case "approval_answered":
        return this.#answer(event);
      case "call_started":
        return this.#changeCall(event.seq, event.call, { status: "running" });
      case "call_ended":
        this.#countRead(event);
        return this.#changeCall(event.seq, event.call, { status: "ended", ended: event });
      case "task_changed":
        return void this.tasks.set(event.task.id, event.task);
      case "state_changed":
        if (event.value === null) this.scratch.delete(event.key);
        else this.scratch.add(event.key);
        return;
      case "notice":
        return this.#remark(event.seq, at, NOTICE_TONE[event.level] ?? "warning", event.text);
      case "turn_ended":
        this.turn = { kind: "ended", turn: event.turn, reason: event.reason };
        this.#reply = null;
        return this.#remark(
          event.seq,
          at,
          event.reason === "completed" ? "good" : event.reason === "failed" ? "bad" : "warning",
          endText(event),
        );
      case "session_resumed":
        return this.#remark(event.seq, at, "warning", resumedText(event.calls.length));
      case "session_forked":
        this.forked_from = event.from;
        return this.#remark(event.seq, at, "quiet", `Forked from ${event.from} at event ${event.from_seq}`);
      case "damaged":
        return this.#remark(event.seq, at, "bad", `Event ${event.seq} cannot be read: ${event.reason}`);
      case "speculation_started":
      case "speculation_spawned":
      case "speculation_ended":
      case "speculation_discarded":
        this.speculation = changeSpeculation(this.speculation, event);
        return;
      case "call_spawned":
        return;
      default:
        // Of a later version: kept by the log, so it is shown to have happened.
        return this.#remark((event as RecordedEvent).seq, at, "quiet", `An event of another version: ${(event as { type: string }).type}`);
    }
  }

  #place(seq: number, at: number) {
    return { key: `e${seq}`, seq, at, turn: this.turn.kind === "none" ? 0 : this.turn.turn, stamp: seq };
  }

  #remark(seq: number, at: number, tone: Remark["tone"], text: string): void {
    const last = this.items[this.items.length - 1];
    if (last?.kind === "remark" && last.tone === "quiet" && tone === "quiet") {
      last.lines.push(text);
      last.stamp = seq;
    } else this.items.push({ kind: "remark", ...this.#place(seq, at), tone, lines: [text] });
  }

  #openReply({ seq, turn, step }: EventOf<"step_started">, at: number): void {
    this.turn = { kind: "open", turn };
    this.#reply = {
      kind: "reply",
      ...this.#place(seq, at),
      step,
      attempt: 0,
      text: null,
      model: this.header?.model ?? "",
      finish: "",
      failures: [],
      calls: [],
    };
    this.items.push(this.#reply);
  }

  #changeReply(seq: number, change: Partial<Reply>): void {
    if (this.#reply !== null) Object.assign(this.#reply, change, { stamp: seq });
  }

  #commit(event: EventOf<"reply_committed">): void {
    const calls = event.calls.map((requested) => toCall(requested, event.seq));
    for (const call of calls) this.calls.set(call.call, call);
    this.#changeReply(event.seq, { text: event.text, model: event.model, finish: event.finish, attempt: event.attempt, calls });
    this.usage = addUsage(this.usage, event.usage);
    this.speculation = commitReads(this.speculation, event.at);
  }

  /** Those that begin a reply are what early runs are of. */
  #countRead(event: EventOf<"call_ended">): void {
    const calls = this.#reply?.calls ?? [];
    const own = calls.find(({ call }) => call === event.call);
    if (own === undefined || own.status === "ended") return;
    const reads = leading(calls, ({ name }) => this.#reads.has(name));
    this.speculation = endRead(this.speculation, event, reads.map(({ call, ended = null }) => ({ call, end: ended })));
  }

  /** Only the first end of a call counts, as in the state itself. */
  #changeCall(seq: number, id: string, change: Partial<Call>): void {
    const call = this.calls.get(id);
    if (call === undefined || call.status === "ended") return;
    Object.assign(call, change, { stamp: seq });
    if (this.#reply?.calls.includes(call)) this.#reply.stamp = seq;
  }

  #answer({ seq, call, decision, by, reason }: EventOf<"approval_answered">): void {
    const verdict = `${decision === "allow" ? "allowed" : "denied"} by ${by}${reason === undefined || reason === "" ? "" : `: ${reason}`}`;
    this.#changeCall(seq, call, { status: decision === "allow" ? "allowed" : "denied", verdict });
  }
}

const NOTICE_TONE: Readonly<Record<string, Remark["tone"]>> = { info: "quiet", warning: "warning", error: "bad" };

function readsOf(tools: readonly OfferedTool[]): ReadonlySet<string> {
  return new Set(tools.filter(({ read_only }) => read_only).map(({ name }) => name));
}

function toCall({ call, name, arguments: text }: RequestedCall, seq: number): Call {
  return { call, name, arguments: text, status: "requested", stamp: seq };
}

function inputOf(
  { input, input_text }: { readonly input?: Readonly<Record<string, unknown>> | undefined; readonly input_text?: string | undefined },
) {
  return { ...(input === undefined ? {} : { input }), ...(input_text === undefined ? {} : { input_text }) };
}

function addUsage(left: Usage, right: Usage): Usage {
  const cost = left.cost_usd === undefined && right.cost_usd === undefined
    ? {}
    : { cost_usd: (left.cost_usd ?? 0) + (right.cost_usd ?? 0) };
  return { input_tokens: left.input_tokens + right.input_tokens, output_tokens: left.output_tokens + right.output_tokens, ...cost };
}
