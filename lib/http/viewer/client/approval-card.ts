/** One call that waits for a person: what would run, whole, and two buttons. */
import { type Api, messageOf, Refusal } from "./api.ts";
import { inputBlocks } from "./call-card.ts";
import { button, h, setText } from "./dom.ts";
import type { Call } from "./items.ts";
import { toLine, toVisible } from "./text.ts";

/** Longer than a double click, and than it takes to see what has come under the pointer. */
const SETTLE_MS = 800;

export interface CardHooks {
  readonly api: Api;
  readonly session: string;
  /** An answer is on its way. */
  answered(): void;
}

export class ApprovalCard {
  readonly element: HTMLElement;
  readonly heading: HTMLElement;
  readonly #call: Call;
  readonly #hooks: CardHooks;
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #reason = h("input", {
    type: "text",
    name: "reason",
    maxlength: "1000",
    placeholder: "Reason, for the model (optional)",
    "aria-label": "Reason, for the model",
    autocomplete: "off",
  });
  readonly #word = h("p", { class: "error", role: "alert" });
  readonly #answer: HTMLElement;
  /** Where it stood when it was looked at, and since when nothing about it has changed. */
  #place = { left: NaN, top: NaN };
  #since = Infinity;
  #sent = false;
  #over = false;

  constructor(call: Call, hooks: CardHooks) {
    this.#call = call;
    this.#hooks = hooks;
    this.heading = h(
      "h3",
      { id: `ask-${call.call}`, tabindex: "-1" },
      "Allow ",
      h("span", { class: "name" }, toLine(call.name, 80)),
      "?",
    );
    this.#buttons = [
      button("Allow", "primary", (event) => this.#decide("allow", event)),
      button("Deny", "plain", (event) => this.#decide("deny", event)),
    ];
    this.#answer = h("div", { class: "answer" }, ...this.#buttons, this.#reason);
    this.element = h(
      "section",
      { class: "ask", "aria-labelledby": this.heading.id },
      this.heading,
      h("p", { class: "reason", dir: "auto" }, toVisible(call.approval?.reason ?? "")),
      h("div", { class: "input" }, ...inputBlocks(call)),
      this.#word,
      this.#answer,
    );
    this.#drawButtons(false);
  }

  /** Whether it still waits. */
  get open(): boolean {
    return !this.#over;
  }

  /** Takes no answer for a moment from now on. */
  hold(now: number): void {
    this.#since = now;
    this.#drawButtons(false);
  }

  /** Holds it if it has moved, and lets it take answers when it has stood for long enough. */
  look(now: number): void {
    if (this.#over) return;
    const { left, top } = this.#answer.getBoundingClientRect();
    const moved = !(Math.abs(left - this.#place.left) <= 1 && Math.abs(top - this.#place.top) <= 1);
    if (moved) this.#place = { left, top };
    if (moved) this.hold(now);
    else this.#drawButtons(!this.#sent && now >= this.#since + SETTLE_MS);
  }

  /** Says what has become of it, in a place of the same size. */
  end(fate: string): void {
    this.#over = true;
    this.element.dataset["over"] = "";
    this.heading.replaceChildren(h("span", { class: "name" }, toLine(this.#call.name, 80)), `: ${toLine(fate, 200)}`);
    this.#answer.inert = true;
    this.#drawButtons(false);
  }

  #drawButtons(ready: boolean): void {
    // Not `disabled`: that would take the focus away.
    const wanted = ready ? null : "true";
    for (const each of this.#buttons) {
      if (each.getAttribute("aria-disabled") === wanted) continue;
      if (wanted === null) each.removeAttribute("aria-disabled");
      else each.setAttribute("aria-disabled", wanted);
    }
  }

  /** What was pressed before it stood still was meant for something else, however late we hear of it. */
  #decide(decision: "allow" | "deny", { timeStamp }: MouseEvent): void {
    this.look(performance.now());
    if (this.#over || this.#sent || timeStamp < this.#since + SETTLE_MS) return;
    this.#sent = true;
    this.#drawButtons(false);
    this.#hooks.answered();
    this.#send(decision).catch((error: unknown) => {
      setText(this.#word, toVisible(messageOf(error)));
      // Settled or altered meanwhile: the log says how, and the card goes with it.
      this.#sent = error instanceof Refusal && error.status === 409;
    });
  }

  /** The digest makes the answer one to what was shown here, and to nothing else. */
  async #send(decision: "allow" | "deny"): Promise<void> {
    const { call, approval } = this.#call;
    const reason = this.#reason.value.trim();
    await this.#hooks.api.post(`v1/sessions/${this.#hooks.session}/approvals/${call}`, {
      decision,
      ...(reason === "" ? {} : { reason }),
      ...(approval === undefined ? {} : { input_digest: approval.input_digest }),
    });
  }
}
