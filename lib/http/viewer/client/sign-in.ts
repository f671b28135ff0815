/**
 * Who looks: by the one-time link that the server printed, by the token, or by another tab of this browser that is
 * signed in already. The link's code leaves the address bar before anything else happens.
 */
import { type Api, messageOf } from "./api.ts";
import { part, setText } from "./dom.ts";

const CHANNEL = "orrery.sign-in";
/** Another tab answers at once or not at all. */
const TABS_MS = 150;

/** The code of a sign-in link; it is gone from the address afterwards. */
export function takeLoginCode(): string | null {
  const code = /^#login=([\w-]{1,512})$/.exec(location.hash)?.[1];
  if (code === undefined) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Null: signed in; else why not. */
export async function exchange(api: Api, code: string): Promise<string | null> {
  try {
    api.use(await api.exchange(code));
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Tells this page's other tabs the credential when they ask: only pages of this very origin can. */
export class Tabs {
  readonly #channel = new BroadcastChannel(CHANNEL);
  readonly #api: Api;
  #wake: () => void = () => {};

  constructor(api: Api) {
    this.#api = api;
    this.#channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => this.#hear(data));
  }

  /** Whether another tab has signed this one in. */
  async ask(): Promise<boolean> {
    const answered = new Promise<void>((resolve) => void (this.#wake = resolve));
    this.#channel.postMessage({ ask: true });
    await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, TABS_MS))]);
    return this.#api.token !== null;
  }

  #hear(data: unknown): void {
    if (typeof data !== "object" || data === null) return;
    if ("ask" in data && this.#api.token !== null) this.#channel.postMessage({ token: this.#api.token });
    if ("token" in data && typeof data.token === "string" && this.#api.token === null) {
      this.#api.use(data.token);
      this.#wake();
    }
  }
}

/** Shows the form until somebody has signed in. */
export class SignIn {
  readonly #api: Api;
  readonly #done: () => void;

  constructor(api: Api, done: () => void) {
    this.#api = api;
    this.#done = done;
    part("sign-in-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#try(part<HTMLInputElement>("token").value.trim());
    });
  }

  show(why: string): void {
    part("app").hidden = true;
    part("sign-in").hidden = false;
    setText(part("sign-in-word"), why);
    document.title = "Sign in \u00b7 Orrery";
    part("token").focus();
  }

  async #try(token: string): Promise<void> {
    if (token === "") return;
    // Anything else cannot even be sent as a header.
    if (!/^[\x21-\x7e]+$/.test(token)) return setText(part("sign-in-word"), "A token has no spaces and only plain characters.");
    this.#api.use(token);
    try {
      await this.#api.get("v1/capabilities");
    } catch (error) {
      this.#api.use(null);
      return setText(part("sign-in-word"), this.#wrong(error));
    }
    part<HTMLInputElement>("token").value = "";
    part("sign-in").hidden = true;
    this.#done();
  }

  #wrong(error: unknown): string {
    const message = messageOf(error);
    return message.startsWith("Cannot answer without") ? "This is not the server's token." : message;
  }
}
