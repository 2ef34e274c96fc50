import { AbortError } from "./errors.ts";
import { type ItemIterator, ItemReader } from "./item-iterator.ts";

/**
 * A stream in batches: each holds the items that became ready together, so that they can travel in one write. No batch
 * is empty. Read once, by one reader.
 */
export type Batches<T> = AsyncIterable<readonly T[]>;

/** A stream that can be read either item by item or by its batches, once. */
export interface Batched<T> extends AsyncIterable<T> {
  /** Returns the items in the batches in which they became ready. */
  batches(): Batches<T>;
}

/** Returns the batches of a stream. If the source has no batches, each item becomes a batch. */
export function toBatches<T>(items: AsyncIterable<T> | Batched<T>): Batches<T> {
  return "batches" in items ? items.batches() : mapBatches(items, (item) => [item]);
}

/** Changes each batch of a stream. Closing the result closes the source at once. */
export function mapBatches<From, To>(
  batches: AsyncIterable<From>,
  change: (batch: From) => readonly To[],
): Batches<To> {
  return {
    [Symbol.asyncIterator]() {
      const source = batches[Symbol.asyncIterator]();
      const toResult = (result: IteratorResult<From>): IteratorResult<readonly To[]> =>
        result.done === true ? DONE : { done: false, value: change(result.value) };
      return {
        next: () => source.next().then(toResult),
        return: async () => {
          await source.return?.();
          return DONE;
        },
      };
    },
  };
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** A stream that is made of batches. */
export class BatchStream<T> implements Batched<T> {
  #source: Batches<T>;
  readonly #abort: ((reason: unknown) => void) | undefined;
  #isClaimed = false;
  #drain: Drain<T> | undefined;
  #opened: AsyncIterator<readonly T[]> | undefined;
  #reader: Pick<ItemReader<unknown, unknown>, "fail"> | undefined;

  /**
   * @param abort Ends the source; a pending read of the source rejects with the reason.
   */
  constructor(batches: Batches<T>, abort?: (reason: unknown) => void) {
    this.#source = batches;
    this.#abort = abort;
  }

  /** @throws TypeError if the stream has been read already. */
  batches(): Batches<T> {
    const drain = this.#drain?.takeOver();
    this.#drain = undefined;
    if (drain !== undefined) return { [Symbol.asyncIterator]: () => drain };
    if (this.#isClaimed)
      throw new TypeError("this stream has already been read; a stream can be read only once");
    this.#isClaimed = true;
    return this.#source;
  }

  /** One item at a time. Leaving the loop closes the source, also while it waits for the next item. */
  [Symbol.asyncIterator](): ItemIterator<T> {
    return this.readItems((batch) => batch);
  }

  /**
   * Ends the stream at once: pending and later reads throw AbortError. Has no effect after the end.
   */
  cancel(): void {
    const reason = new AbortError("the stream was cancelled");
    this.#reader?.fail(reason);
    this.#abort?.(reason);
    const isReadByBatches = this.#isClaimed && this.#opened === undefined;
    if (isReadByBatches && this.#abort !== undefined) return;
    const source = this.#opened ?? this.#source[Symbol.asyncIterator]();
    if (!this.#isClaimed) this.#source = failingBatches(reason);
    // Failures surface through the reads.
    source.return?.().then(undefined, () => {});
  }

  /** Reads the items that `toItems` makes of each batch. The first read claims the stream. */
  protected readItems<Item>(toItems: (batch: readonly T[]) => readonly Item[]): ItemIterator<Item> {
    const open = () => {
      this.#opened = this.open();
      this.#reader = reader;
      return this.#opened;
    };
    const reader = new ItemReader<Item, readonly T[]>(open, toItems);
    return reader;
  }

  /** Claims the stream for reading it item by item. */
  protected open(): AsyncIterator<readonly T[]> {
    return this.batches()[Symbol.asyncIterator]();
  }

  /** Reads the stream to its end, only for its outcome. A loop that begins later still gets all items. */
  protected drain(): void {
    this.#opened = this.open();
    this.#drain = new Drain(this.#opened);
    this.#drain.run();
  }
}

function failingBatches(reason: unknown): Batches<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) };
}

/**
 * Opens batches when the first one is requested, so that a stream that is abandoned before its start costs nothing.
 * Opened once, however often it is iterated. From the second batch on, a read goes straight to the source.
 * @param abort Called when the batches are closed before or after they were opened. It should end a pending read and a
 *   pending `open`, since closing waits for both.
 */
export function lazyBatches<T>(
  open: () => Promise<Batches<T>> | Batches<T>,
  abort: () => void = () => {},
): Batches<T> {
  return new LazyIterator(open, abort);
}

/** A running stream that, from some point on, forwards each read to another stream. */
export interface ForwardingStream<T> extends AsyncIterator<readonly T[]> {
  /** The stream that reads are forwarded to; undefined while they are not. */
  readonly forwardsTo: AsyncIterator<readonly T[]> | undefined;
}

class LazyIterator<T> implements ForwardingStream<T>, Batches<T> {
  readonly #open: () => Promise<Batches<T>> | Batches<T>;
  readonly #abort: () => void;
  #opening: Promise<AsyncIterator<readonly T[]>> | undefined;
  #source: AsyncIterator<readonly T[]> | undefined;
  #closed = false;

  constructor(open: () => Promise<Batches<T>> | Batches<T>, abort: () => void) {
    this.#open = open;
    this.#abort = abort;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get forwardsTo(): AsyncIterator<readonly T[]> | undefined {
    return this.#source;
  }

  next(): Promise<IteratorResult<readonly T[]>> {
    if (this.#source !== undefined) return this.#source.next();
    if (this.#closed) return Promise.resolve(DONE);
    this.#opening ??= this.#begin();
    return this.#opening.then((source) => source.next());
  }

  async return(): Promise<IteratorResult<readonly T[]>> {
    this.#closed = true;
    this.#abort();
    const source = this.#source ?? (await this.#opening?.catch(() => undefined));
    await source?.return?.();
    return DONE;
  }

  async #begin(): Promise<AsyncIterator<readonly T[]>> {
    try {
      const batches = await this.#open();
      this.#source = batches[Symbol.asyncIterator]();
      return this.#source;
    } catch (error) {
      this.#closed = true;
      throw error;
    }
  }
}

/** Maximum number of items that are kept for a loop that begins later. */
const MAX_KEPT = 65_536;

type Read<T> = Promise<IteratorResult<readonly T[]>>;

/**
 * Reads a source to its end for a program that asks for the outcome first, and keeps the items: a loop that begins
 * later takes over from the first batch.
 */
class Drain<T> implements AsyncIterator<readonly T[]> {
  readonly #source: AsyncIterator<readonly T[]>;
  #kept: (readonly T[])[] | undefined = [];
  #count = 0;
  #next = 0;
  /** A read whose result is not kept yet, if one is pending. The last read stays. */
  #pending: Read<T> | undefined;
  #isTaken = false;

  constructor(source: AsyncIterator<readonly T[]>) {
    this.#source = source;
  }

  /** Reads until the end, a failure, or a loop that takes over. Failures surface through the outcome of the stream. */
  async run(): Promise<void> {
    try {
      while (!this.#isTaken) {
        this.#pending = this.#source.next();
        const result = await this.#pending;
        if (this.#isTaken || result.done === true) return;
        this.#pending = undefined;
        this.#keep(result.value);
      }
    } catch {}
  }

  /** Stops reading. @throws TypeError if more has been read than is kept. */
  takeOver(): this {
    if (this.#kept === undefined)
      throw new TypeError(
        "this stream has already been read for its result; begin the loop before more than " +
          `${MAX_KEPT} events have arrived`,
      );
    this.#isTaken = true;
    return this;
  }

  next(): Read<T> {
    const value = this.#kept?.[this.#next];
    if (value !== undefined) {
      this.#next += 1;
      return Promise.resolve({ done: false, value });
    }
    this.#kept = [];
    this.#next = 0;
    const pending = this.#pending;
    this.#pending = undefined;
    return pending ?? this.#source.next();
  }

  async return(): Promise<IteratorResult<readonly T[]>> {
    this.#kept = [];
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  #keep(batch: readonly T[]): void {
    this.#count += batch.length;
    if (this.#count > MAX_KEPT) this.#kept = undefined;
    this.#kept?.push(batch);
  }
}
