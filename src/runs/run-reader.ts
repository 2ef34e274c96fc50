import type { RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import type { EventHub, HubReader } from "./event-hub.ts";
import { isUnderWay } from "./status.ts";
import type { RunStore } from "./store.ts";

/** Events that are read from a store at a time. */
const PAGE_EVENTS = 256;

/** How long a reader waits for a notice before it polls the store, in milliseconds. */
const LOOK_AGAIN_MS = 5_000;

/** The run whose events are read. */
export interface ReaderSource {
  readonly store: RunStore;
  readonly owner: string;
  readonly runId: string;
  /** The hub of the run where it is under way in this process. */
  readonly findHub: () => EventHub | undefined;
}

/** Options of a reader. */
export interface ReaderOptions {
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
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
 * Reads the events of a run: from the hub while the run is under way in this process and the reader keeps up, else from
 * the store. Both give the same events. Ends when the run is over or requires action.
 */
export class RunReader implements AsyncIterableIterator<readonly RunEvent[], undefined>, HubReader {
  readonly #source: ReaderSource;
  readonly #options: ReaderOptions;
  #cursor: number;
  #hub: EventHub | undefined;
  #hasBegun = false;
  #isOver = false;
  /** The read that waits for the hub. */
  #waiting: ((result: Result | Promise<Result>) => void) | undefined;
  #notices: Notices | undefined;

  /** @param cursor Sequence number of the last event that is not read. -1: all are read. */
  constructor(source: ReaderSource, cursor: number, options: ReaderOptions = {}) {
    this.#source = source;
    this.#cursor = cursor;
    this.#options = options;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Whether reading has begun. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    if (!this.#hasBegun) {
      try {
        this.#begin();
      } catch (thrown) {
        this.#isOver = true;
        return Promise.reject(thrown);
      }
    }
    return this.#isOver ? Promise.resolve(DONE) : this.#read();
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
    const events = this.#hub?.eventsAfter(this.#cursor) ?? [];
    // The usual case takes no further promise.
    resolve?.(events.length > 0 ? this.#take(events) : this.#read());
  }

  #begin(): void {
    const { onBegin, signal } = this.#options;
    this.#hasBegun = true;
    onBegin?.();
    if (signal?.aborted) this.#finish();
    else signal?.addEventListener("abort", this.#finish, { once: true });
  }

  readonly #finish = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    const { signal, onEnd } = this.#options;
    signal?.removeEventListener("abort", this.#finish);
    this.#hub?.forget(this);
    this.#notices?.end();
    this.#waiting?.(DONE);
    this.#waiting = undefined;
    if (this.#hasBegun) onEnd?.();
  };

  #read(): Promise<Result> {
    this.#hub ??= this.#source.findHub();
    const hub = this.#hub;
    const events = hub?.eventsAfter(this.#cursor);
    if (hub === undefined || events === undefined) return this.#readStore();
    if (events.length > 0) return Promise.resolve(this.#take(events));
    if (hub.end === undefined) return this.#wait(hub);
    return this.#afterHub(hub);
  }

  #wait(hub: EventHub): Promise<Result> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      hub.wait(this);
    });
  }

  /** All events of the hub are read. */
  #afterHub(hub: EventHub): Promise<Result> {
    const { end } = hub;
    if (end?.case === "lost") {
      this.#hub = undefined;
      return this.#readStore();
    }
    this.#finish();
    return end?.case === "failed" ? Promise.reject(end.error) : Promise.resolve(DONE);
  }

  async #readStore(): Promise<Result> {
    const { store, runId } = this.#source;
    try {
      this.#notices ??= new Notices(store, runId);
      while (!this.#isOver) {
        const events = await store.readEvents(runId, this.#cursor, PAGE_EVENTS);
        if (this.#isOver) break;
        if (events.length > 0) return this.#take(events);
        if (await this.#isRunOver()) break;
        await this.#notices.next();
        const hub = this.#source.findHub();
        if (hub !== undefined && hub.end?.case !== "lost" && !this.#isOver) return this.#read();
      }
      this.#finish();
      return DONE;
    } catch (thrown) {
      this.#finish();
      throw thrown;
    }
  }

  async #isRunOver(): Promise<boolean> {
    const { store, owner, runId } = this.#source;
    const stored = await store.getRun(owner, runId);
    if (stored === undefined) return true;
    const { status, lastSequence } = stored.run;
    return !isUnderWay(status) && this.#cursor >= lastSequence;
  }

  #take(events: readonly RunEvent[]): Result {
    this.#cursor = events.at(-1)?.sequence ?? this.#cursor;
    this.#hub?.noteRead(this);
    return { done: false, value: events };
  }
}

/** Notices of a store about a run, as something to wait for. */
class Notices {
  readonly #unsubscribe: () => void;
  #hasNotice = false;
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: RunStore, runId: string) {
    this.#unsubscribe = store.subscribe(runId, () => this.#notice());
  }

  /** Resolves at the next notice, at once if one came since the last wait, or after LOOK_AGAIN_MS. */
  next(): Promise<void> {
    if (this.#hasNotice) {
      this.#hasNotice = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(() => this.#notice(), LOOK_AGAIN_MS);
    });
  }

  end(): void {
    this.#unsubscribe();
    this.#notice();
  }

  #notice(): void {
    clearTimeout(this.#timer);
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake === undefined) this.#hasNotice = true;
    else wake();
  }
}
