/** What can be done with a session: prompt it, stop it, resume it, fork it. */
import { type Api, messageOf, newKey, Refusal } from "./api.ts";
import { part, setText } from "./dom.ts";
import type { Story } from "./story.ts";
import { toVisible } from "./text.ts";

export interface ComposerState {
  readonly story: Story;
  readonly status: string;
  /** The event that is looked at; null: live. */
  readonly past: number | null;
  /** Whether there is such a session, as far as we have heard. */
  readonly known: boolean;
}

export interface ComposerHooks {
  fork(): Promise<void>;
  live(): void;
  sent(): void;
  /** What became of a prompt that was sent; `lost`: no answer came. */
  sending(key: string, text: string, arrived: "sent" | "queued" | "begun" | "refused" | "lost"): void;
}

/** What was typed and not sent, by session. */
const drafts = new Map<string, string>();

export class Composer {
  readonly #api: Api;
  readonly #session: string;
  readonly #path: string;
  readonly #hooks: ComposerHooks;
  readonly #text = part<HTMLTextAreaElement>("prompt");
  readonly #word = part("composer-word");
  readonly #signal: AbortSignal;
  /** Of the text that is not known to have arrived: sent again it counts once. */
  #key: { readonly text: string; readonly key: string } | null = null;
  #busy = false;
  #state: ComposerState | null = null;

  constructor(api: Api, session: string, hooks: ComposerHooks, signal: AbortSignal) {
    this.#signal = signal;
    this.#api = api;
    this.#path = `v1/sessions/${session}`;
    this.#hooks = hooks;
    this.#session = session;
    this.#text.value = drafts.get(session) ?? "";
    setText(this.#word, "");
    const press = (id: string, act: () => Promise<void>) => part(id).addEventListener("click", () => this.#attempt(act), { signal });
    press("stop", () => this.#api.post(`${this.#path}/cancel`, {}));
    press("resume", () => this.#api.post(`${this.#path}/resume`, {}));
    press("fork", () => this.#hooks.fork());
    press("fork-here", () => this.#hooks.fork());
    part("to-live").addEventListener("click", () => this.#hooks.live(), { signal });
    // The second click of a double click on what goes from there is not meant for what comes.
    part("send").addEventListener("click", (event) => event.detail > 1 && event.preventDefault(), { signal });
    part("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#attempt(() => this.#send());
    }, { signal });
    this.#text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#attempt(() => this.#send());
    }, { signal });
    this.#text.addEventListener("input", () => this.#typed(), { signal });
  }

  /** Puts a text that was sent back, above what was typed since. */
  restore(text: string): void {
    this.#text.value = [text, this.#text.value].filter((each) => each !== "").join("\n");
    this.#typed();
    this.#text.focus();
  }

  #typed(): void {
    drafts.set(this.#session, this.#text.value);
    this.#draw();
  }

  draw(state: ComposerState): void {
    this.#state = state;
    this.#draw();
  }

  #draw(): void {
    const state = this.#state;
    if (state === null) return;
    const { status, past, story, known } = state;
    part("composer").hidden = past !== null;
    part("past").hidden = past === null;
    if (past !== null) setText(part("past-word"), `As of event ${story.seq}`);
    const open = status === "running" || status === "waiting";
    part("stop").hidden = past !== null || status === "idle" || status === "gone";
    part("resume").hidden = past !== null || status !== "interrupted";
    const send = part<HTMLButtonElement>("send");
    send.disabled = this.#busy || !known || this.#text.value.trim() === "" || status === "interrupted" || status === "held";
    for (const id of ["fork", "fork-here"]) {
      part<HTMLButtonElement>(id).disabled = !known;
      part(id).hidden = status === "gone";
    }
    setText(send, open ? "Queue" : "Send");
  }

  async #send(): Promise<void> {
    const text = this.#text.value;
    if (text.trim() === "") return;
    const key = this.#key?.text === text ? this.#key.key : newKey();
    this.#key = { text, key };
    this.#hooks.sending(key, text, "sent");
    const sent = this.#api.post<{ readonly queued?: boolean }>(`${this.#path}/prompts`, { text, if_busy: "queue" }, key);
    const { queued = false } = await sent.catch((error: unknown) => {
      this.#hooks.sending(key, text, error instanceof Refusal && error.status !== 0 ? "refused" : "lost");
      throw error;
    });
    this.#key = null;
    this.#hooks.sending(key, text, queued ? "queued" : "begun");
    if (drafts.get(this.#session) === text) drafts.delete(this.#session);
    if (this.#signal.aborted) return;
    if (this.#text.value === text) this.#text.value = "";
    this.#hooks.sent();
  }

  /** One thing at a time; what went wrong is said, and what was typed stays. */
  #attempt(act: () => Promise<void>): void {
    if (this.#busy) return;
    this.#busy = true;
    this.#draw();
    setText(this.#word, "");
    act().catch((error: unknown) => setText(this.#word, toVisible(messageOf(error)))).finally(() => {
      this.#busy = false;
      this.#draw();
    });
  }
}
