/** [main thread] Signals that come before the command is there that heeds them. Listened to before anything else is loaded. */
import process from "node:process";
import { ignoredAmong } from "../lib/platform/ignored-signals.ts";

/** A terminal that goes away ends what ran in it, unless `nohup` says otherwise. */
export const CAUSES = { SIGINT: "interrupted", SIGTERM: "terminated", SIGHUP: "terminated" } as const;
export type Heard = keyof typeof CAUSES;
export const HEARD = Object.keys(CAUSES) as readonly Heard[];

export class HeldSignals {
  readonly #came: Heard[] = [];
  readonly #first = Promise.withResolvers<Heard>();
  readonly #listeners = new Map<Heard, () => void>();
  readonly #ignored = ignoredAmong(HEARD);
  #isTaken = false;

  constructor() {
    for (const signal of HEARD.filter((each) => this.hears(each))) {
      const listen = () => this.#receive(signal);
      this.#listeners.set(signal, listen);
      process.on(signal, listen);
    }
  }

  /** False: whoever started us has it ignored. */
  hears(signal: Heard): boolean {
    return !this.#ignored.includes(signal);
  }

  /** The first that comes while they are held. */
  get first(): Promise<Heard> {
    return this.#first.promise;
  }

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Somebody else listens from now on, already. @returns those that came before. */
  take(): readonly Heard[] {
    this.#isTaken = true;
    this.#unlisten();
    return this.#came.splice(0);
  }

  /** Nobody heeds them: they do what they do to any program, those that came before too. */
  letGo(): void {
    const [signal] = this.take();
    if (signal !== undefined) process.kill(process.pid, signal);
  }

  #receive(signal: Heard): void {
    this.#came.push(signal);
    this.#first.resolve(signal);
    if (this.#came.length > 1) this.letGo();
  }

  #unlisten(): void {
    for (const [signal, listen] of this.#listeners) process.off(signal, listen);
    this.#listeners.clear();
  }
}
