/**
 * Talking to the server that sent this page. The credential is of this browser tab (`sessionStorage`): it goes into
 * one header, to this origin, and nowhere else.
 */
const KEY = "orrery.token";
/** Where the API is: below this page, also in another server and without a slash at the end of the address. */
const base = () => location.pathname.replace(/\/*$/, "/");

/** An answer that is an error, or none: `status` is 0 when the server could not be reached. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export class Api {
  #token: string | null = sessionStorage.getItem(KEY);
  /** Called when the server does not know our credential (any more). */
  onSignedOut: () => void = () => {};

  get token(): string | null {
    return this.#token;
  }

  use(token: string | null): void {
    this.#token = token;
    if (token === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, token);
  }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return await (await this.ask(path, { ...(signal === undefined ? {} : { signal }) })).json() as T;
  }

  /** A key makes it safe to send the same thing again after an answer was lost. */
  async post<T>(path: string, body: object, key?: string): Promise<T> {
    const headers = { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) };
    return await (await this.ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json() as T;
  }

  /** Of a one-time code, asked without the credential that is there: a code that is used up says nothing about that. */
  async exchange(code: string): Promise<string> {
    const headers = { "content-type": "application/json" };
    const response = await this.#send("v1/login", { method: "POST", headers, body: JSON.stringify({ code }) }, null);
    return (await response.json() as { readonly token: string }).token;
  }

  /** @throws {Refusal} */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return await this.#send(path, init, this.#token);
  }

  async #send(path: string, init: RequestInit, token: string | null): Promise<Response> {
    const headers = new Headers(init.headers);
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(base() + path, { ...init, headers, credentials: "omit", redirect: "error" }).catch((error: unknown) => {
      if (init.signal?.aborted) throw error;
      throw new Refusal(0, "The server does not answer");
    });
    if (response.ok) return response;
    const refusal = new Refusal(response.status, await readDetail(response));
    // Only if it was the present credential that was refused: another tab may just have brought a good one.
    if (response.status === 401 && token !== null && token === this.#token) {
      this.use(null);
      this.onSignedOut();
    }
    throw refusal;
  }
}

export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function readDetail(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null);
  const detail = typeof body === "object" && body !== null && "detail" in body ? body.detail : undefined;
  return typeof detail === "string" ? detail : `The server answered with ${response.status}`;
}
