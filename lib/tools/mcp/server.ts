/**
 * One server for the time of a session: connected, lost, connected again, closed.
 *
 * S1  There is one connection at a time. Another is begun only when nothing of the last one is alive.
 * S2  A call is sent at most once, and only to a server that still lists the very tool that was offered.
 * S3  A server that fails is tried again after 1, 2, 4 … 30 s, six times in a row; then only when a call asks for it. One
 *     that cannot be started is not tried again, and one that turns us away not for a quarter of an hour.
 * S4  `close` resolves when nothing that it ever started is alive.
 */
import type { JsonInput } from "../../session/json.ts";
import type { McpServer } from "./config.ts";
import { connect } from "./connect.ts";
import { type CallEnd, ConnectFailure, type Connection, type RawListing } from "./connection.ts";
import type { Destination } from "./destination.ts";
import { type Listing, type Offer, readListing } from "./listing.ts";
import { Repeater } from "./repeater.ts";
import type { OpenConversation } from "./transport.ts";

/** Milliseconds. */
export interface ServerPatience {
  /** From the start of the process to the list of its tools. */
  readonly connect: number;
  /** How much of that is kept for ending what did not get there, and for hearing why. */
  readonly tail: number;
  /** How much of it one that refused the first handshake is given for the second. */
  readonly guess: number;
  readonly call: number;
  readonly backoff: { readonly first: number; readonly most: number };
  readonly barred: number;
}

export const PATIENCE: ServerPatience = {
  connect: 10_000,
  tail: 750,
  guess: 2000,
  call: 60_000,
  backoff: { first: 1000, most: 30_000 },
  barred: 15 * 60_000,
};
const MAX_FAILURES = 6;

export interface ServerWatch {
  /** What people should know, in a sentence that begins with the server. */
  onNotice(level: "info" | "warning", code: string, text: string): void;
  /** The tools are others than before. */
  onListing(): void;
}

/** What a link needs of its surroundings. */
export interface ServerGround {
  readonly open: OpenConversation;
  /** A new id for a process, by which it is known as a call is by its own. */
  newId(): string;
  readonly watch: ServerWatch;
  readonly patience: ServerPatience;
}

type State =
  | { readonly kind: "connecting" }
  | { readonly kind: "ready"; readonly connection: Connection; readonly since: number }
  /** `timer`: null if nothing is planned. */
  | { readonly kind: "waiting"; readonly reason: string; readonly until: number; readonly timer: ReturnType<typeof setTimeout> | null }
  | { readonly kind: "closed" };

const NOTHING: Listing = { offers: [], broken: [], remarks: [] };
const RELIST_PAUSE_MS = 1000;

export class ServerLink {
  readonly server: McpServer;
  readonly #destination: Destination;
  readonly #ground: ServerGround;
  readonly #stop = new AbortController();
  readonly #burials = new Set<Promise<unknown>>();
  #state: State = { kind: "connecting" };
  /** Settled by the next change of state. */
  #change = Promise.withResolvers<void>();
  #attempt: Promise<void>;
  #failures = 0;
  #complained = false;
  #listing: Listing = NOTHING;
  readonly #relisting: Repeater;

  constructor(server: McpServer, destination: Destination, ground: ServerGround) {
    this.server = server;
    this.#destination = destination;
    this.#ground = ground;
    this.#relisting = new Repeater(() => this.#listAgain(), RELIST_PAUSE_MS, this.#stop.signal);
    this.#attempt = this.#connect();
  }

  get listing(): Listing {
    return this.#listing;
  }

  get state(): State["kind"] {
    return this.#state.kind;
  }

  /** Why it is not connected, if it is not and that is known. */
  get problem(): string | null {
    return this.#state.kind === "waiting" ? this.#state.reason : null;
  }

  /** The latest attempt to connect is over, whichever way. */
  get settled(): Promise<void> {
    return this.#attempt;
  }

  /** S2. Never rejects. */
  async call(offer: Offer, input: JsonInput, signal: AbortSignal): Promise<CallEnd> {
    const connection = await this.#whenReady(signal);
    if (signal.aborted) return { kind: "unsent", problem: "it was cancelled before it was sent" };
    if (typeof connection === "string") return { kind: "unsent", problem: connection };
    const current = this.#listing.offers.find(({ tool }) => tool === offer.tool);
    if (current === undefined) return { kind: "unsent", problem: "the server no longer has this tool" };
    if (current.digest !== offer.digest) return { kind: "unsent", problem: "the server has changed this tool since it was offered" };
    return await connection.callTool(offer.tool, input.text, this.#ground.patience.call, signal);
  }

  /** S4. */
  async close(): Promise<void> {
    const state = this.#state;
    this.#become({ kind: "closed" });
    this.#stop.abort(new Error("the session is over"));
    if (state.kind === "ready") this.#keep(state.connection.close());
    await this.#attempt;
    await this.#relisting.idle;
    await this.#buried();
  }

  #begin(): void {
    this.#become({ kind: "connecting" });
    this.#attempt = this.#connect();
  }

  /** One attempt, within its time. Never rejects. */
  async #connect(): Promise<void> {
    const { connect: budget, tail, guess } = this.#ground.patience;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new Error("it took too long")), Math.max(0, budget - tail));
    const signal = AbortSignal.any([deadline.signal, this.#stop.signal]);
    try {
      await this.#buried();
      if (signal.aborted) throw new ConnectFailure("passing", "what the last attempt left is not gone yet");
      const { connection, listing } = await connect(this.#destination, {
        open: this.#ground.open,
        call: this.#ground.newId(),
        tail_ms: tail,
        guess_ms: guess,
        onListChanged: () => this.#relisting.request(),
        onBurial: (gone) => this.#keep(gone),
      }, signal);
      this.#welcome(connection, await this.#read(listing));
    } catch (error) {
      this.#fail(error instanceof ConnectFailure ? error : new ConnectFailure("passing", String(error), error));
    } finally {
      clearTimeout(timer);
    }
  }

