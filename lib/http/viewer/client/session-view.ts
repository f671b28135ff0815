/**
 * One session on the page, from its first event to now, or as of an earlier one.
 *
 * V1  All recorded events are kept; what is shown is a fold of a prefix of them. Live text is laid over the end only.
 * V2  Drawing happens at most once a frame, however much comes in.
 * V3  Nothing that could change the session is offered while the reader looks at its past, save for a fork of it.
 */
import type { Api } from "./api.ts";
import { Approvals } from "./approvals.ts";
import { Composer, type ComposerHooks } from "./composer.ts";
import type { Conversation } from "./conversation.ts";
import { onFrame, part } from "./dom.ts";
import { Facts } from "./facts.ts";
import { follow, type Link } from "./follow.ts";
import { clock } from "./format.ts";
import { Live } from "./live.ts";
import { ModeChoice } from "./mode.ts";
import { indexOf, Player } from "./player.ts";
import { drawHead, drawProgress } from "./session-head.ts";
import { Queue } from "./queue.ts";
import { Story } from "./story.ts";
import type { Timeline } from "./timeline.ts";
import { type Frame, isRecorded, type RecordedEvent } from "./wire.ts";

export interface SessionPlace {
  readonly session: string;
  /** The event to look at; null: live. */
  readonly at: number | null;
}

export interface SessionHooks {
  readonly timeline: Timeline;
  readonly conversation: Conversation;
  /** The reader looks at another point. */
  moved(at: number | null): void;
  open(session: string): void;
  /** Something has happened that the list of sessions shows. */
  changed(): void;
  say(text: string): void;
}

/** A session that is quiet while a turn is open may have lost who drove it: the server knows. */
const QUIET_MS = 3000;
const TICK_MS = 250;

export class SessionView {
  readonly #api: Api;
  readonly #hooks: SessionHooks;
  readonly #session: string;
  readonly #stop = new AbortController();
  readonly #approvals: Approvals;
  readonly #player: Player;
  readonly #composer: Composer;
  readonly #queue: Queue;
  readonly #facts = new Facts();
  readonly #mode: ModeChoice;
  readonly #drawSoon = onFrame(() => this.#draw());
  #events: RecordedEvent[] = [];
  #story = new Story();
  #past: { readonly at: number; readonly story: Story } | null = null;
  #at: number | null;
  #live = new Live();
  #head = 0;
  #link: Link = "connecting";
  #word = "";
  #heard = Date.now();
  #asked = 0;
  /** How far this browser's clock is ahead of the server's, as far as we can tell. */
  #ahead = Infinity;
  #following = true;
  #top = 0;

