import type { RunEvent } from "../gen/outrigger/v1/run_pb.ts";

/** Minimum number of events kept for readers. A reader that is further behind reads from the store. */
const KEPT_EVENTS = 128;

/** A reader that waits for events. */
export interface HubReader {
  /** Sequence number of the latest event that it has. */
  readonly cursor: number;
  /** Called once for each wait, when there are events after its cursor or the hub is closed. */
  wake(): void;
  giveUp(error: Error): void;
}

/** Why the events of a hub end: the run has ended, it goes on elsewhere, or its events could not be written or read. */
export type HubEnd =
  | { readonly case: "over" }
  | { readonly case: "elsewhere" }
  | { readonly case: "failed"; readonly error: Error };

/** Delivers the events of a run under way to its readers in this process, the latest ones from memory. */
export class EventHub {
  #events: RunEvent[] = [];
  /** Sequence number of the first event that is kept. */
  #first: number;
  #waiting: HubReader[] = [];
  /** The reader that the run waits for: the caller of a foreground run. */
  #caller: HubReader | undefined;
  #demand: PromiseWithResolvers<void> | undefined;
  /** Since when the run waits for its caller, in milliseconds of `performance.now()`. */
  #demandedAt = 0;
  #end: HubEnd | undefined;

  /** @param next Sequence number of the first event to be published. */
  constructor(next: number) {
    this.#first = next;
  }

  /** How the events end. Undefined while there may be more. */
  get end(): HubEnd | undefined {
    return this.#end;
  }

  /** Resolves when the caller has read all events. Undefined if the run need not wait. */
  get pace(): Promise<void> | undefined {
    if (this.#caller === undefined || this.#caller.cursor >= this.last || this.#end !== undefined)
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

  /** Ends the reading of the caller with an error. The run does not wait for it any more. */
  giveUpCaller(error: Error): void {
    this.#caller?.giveUp(error);
    this.setCaller(undefined);
  }

  /** Sets the reader that the run waits for. Undefined: none. */
  setCaller(caller: HubReader | undefined): void {
    this.#caller = caller;
    this.#resume();
  }

  /** Adds events that are written. */
  publish(events: readonly RunEvent[]): void {
    this.#events.push(...events);
    this.#trim();
    this.#wakeAll();
  }

  close(end: HubEnd): void {
    this.#end ??= end;
    this.#resume();
    this.#wakeAll();
  }

  /** The events after a sequence number. Undefined if some are not kept any more. */
  eventsAfter(sequence: number): readonly RunEvent[] | undefined {
    if (sequence + 1 < this.#first) return undefined;
    return this.#events.slice(sequence + 1 - this.#first);
  }

  noteRead(reader: HubReader): void {
    if (reader === this.#caller && reader.cursor >= this.last) this.#resume();
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

  /** Drops events that the caller has read, in batches so that the cost per event is small. */
  #trim(): void {
    if (this.#events.length < 2 * KEPT_EVENTS) return;
    const read = (this.#caller?.cursor ?? Infinity) + 1 - this.#first;
    const surplus = Math.min(this.#events.length - KEPT_EVENTS, read);
    if (surplus <= 0) return;
    this.#events = this.#events.slice(surplus);
    this.#first += surplus;
  }
}