  #welcome(connection: Connection, listing: Listing): void {
    if (this.#state.kind === "closed") return this.#keep(connection.close());
    this.#become({ kind: "ready", connection, since: performance.now() });
    void connection.closed.then((reason) => this.#lose(connection, reason));
    if (this.#complained) this.#say("info", "mcp_server_back", "is connected");
    this.#complained = false;
    this.#learn(listing);
    this.#relisting.resume();
  }

  #fail({ kind, message }: ConnectFailure): void {
    if (this.#state.kind === "closed") return;
    this.#failures++;
    if (!this.#complained) {
      const effect = this.#listing === NOTHING ? "its tools are not offered" : "calls of its tools will not reach it";
      this.#say("warning", "mcp_server_failed", `cannot be used, and ${effect}: ${message}`);
    }
    this.#complained = true;
    this.#wait(message, kind);
  }

  #lose(connection: Connection, reason: string): void {
    if (this.#state.kind !== "ready" || this.#state.connection !== connection) return;
    const lasted = performance.now() - this.#state.since;
    // One that dies soon after each start is no better than one that does not start.
    this.#failures = lasted >= this.#ground.patience.backoff.most ? 1 : this.#failures + 1;
    this.#keep(connection.close());
    this.#say("warning", "mcp_server_lost", `was lost: ${reason}`);
    this.#complained = true;
    this.#wait(reason, "passing");
  }

  /** S3. */
  #wait(reason: string, kind: ConnectFailure["kind"]): void {
    const { backoff, barred } = this.#ground.patience;
    const now = performance.now();
    if (kind === "final") return this.#become({ kind: "waiting", reason, until: Infinity, timer: null });
    if (kind === "barred") return this.#become({ kind: "waiting", reason, until: now + barred, timer: null });
    const pause = Math.min(backoff.first * 2 ** (this.#failures - 1), backoff.most);
    const timer = this.#failures < MAX_FAILURES ? setTimeout(() => this.#begin(), pause) : null;
    this.#become({ kind: "waiting", reason, until: now + pause, timer });
  }

  /** The connection, or why there is none. Waits as long as an attempt may take, and no longer. */
  async #whenReady(signal: AbortSignal): Promise<Connection | string> {
    const deadline = performance.now() + this.#ground.patience.connect;
    while (!signal.aborted) {
      const state = this.#state;
      const now = performance.now();
      if (state.kind === "ready") return state.connection;
      if (state.kind === "closed") return "the session is over";
      if (state.kind === "waiting" && state.timer === null && now >= state.until) {
        this.#begin();
        continue;
      }
      const isHopeless = state.kind === "waiting" && (state.timer === null || state.until > deadline);
      if (isHopeless) return `it is not connected: ${state.reason}`;
      if (now >= deadline) return state.kind === "waiting" ? `it is not connected: ${state.reason}` : "it is not connected yet";
      await this.#changed(deadline - now, signal);
    }
    return "it was cancelled";
  }

  async #changed(within_ms: number, signal: AbortSignal): Promise<void> {
    const enough = Promise.withResolvers<void>();
    const timer = setTimeout(enough.resolve, within_ms);
    signal.addEventListener("abort", () => enough.resolve(), { once: true });
    await Promise.race([this.#change.promise, enough.promise]);
    clearTimeout(timer);
  }

  #become(state: State): void {
    if (this.#state.kind === "closed") return;
    if (this.#state.kind === "waiting" && this.#state.timer !== null) clearTimeout(this.#state.timer);
    this.#state = state;
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }

  /** Null if there is nobody to ask now. */
  #listAgain(): Promise<void> | null {
    if (this.#state.kind !== "ready") return null;
    const { connection } = this.#state;
    const isCurrent = () => this.#state.kind === "ready" && this.#state.connection === connection;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#ground.patience.connect)]);
    return connection.listTools(signal).then((raw) => this.#read(raw)).then((listing) => {
      if (isCurrent()) this.#learn(listing);
    }).catch((error: unknown) => {
      if (!isCurrent()) return;
      this.#say("warning", "mcp_list_failed", `did not give its list again: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  async #read({ tools, cut }: RawListing): Promise<Listing> {
    const read = await readListing(this.server.name, tools);
    return cut === null ? read : { ...read, remarks: [...read.remarks, `${cut}; the rest is left out`] };
  }

  #learn(listing: Listing): void {
    const before = fingerprint(this.#listing);
    if (this.#listing !== NOTHING && fingerprint(listing) === before) return;
    this.#listing = listing;
    for (const remark of listing.remarks) this.#say("warning", "mcp_listing", `lists what is not used as it is: ${remark}`);
    this.#ground.watch.onListing();
  }

  #say(level: "info" | "warning", code: string, text: string): void {
    this.#ground.watch.onNotice(level, code, `The MCP server "${this.server.name}" ${text}`);
  }

  #keep(work: Promise<unknown>): void {
    const kept = work.catch((error: unknown) => this.#say("warning", "mcp_server_close", `could not be closed well: ${String(error)}`));
    this.#burials.add(kept);
    void kept.finally(() => this.#burials.delete(kept));
  }

  async #buried(): Promise<void> {
    while (this.#burials.size > 0) await Promise.all(this.#burials);
  }
}

function fingerprint({ offers, broken, remarks }: Listing): string {
  return JSON.stringify([offers.map(({ digest }) => digest), broken, remarks]);
}