  constructor(api: Api, { session, at }: SessionPlace, hooks: SessionHooks) {
    this.#api = api;
    this.#hooks = hooks;
    this.#session = session;
    this.#at = at;
    const { signal } = this.#stop;
    this.#approvals = new Approvals(part("approvals"), api, session, signal);
    this.#composer = new Composer(
      api,
      session,
      {
        fork: () => this.#fork(),
        live: () => this.look(null),
        sent: () => this.#follow(),
        sending: (...prompt) => this.#sending(...prompt),
      },
      signal,
    );
    this.#queue = new Queue(part("queued"), api, session, (text) => this.#composer.restore(text));
    this.#mode = new ModeChoice(api, session, signal);
    this.#player = new Player(() => this.#events, (seq) => this.look(seq), signal);
    hooks.conversation.clear();
    hooks.timeline.clear();
    hooks.timeline.onLook(this.#drawSoon);
    part("scroller").addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
    part("to-end").addEventListener("click", () => this.#follow(), { signal });
    addEventListener("resize", this.#drawSoon, { signal });
    const timer = setInterval(() => this.#tick(), TICK_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  async run(): Promise<void> {
    this.#draw();
    const path = `v1/sessions/${this.#session}/events?limit=1`;
    // Only how much there is to wait for: if this fails, following says why.
    this.#head = await this.#api.get<{ readonly head: number }>(path, this.#stop.signal).then(({ head }) => head, () => 0);
    await follow(
      this.#api,
      this.#session,
      { take: (frames) => this.#take(frames), link: (state) => this.#linked(state) },
      this.#stop.signal,
    );
  }

  close(): void {
    this.#stop.abort();
  }

  /** Shows the session as of this event; null: what happens now. */
  look(at: number | null): void {
    const last = this.#story.seq;
    this.#at = at === null || (at >= last && this.#ready) ? null : at;
    this.#following = true;
    this.#hooks.moved(this.#at);
    this.#drawSoon();
  }

  get #ready(): boolean {
    return this.#story.seq > 0 && this.#story.seq >= this.#head;
  }

  #take(frames: readonly Frame[]): void {
    for (const frame of frames) {
      if (isRecorded(frame)) this.#record(frame);
      else if (frame.type === "reset") this.#reset(frame.head);
      else if (frame.type !== "heartbeat") this.#live.take(frame);
    }
    if (frames.length === 0) return;
    if (frames.some(({ type }) => type !== "heartbeat")) this.#heard = Date.now();
    this.#drawSoon();
  }

  #record(event: RecordedEvent): void {
    this.#events.push(event);
    this.#story.apply(event);
    this.#live.settle(event);
    this.#queue.note(event);
    if (!this.#ready) return;
    if (event.type === "prompted" || event.type === "turn_ended") this.#queue.look(this.#stop.signal);
    if ("at" in event) this.#ahead = Math.min(this.#ahead, Date.now() - Date.parse(event.at));
    this.#word = "";
    if (event.type === "approval_requested") this.#hooks.say("A call waits for your answer");
    if (event.type === "turn_ended") this.#hooks.say(`Turn ${event.turn} ${event.reason}`);
    if (event.type === "turn_ended" || event.type === "prompted" || event.type === "approval_requested") this.#hooks.changed();
  }

  #reset(head: number): void {
    this.#events = [];
    this.#story = new Story();
    this.#past = null;
    this.#live.clear();
    this.#head = head;
    this.#hooks.conversation.clear();
  }

  #linked(state: Link): void {
    if (state === this.#link) return;
    // What is live now follows as a whole. Until then the page stays as it was.
    if (state === "open") this.#live.clear();
    if (state === "cut" && this.#link === "open") this.#hooks.say("The connection was cut");
    if (state === "open" && this.#link === "cut") this.#hooks.say("Connected again");
    this.#link = state;
    if (state === "open") this.#queue.look(this.#stop.signal);
    this.#asked = 0;
    this.#drawSoon();
  }

  #tick(): void {
    if (this.#story.turn.kind !== "open" || !this.#ready) return;
    this.#drawSoon();
    const now = Date.now();
    if (this.#link !== "open" || now - this.#heard < QUIET_MS || now - this.#asked < QUIET_MS) return;
    this.#asked = now;
    this.#api.get<{ readonly status: string }>(`v1/sessions/${this.#session}`, this.#stop.signal).then(({ status }) => {
      this.#word = status;
      this.#drawSoon();
    }, () => {
      // The connection's own state says what is wrong.
    });
  }

  #shown(): Story {
    if (this.#at === null || !this.#ready) return this.#story;
    if (this.#past?.at !== this.#at) this.#past = { at: this.#at, story: Story.of(this.#events, indexOf(this.#events, this.#at) + 1) };
    return this.#past.story;
  }

  #draw(): void {
    if (this.#stop.signal.aborted) return;
    drawProgress({ ready: this.#ready, link: this.#link, seq: this.#story.seq, head: this.#head });
    // Before the first event everything is drawn empty: what is left of the session shown before is another's.
    if (!this.#ready && this.#story.seq > 0) return this.#drawHead(this.#story);
    const story = this.#shown();
    const past = this.#at !== null;
    const { conversation, timeline } = this.#hooks;
    const follow = this.#following;
    conversation.draw(story, past ? null : this.#live);
    if (past || this.#word === "interrupted" || this.#link === "gone") this.#approvals.clear();
    else this.#approvals.draw(story);
    this.#composer.draw({ story, status: this.#status(), past: this.#at, known: story.seq > 0 && this.#link !== "gone" });
    this.#player.draw(this.#at);
    this.#facts.draw(story, this.#events.length);
    this.#mode.draw(story.header?.mode ?? "", !past && this.#word !== "held" && this.#link !== "gone");
    timeline.draw(this.#story, this.#now(), past ? story : null);
    this.#drawHead(story);
    if (follow) conversation.toEnd();
    part("to-end").hidden = follow;
  }

  #drawHead(story: Story): void {
    drawHead({ story, session: this.#session, status: this.#status(), link: this.#link, asking: this.#story.asking.length > 0 });
  }

  #status(): string {
    const { turn, asking } = this.#story;
    if (this.#link === "gone") return "gone";
    if (this.#at !== null) return "past";
    if (turn.kind !== "open") return "idle";
    if (this.#word === "interrupted" || this.#word === "held") return this.#word;
    return asking.length > 0 ? "waiting" : "running";
  }

  /** On the server's clock; what is open grows until then. */
  #now(): number {
    const { at, turn } = this.#story;
    if (turn.kind !== "open" || this.#word === "interrupted") return at;
    return Math.max(at, Date.now() - (Number.isFinite(this.#ahead) ? this.#ahead : 0));
  }

  #scrolled(): void {
    const { atEnd, top } = this.#hooks.conversation;
    // What grows below moves nothing up: only the reader does.
    if (atEnd) this.#following = true;
    else if (top < this.#top) this.#following = false;
    this.#top = top;
    part("to-end").hidden = this.#following;
  }

  #follow(): void {
    this.#following = true;
    this.#drawSoon();
  }

  #sending(...[key, text, arrived]: Parameters<ComposerHooks["sending"]>): void {
    if (arrived === "sent") return this.#queue.send(key, text);
    if (arrived === "begun" || arrived === "refused") return this.#queue.remove(key);
    this.#queue.add(key, text);
    this.#queue.look(this.#stop.signal);
  }

  async #fork(): Promise<void> {
    const at = this.#at ?? this.#story.seq;
    const { session } = await this.#api.post<{ readonly session: string }>(`v1/sessions/${this.#session}/fork`, { at });
    this.#hooks.say(`Forked at event ${at}, ${clock(this.#shown().at)}`);
    this.#hooks.open(session);
  }
}
