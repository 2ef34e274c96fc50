import { setTimeout as delay } from "node:timers/promises";
import { yieldTurnAfter } from "../core/loop-turns.ts";
import { type RunEvent, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import { LinkedSignal, untilAborted } from "../kit/call/linked-signal.ts";
import { toAbortError } from "../kit/http/abort.ts";
import { missing, ThreadBusyError } from "./errors.ts";
import { type EventHub, type HubReader, PAGE_EVENTS, type RunFeed, type RunFeeds } from "./event-hub.ts";
import { isQueuedOrRunning, isTerminal } from "./status.ts";
import type { RunStore } from "./store.ts";

/** Delays between polls of a thread that stays busy although its run has ended, in milliseconds. */
const POLL_MS = { first: 10, last: 500 };

const NEVER = new AbortController().signal;

/** Dependencies of readers of runs. */
export interface ReadParts {
  readonly store: RunStore;
  readonly feeds: RunFeeds;
  /** The runs that this process executes, by their ids. */
  readonly live: { get(runId: string): ReadableRun | undefined };
}

/** A run that this process executes, as its readers see it. */
export interface ReadableRun {
  readonly owner: string | undefined;
  readonly hub: EventHub;
  readonly ended: Promise<void>;
}

/** A run, and the event after which reading begins. -1 means the first one. */
export interface ReadPosition {
  readonly owner: string;
  readonly runId: string;
  readonly after: number;
}

/** Options of a reader. */
export interface ReaderOptions {
  /** The run, if this process executes it for the reader. */
  readonly run?: ReadableRun | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether the first read throws a NotFoundError if the owner has no such run. Otherwise there are no events. */
  readonly mustExist?: boolean | undefined;
  /** Called once before the first read. If it throws, the first read fails with the same error. */
  readonly onBegin?: (() => void) | undefined;
  /** Called once when reading has ended, for any reason. */
  readonly onEnd?: (() => void) | undefined;
  /** Called when the reader is closed early. Closing waits for it. */
  readonly onLeave?: (() => Promise<void>) | undefined;
}

type Result = IteratorResult<readonly RunEvent[], undefined>;

const DONE: Result = { done: true, value: undefined };

/**
 * Reads the events of a run: the latest ones from the hub of the run if this process executes it, otherwise from the
 * hub of a feed; earlier ones from the store. All give the same events. Ends when the run is over or requires action.
 */
export class RunReader implements AsyncIterableIterator<readonly RunEvent[], undefined>, HubReader {
  readonly #parts: ReadParts;
  readonly #position: ReadPosition;
  readonly #options: ReaderOptions;
  /** Sequence number of the latest event that was read. */
  cursor: number;
  #hub: EventHub | undefined;
  #feed: RunFeed | undefined;
  hasBegun = false;
  /** Whether the store has returned events, which proves that the run is the owner's. */
  #isFound = false;
  #isOver = false;
  /** Whether the store has no events after the cursor, and never will. */
  #isAtEnd = false;
  #failure: Error | undefined;
  #waiting: ((result: Result | Promise<Result>) => void) | undefined;

  constructor(parts: ReadParts, position: ReadPosition, options: ReaderOptions = {}) {
    this.#parts = parts;
    this.#position = position;
    this.#options = options;
    this.cursor = position.after;
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
    // In the usual case, no further promise is created.
    resolve?.(events.length > 0 ? this.#take(events) : this.#read());
  }

  fail(error: Error): void {
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
    this.#hub ??= this.#findHub();
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

  /** Returns the hub of the run while this process executes it for its owner. */
  #findHub(): EventHub | undefined {
    const { owner, runId } = this.#position;
    const { run } = this.#options;
    if (run !== undefined) return run.hub;
    const live = this.#parts.live.get(runId);
    return live?.owner === owner ? live.hub : undefined;
  }

  #leaveHub(): void {
    this.#hub?.forget(this);
    this.#hub = undefined;
    if (this.#feed !== undefined) this.#parts.feeds.leave(this.#feed);
    this.#feed = undefined;
  }

  /** Reads one page, or follows the run if the page is empty. */
  async #readStore(): Promise<Result> {
    const { store } = this.#parts;
    const { owner, runId } = this.#position;
    try {
      // Always reads in a later turn: by then, a run that was just created may be executed here, and its hub can be
      // followed.
      await yieldTurnAfter(Number.POSITIVE_INFINITY);
      const events = this.#isOver ? [] : await store.readEvents(runId, this.cursor, PAGE_EVENTS, owner);
      if (this.#isOver) return DONE;
      const last = events.at(-1);
      if (last !== undefined) {
        const result = this.#take(events);
        this.#isFound = true;
        const status = last.event.case === "run" ? last.event.value.status : RunStatus.IN_PROGRESS;
        this.#isAtEnd = isTerminal(status);
        // If it went on reading pages until one is empty, it might never catch up with the run.
        if (events.length < PAGE_EVENTS && isQueuedOrRunning(status)) this.#follow();
        return result;
      }
      const stored = await store.getRun(owner, runId);
      if (this.#isOver) return DONE;
      if (stored === undefined && this.#options.mustExist && !this.#isFound) throw missing("run", runId);
      const { status, lastSequence } = stored?.run ?? {};
      if (status === undefined || (!isQueuedOrRunning(status) && this.cursor >= (lastSequence ?? -1))) {
        this.#finish();
        return DONE;
      }
      this.#follow();
      return this.#read();
    } catch (thrown) {
      this.#finish();
      throw thrown;
    }
  }

  /** Waits for the next events at the hub of the run, or joins its other readers. */
  #follow(): void {
    const { store, feeds } = this.#parts;
    // Events that the hub of this process no longer has are in the store, so none are missed in between.
    this.#leaveHub();
    const hub = this.#findHub();
    this.#hub = hub?.end?.case === "elsewhere" ? undefined : hub;
    if (this.#hub?.eventsAfter(this.cursor) !== undefined) return;
    this.#feed = feeds.join(store, this.#position, this.cursor);
    this.#hub = this.#feed.hub;
  }

  #take(events: readonly RunEvent[]): Result {
    this.cursor = events.at(-1)?.sequence ?? this.cursor;
    this.#hub?.noteRead(this);
    return { done: false, value: events };
  }
}

/**
 * Waits for a run that blocks another one: a little longer each time, since the store may name it again at once.
 * @param end In milliseconds of `performance.now()`.
 * @param waits Number of earlier waits.
 * @throws ThreadBusyError when the time is over; SDKError of the signal's reason.
 */
export async function waitForTurn(
  parts: ReadParts,
  position: Omit<ReadPosition, "after">,
  end: number,
  waits: number,
  signal = NEVER,
): Promise<void> {
  const ms = end - performance.now();
  if (ms <= 0) throw new ThreadBusyError(position.runId);
  await waitForRun(parts, position, ms, signal);
  const pause = Math.min(POLL_MS.first * 2 ** waits, POLL_MS.last, ms);
  if (waits > 0) await untilAborted(delay(pause), signal);
}

/**
 * Waits until a run has ended or requires action, in any process, or the time limit is reached.
 * @throws SDKError of the signal's reason if it is aborted first.
 */
export async function waitForRun(
  parts: ReadParts,
  { owner, runId }: Omit<ReadPosition, "after">,
  ms: number,
  caller?: AbortSignal,
): Promise<void> {
  const limit = new LinkedSignal(caller, { ms, what: "the wait for a run" });
  const { signal } = limit;
  try {
    const live = parts.live.get(runId);
    if (live !== undefined) await untilAborted(live.ended, signal);
    const after = (await parts.store.getRun(owner, runId))?.run.lastSequence ?? -1;
    await untilAborted(drain(new RunReader(parts, { owner, runId, after }, { signal })), signal);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    limit.release();
  }
  if (caller?.aborted) throw toAbortError(caller);
}

/** Reads all remaining events. */
export async function drain(reader: RunReader): Promise<void> {
  let result = await reader.next();
  while (result.done !== true) result = await reader.next();
}
