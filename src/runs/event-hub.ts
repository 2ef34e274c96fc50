import { toSdkError } from "../core/errors.ts";
import { yieldTurn } from "../core/loop-turns.ts";
import type { RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import { isQueuedOrRunning } from "./status.ts";
import type { RunStore } from "./store.ts";

/** Minimum number of events kept for readers. A reader that is further behind reads from the store. */
const KEPT_EVENTS = 128;

/** A reader that waits for events. */
export interface HubReader {
  /** Sequence number of the latest event that it has. */
  readonly cursor: number;
  /** Called once for each wait, when there are events after its cursor or the hub is closed. */
  wake(): void;
  fail(error: Error): void;
}

/**
 * Why the events of a hub end: the run has ended, it continues elsewhere, or its events could not be written or read.
 */
export type HubEnd =
  | { readonly case: "over" }
  | { readonly case: "elsewhere" }
  | { readonly case: "failed"; readonly error: Error };

/** Delivers the events of a run in progress to its readers in this process, the latest ones from memory. */
export class EventHub {
  #events: RunEvent[] = [];
  /** Sequence number of the first event that is kept. */
  #first: number;
  readonly #hasOneReader: boolean;
  #waiting: HubReader[] = [];
  /** The reader that the run waits for: the caller of a foreground run. */
  #caller: HubReader | undefined;
  #demand: PromiseWithResolvers<void> | undefined;
  /** When the run began to wait for its caller, in milliseconds of `performance.now()`. */
  #demandedAt = 0;
  /** How the events end. Undefined while there may be more. Set by `close` alone. */
  end: HubEnd | undefined;

  /**
   * @param next Sequence number of the first event to be published.
   * @param hasOneReader Whether only the caller ever reads, so that events are kept only until it has read them.
   */
  constructor(next: number, hasOneReader = false) {
    this.#first = next;
    this.#hasOneReader = hasOneReader;
  }

  /** Resolves when the caller has read all events. Undefined if the run need not wait. */
  get pace(): Promise<void> | undefined {
    if (this.#caller === undefined || this.#caller.cursor >= this.last || this.end !== undefined)
      return undefined;
    if (this.#demand === undefined) {
      this.#demand = Promise.withResolvers();
      this.#demandedAt = performance.now();
    }
    return this.#demand.promise;
  }

  /** How long the run has been waiting for its caller, in milliseconds. */
  get stalledMs(): number {
    return this.#demand === undefined ? 0 : performance.now() - this.#demandedAt;
  }

  /** Ends the reading of the caller with an error. The run no longer waits for it. */
  failCaller(error: Error): void {
    this.#caller?.fail(error);
    this.setCaller(undefined);
  }

  /** Sets the reader that the run waits for. Undefined: none. */
  setCaller(caller: HubReader | undefined): void {
    this.#caller = caller;
    this.#resume();
  }

  /** Adds stored events. Drops events that the caller has read, in batches to keep the cost per event low. */
  publish(events: readonly RunEvent[]): void {
    this.#events.push(...events);
    if (this.#events.length >= 2 * KEPT_EVENTS) {
      const read = (this.#caller?.cursor ?? Infinity) + 1 - this.#first;
      const surplus = Math.max(0, Math.min(this.#events.length - KEPT_EVENTS, read));
      this.#events.splice(0, surplus);
      this.#first += surplus;
    }
    this.#wakeAll();
  }

  close(end: HubEnd): void {
    this.end ??= end;
    this.#resume();
    this.#wakeAll();
  }

  /** Returns the events after a sequence number. Undefined if some are no longer kept. */
  eventsAfter(sequence: number): readonly RunEvent[] | undefined {
    if (sequence + 1 < this.#first) return undefined;
    return this.#events.slice(sequence + 1 - this.#first);
  }

  noteRead(reader: HubReader): void {
    if (reader !== this.#caller || reader.cursor < this.last) return;
    this.#resume();
    if (!this.#hasOneReader) return;
    this.#first = this.last + 1;
    this.#events = [];
  }

  wait(reader: HubReader): void {
    this.#waiting.push(reader);
  }

  forget(reader: HubReader): void {
    this.#waiting = this.#waiting.filter((other) => other !== reader);
  }

  get last(): number {
    return this.#first + this.#events.length - 1;
  }

  #resume(): void {
    this.#demand?.resolve();
    this.#demand = undefined;
  }

  #wakeAll(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const reader of waiting) reader.wake();
  }
}

/** Events that are read from a store at a time. */
export const PAGE_EVENTS = 256;

/** How long a feed waits for a notice before it polls the store, in milliseconds. */
const POLL_MS = 5_000;

/** The run that a feed reads, and its owner. */
type FeedRun = Readonly<Record<"owner" | "runId", string>>;

/** Reads the new events of runs that other processes execute: once for all readers of a run in this process. */
export class RunFeeds {
  readonly #feeds = new Map<string, RunFeed>();
  #closed: Error | undefined;

  /**
   * Joins the readers of a run.
   * @param after Sequence number of the latest event that this reader has.
   * @throws Error if the feeds were closed.
   */
  join(store: RunStore, run: FeedRun, after: number): RunFeed {
    if (this.#closed !== undefined) throw this.#closed;
    const { runId } = run;
    let feed = this.#feeds.get(runId);
    if (feed === undefined || feed.hub.end !== undefined) {
      feed = new RunFeed(store, run, after);
      this.#feeds.set(runId, feed);
    }
    feed.readers += 1;
    return feed;
  }

  /** Ends all feeds with an error: their readers can continue elsewhere. */
  close(error: Error): void {
    this.#closed = error;
    for (const { hub } of this.#feeds.values()) hub.close({ case: "failed", error });
  }

  /** Removes a reader. The last one stops the feed. */
  leave(feed: RunFeed): void {
    feed.readers -= 1;
    if (feed.readers > 0) return;
    feed.stop();
    const { runId } = feed.run;
    if (this.#feeds.get(runId) === feed) this.#feeds.delete(runId);
  }
}

/** Reads the new events of one run, while it has readers and until the run is over or requires action. */
export class RunFeed {
  readonly hub: EventHub;
  readonly run: FeedRun;
  readers = 0;
  readonly #store: RunStore;
  readonly #unsubscribe: () => void;
  readonly #notices = new WakeUp();
  #isStopped = false;

  /** Starts immediately. */
  constructor(store: RunStore, run: FeedRun, after: number) {
    this.#store = store;
    this.run = run;
    this.hub = new EventHub(after + 1);
    this.#unsubscribe = store.subscribe(run.runId, () => this.#notices.wake());
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#notices.wake();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopped && !(await this.#readNew())) await this.#notices.wait(POLL_MS);
      this.hub.close({ case: "over" });
    } catch (thrown) {
      this.hub.close({ case: "failed", error: toSdkError(thrown) });
    } finally {
      this.#unsubscribe();
    }
  }

  /** Publishes all new events. Returns whether they were the last ones. */
  async #readNew(): Promise<boolean> {
    const store = this.#store;
    const { owner, runId } = this.run;
    // A later notice may concern events that this read misses.
    this.#notices.reset();
    const stored = await store.getRun(owner, runId);
    const { lastSequence = -1, status } = stored?.run ?? {};
    while (this.hub.last < lastSequence && !this.#isStopped) {
      const events = await store.readEvents(runId, this.hub.last, PAGE_EVENTS);
      if (events.length === 0) break;
      this.hub.publish(events);
      const turn = yieldTurn();
      if (turn !== undefined) await turn;
    }
    return status === undefined || !isQueuedOrRunning(status);
  }
}

/** Wakes a polling loop early when new work is announced. */
export class WakeUp {
  #isWoken = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#isWoken = true;
    this.#resolve?.();
  }

  /** Called before each poll, since the poll may miss work that is announced later. */
  reset(): void {
    this.#isWoken = false;
  }

  /** Resolves at the next `wake`, immediately if there was one since `reset`, or after `ms`. */
  async wait(ms: number): Promise<void> {
    if (this.#isWoken) return yieldTurn();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#resolve = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
