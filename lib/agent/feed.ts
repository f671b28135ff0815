/**
 * What happens in one session, for those who watch. Durable events are told after they are durable, in order of
 * `seq`; live events are told as they come. A listener that throws is dropped: watching never disturbs a turn.
 */
import type { StoredEvent } from "../session/event.ts";
import type { LiveEvent } from "../session/live.ts";

export type FeedEvent = StoredEvent | LiveEvent;
export type Listener = (event: FeedEvent) => void;

export class Feed {
  readonly #listeners = new Set<Listener>();

  /** Calls the listener from now on; the returned function ends that. */
  watch(listener: Listener): () => void {
    const own: Listener = (event) => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  tell(event: FeedEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch {
        // The watcher's own fault (a closed pipe, a bug in a callback); it gets nothing more.
        this.#listeners.delete(listener);
      }
    }
  }
}
