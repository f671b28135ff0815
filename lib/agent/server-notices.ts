/** What there is to tell of servers: what stands now, for sessions to come, and what is new, for those that are open. Bounded. */
import type { AgentNotice } from "./options.ts";

/** Of servers that complain without end the last is told. */
const MOST = 100;

export class ServerNotices {
  /** By what they are about: a server has one state, and may have several remarks. */
  readonly #standing = new Map<string, AgentNotice>();
  readonly #news: AgentNotice[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get standing(): readonly AgentNotice[] {
    return [...this.#standing.values()];
  }

  post(notice: AgentNotice, server: string): void {
    const isState = STATE_CODES.includes(notice.code);
    const key = JSON.stringify([server, isState ? "state" : notice.text]);
    this.#standing.delete(key);
    if (notice.code !== BACK) this.#standing.set(key, notice);
    this.#news.push(notice);
    this.#count++;
    if (this.#news.length > MOST) this.#news.shift();
    const [oldest] = this.#standing.keys();
    if (this.#standing.size > MOST && oldest !== undefined) this.#standing.delete(oldest);
  }

  /** Those behind the n-th, as far as they are kept. */
  after(told: number): { readonly last: number; readonly notices: readonly AgentNotice[] } {
    const fresh = Math.min(this.#count - told, this.#news.length);
    return { last: this.#count, notices: fresh <= 0 ? [] : this.#news.slice(-fresh) };
  }
}

const BACK = "mcp_server_back";
const STATE_CODES: readonly string[] = ["mcp_server_failed", "mcp_server_lost", BACK];
