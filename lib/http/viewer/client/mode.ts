/** The session's mode, and its change. Going through the choices changes nothing: what lies between could let calls run. */
import { type Api, messageOf } from "./api.ts";
import { part, setText } from "./dom.ts";
import { toVisible } from "./text.ts";

export class ModeChoice {
  readonly #api: Api;
  readonly #path: string;
  readonly #choice = part<HTMLSelectElement>("mode");
  readonly #press = part<HTMLButtonElement>("change-mode");
  readonly #word = part("mode-word");
  #mode = "";
  #open = false;
  #busy = false;

  constructor(api: Api, session: string, signal: AbortSignal) {
    this.#api = api;
    this.#path = `v1/sessions/${session}/mode`;
    setText(this.#word, "");
    part("mode-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#change();
    }, { signal });
    this.#choice.addEventListener("change", () => this.#draw(), { signal });
  }

  /** A choice that was not pressed home stays until the mode is another. `open`: whether it may be changed. */
  draw(mode: string, open: boolean): void {
    if (mode !== this.#mode) this.#choice.value = mode;
    this.#mode = mode;
    this.#open = open;
    this.#draw();
  }

  #draw(): void {
    this.#choice.disabled = !this.#open;
    this.#press.disabled = !this.#open || this.#busy || ["", this.#mode].includes(this.#choice.value);
  }

  /** Never rejects. */
  async #change(): Promise<void> {
    if (this.#press.disabled) return;
    this.#busy = true;
    this.#draw();
    const said = await this.#api.post(this.#path, { mode: this.#choice.value }).then(() => "", messageOf);
    setText(this.#word, toVisible(said));
    this.#busy = false;
    this.#draw();
  }
}
