/** Calls that wait for a person: what would run, whole, and two buttons. */
import { type Api, messageOf, Refusal } from "./api.ts";
import { inputBlocks } from "./call-card.ts";
import { button, h, setChildren, setText } from "./dom.ts";
import type { Call } from "./items.ts";
import { toLine, toVisible } from "./text.ts";

export class Approvals {
  readonly #place: HTMLElement;
  readonly #api: Api;
  readonly #session: string;
  #cards = new Map<string, HTMLElement>();

  constructor(place: HTMLElement, api: Api, session: string) {
    this.#place = place;
    this.#api = api;
    this.#session = session;
  }

  draw(calls: readonly Call[]): void {
    const cards = new Map(calls.map((call) => {
      // Asked again with another input it is another question.
      const key = `${call.call} ${call.approval?.input_digest ?? ""}`;
      return [key, this.#cards.get(key) ?? this.#card(call)] as const;
    }));
    this.#cards = cards;
    setChildren(this.#place, [...cards.values()]);
    this.#place.hidden = cards.size === 0;
  }

  #card(call: Call): HTMLElement {
    const title = h("h3", { id: `ask-${call.call}` }, "Allow ", h("span", { class: "name" }, toLine(call.name, 80)), "?");
    const word = h("p", { class: "error", role: "alert" });
    const reason = h("input", {
      type: "text",
      name: "reason",
      maxlength: "1000",
      placeholder: "Reason, for the model (optional)",
      "aria-label": "Reason, for the model",
      autocomplete: "off",
    });
    const buttons: HTMLButtonElement[] = [];
    const decide = (decision: "allow" | "deny") => {
      for (const each of buttons) each.disabled = true;
      this.#send(call, decision, reason.value).catch((error: unknown) => {
        setText(word, toVisible(messageOf(error)));
        // Settled or altered meanwhile: the log says how, and the card goes with it.
        for (const each of buttons) each.disabled = error instanceof Refusal && error.status === 409;
      });
    };
    buttons.push(button("Allow", "primary", () => decide("allow")), button("Deny", "plain", () => decide("deny")));
    return h(
      "section",
      { class: "ask", "aria-labelledby": title.id },
      title,
      h("p", { class: "reason", dir: "auto" }, toVisible(call.approval?.reason ?? "")),
      h("div", { class: "input" }, ...inputBlocks(call)),
      word,
      h("div", { class: "answer" }, ...buttons, reason),
    );
  }

  /** The digest makes the answer one to what was shown here, and to nothing else. */
  async #send(call: Call, decision: "allow" | "deny", reason: string): Promise<void> {
    await this.#api.post(`v1/sessions/${this.#session}/approvals/${call.call}`, {
      decision,
      ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
      ...(call.approval === undefined ? {} : { input_digest: call.approval.input_digest }),
    });
  }
}
