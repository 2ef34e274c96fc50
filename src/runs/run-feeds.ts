import { toSdkError } from "../core/errors.ts";
import { EventHub } from "./event-hub.ts";
import { isUnderWay } from "./status.ts";
import type { RunStore } from "./store.ts";
import { nextTurn } from "./turns.ts";

/** Events that are read from a store at a time. */
export const PAGE_EVENTS = 256;

/** How long a feed waits for a notice before it polls the store, in milliseconds. */
const POLL_MS = 5_000;

/** The run that a feed reads. */
export interface FeedSource {
  readonly store: RunStore;
  readonly owner: string;
  readonly runId: string;
}

/** Reads the new events of runs that other processes execute: once for all readers of a run in this process. */
export class RunFeeds {
  readonly #feeds = new Map<string, RunFeed>();
  #closed: Error | undefined;

  /**
   * Joins the readers of a run.
   * @param after Sequence number of the latest event that this reader has.
   * @throws Error if the feeds were closed.
   */
  join(source: FeedSource, after: number): RunFeed {
    if (this.#closed !== undefined) throw this.#closed;
    const { runId } = source;
    let feed = this.#feeds.get(runId);
    if (feed === undefined || feed.hub.end !== undefined) {
      feed = new RunFeed(source, after);
      this.#feeds.set(runId, feed);
    }
    feed.readers += 1;
    return feed;
  }

  /** Ends all feeds with an error: their readers can go on elsewhere. */
  close(error: Error): void {
    this.#closed = error;
    for (const { hub } of this.#feeds.values()) hub.close({ case: "failed", error });
  }

  /** A reader leaves. The last one ends the feed. */
  leave(feed: RunFeed): void {
    feed.readers -= 1;
    if (feed.readers > 0) return;
    feed.stop();
    if (this.#feeds.get(feed.runId) === feed) this.#feeds.delete(feed.runId);
  }
}

/** Reads the new events of one run, while it has readers and until the run is over or requires action. */
export class RunFeed {
  readonly hub: EventHub;
  readonly runId: string;
  readers = 0;
  readonly #source: FeedSource;
  readonly #unsubscribe: () => void;
  #hasNotice = false;
  #isStopped = false;
  #wake: (() => void) | undefined;

  /** Begins at once. */
  constructor(source: FeedSource, after: number) {
    this.#source = source;
    this.runId = source.runId;
    this.hub = new EventHub(after + 1);
    this.#unsubscribe = source.store.subscribe(source.runId, () => this.#notice());
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#notice();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopped && !(await this.#readNew())) await this.#nextNotice();
      this.hub.close({ case: "over" });
    } catch (thrown) {
      this.hub.close({ case: "failed", error: toSdkError(thrown) });
    } finally {
      this.#unsubscribe();
    }
  }

  /** Publishes all new events. Returns whether they were the last ones. */
  async #readNew(): Promise<boolean> {
    const { store, owner, runId } = this.#source;
    // A notice from here on may be of events that this read does not see.
    this.#hasNotice = false;
    const stored = await store.getRun(owner, runId);
    const { lastSequence = -1, status } = stored?.run ?? {};
    while (this.hub.last < lastSequence && !this.#isStopped) {
      const events = await store.readEvents(runId, this.hub.last, PAGE_EVENTS);
      if (events.length === 0) break;
      this.hub.publish(events);
      await nextTurn();
    }
    return status === undefined || !isUnderWay(status);
  }

  /** Resolves at the next notice, at once if one came since the last read, or after POLL_MS. */
  #nextNotice(): Promise<void> {
    if (this.#hasNotice || this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#notice(), POLL_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #notice(): void {
    this.#hasNotice = true;
    this.#wake?.();
    this.#wake = undefined;
  }
}
