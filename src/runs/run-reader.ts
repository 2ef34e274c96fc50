import type { RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import { missing } from "./errors.ts";
import {
  type EventHub,
  type FeedSource,
  type HubReader,
  nextTurn,
  PAGE_EVENTS,
  type RunFeed,
  type RunFeeds,
} from "./event-hub.ts";
import { isTerminal, isUnderWay } from "./status.ts";

/** The run whose events are read. */
export interface ReaderSource extends FeedSource {
  /** The hub of the run while this process executes it. */
  readonly findHub: () => EventHub | undefined;
  readonly feeds: RunFeeds;
}

/** Options of a reader. */
export interface ReaderOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the first read throws a NotFoundError if the owner has no such run. Otherwise there are no events. */
  readonly mustExist?: boolean | undefined;
  /** Called once before the first read, which throws what it throws. */
  readonly onBegin?: (() => void) | undefined;
  /** Called once when the reading ends after it began, in whatever way. */
  readonly onEnd?: (() => void) | undefined;
  /** Called when the reader is closed before the end, which waits for it. */
  readonly onLeave?: (() => Promise<void>) | undefined;
}

type Result = IteratorResult<readonly RunEvent[], undefined>;

const DONE: Result = { done: true, value: undefined };

/**
 * Reads the events of a run: the latest ones from the hub of the run, which this process executes, or from that of a
 * feed; earlier ones from the store. All give the same events. Ends when the run is over or requires action.
 */
export class RunReader implements AsyncIterableIterator<readonly RunEvent[], undefined>, HubReader {
  readonly #source: ReaderSource;
  readonly #options: ReaderOptions;
  cursor: number;
  #hub: EventHub | undefined;
  #feed: RunFeed | undefined;
  hasBegun = false;
  /** Whether the store has given events, so that the run is the owner's. */
  #isFound = false;
  #isOver = false;
  /** Whether the store has no events after the cursor, and never will. */
  #isAtEnd = false;
  #failure: Error | undefined;
  #waiting: ((result: Result | Promise<Result>) => void) | undefined;

  /** @param cursor Sequence number of the last event that is not read. -1: all are read. */
  constructor(source: ReaderSource, cursor: number, options: ReaderOptions = {}) {
    this.#source = source;
    this.cursor = cursor;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    if (!this.hasBegun) {
      this.hasBegun = true;
      const { onBegin, signal } = this.#options;
      try {
        onBegin?.();
      } catch (thrown) {
        this.#isOver = true;
        return Promise.reject(thrown);
      }
      if (signal?.aborted) this.#finish();
      else signal?.addEventListener("abort", this.#finish, { once: true });
    }
    if (!this.#isOver) return this.#read();
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? Promise.resolve(DONE) : Promise.reject(failure);
  }

  async return(): Promise<Result> {
    const isEarly = !this.#isOver;
    this.#finish();
    if (isEarly) await this.#options.onLeave?.();
    return DONE;
  }

  wake(): void {
    const resolve = this.#waiting;
    this.#waiting = undefined;
    const events = this.#hub?.eventsAfter(this.cursor) ?? [];
    // The usual case takes no further promise.
    resolve?.(events.length > 0 ? this.#take(events) : this.#read());
  }

  giveUp(error: Error): void {
    if (this.#isOver) return;
    this.#failure = error;
    this.#finish();
  }

  readonly #finish = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    const { signal, onEnd } = this.#options;
    signal?.removeEventListener("abort", this.#finish);
    this.#leaveHub();
    this.#waiting?.(DONE);
    this.#waiting = undefined;
    if (this.hasBegun) onEnd?.();
  };

  #read(): Promise<Result> {
    if (this.#isAtEnd) {
      this.#finish();
      return Promise.resolve(DONE);
    }
    this.#hub ??= this.#source.findHub();
    const hub = this.#hub;
    const events = hub?.eventsAfter(this.cursor);
    if (hub === undefined || events === undefined) return this.#readStore();
    if (events.length > 0) return Promise.resolve(this.#take(events));
    const { end } = hub;
    if (end === undefined)
      return new Promise((resolve) => {
        this.#waiting = resolve;
        hub.wait(this);
      });
    if (end.case === "elsewhere") {
      this.#leaveHub();
      return this.#readStore();
    }
    this.#finish();
    return end.case === "failed" ? Promise.reject(end.error) : Promise.resolve(DONE);
  }

  #leaveHub(): void {
    this.#hub?.forget(this);
    this.#hub = undefined;
    if (this.#feed !== undefined) this.#source.feeds.leave(this.#feed);
    this.#feed = undefined;
  }

  /** Reads one page, or follows the run if there is none. */
  async #readStore(): Promise<Result> {
    const { store, owner, runId, feeds, findHub } = this.#source;
    try {
      await nextTurn();
      const events = this.#isOver ? [] : await store.readEvents(runId, this.cursor, PAGE_EVENTS, owner);
      if (this.#isOver) return DONE;
      const last = events.at(-1);
      if (last !== undefined) {
        this.#isFound = true;
        this.#isAtEnd = last.event.case === "run" && isTerminal(last.event.value.status);
        return this.#take(events);
      }
      const stored = await store.getRun(owner, runId);
      if (this.#isOver) return DONE;
      if (stored === undefined && this.#options.mustExist && !this.#isFound) throw missing("run", runId);
      const { status, lastSequence } = stored?.run ?? {};
      if (status === undefined || (!isUnderWay(status) && this.cursor >= (lastSequence ?? -1))) {
        this.#finish();
        return DONE;
      }
      // What the hub of this process has no more is in the store, and nothing is missing in between.
      this.#leaveHub();
      const hub = findHub();
      this.#hub = hub?.end?.case === "elsewhere" ? undefined : hub;
      if (this.#hub?.eventsAfter(this.cursor) === undefined) {
        this.#feed = feeds.join(this.#source, this.cursor);
        this.#hub = this.#feed.hub;
      }
      return this.#read();
    } catch (thrown) {
      this.#finish();
      throw thrown;
    }
  }

  #take(events: readonly RunEvent[]): Result {
    this.cursor = events.at(-1)?.sequence ?? this.cursor;
    this.#hub?.noteRead(this);
    return { done: false, value: events };
  }
}
