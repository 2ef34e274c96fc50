/**
 * A stream in batches: each holds the items that became ready together, so that they can travel in one write. No batch
 * is empty. Read once, by one reader.
 */
export type Batches<T> = AsyncIterable<readonly T[]>;

/** A stream that can be read item by item, or by its batches: one of the two, once. */
export interface Batched<T> extends AsyncIterable<T> {
  /** The items as they became ready. */
  batches(): Batches<T>;
}

/** The batches of a stream. Each item is a batch of its own where the source does not know better. */
export function batchesOf<T>(items: AsyncIterable<T> | Batched<T>): Batches<T> {
  return "batches" in items ? items.batches() : batchesOfOne(items);
}

async function* batchesOfOne<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  for await (const item of items) yield [item];
}

/** A stream that is made of batches. */
export class BatchStream<T> implements Batched<T> {
  #batches: Batches<T> | undefined;

  constructor(batches: Batches<T>) {
    this.#batches = batches;
  }

  /** @throws TypeError where the stream has been read already. */
  batches(): Batches<T> {
    const batches = this.#batches;
    if (batches === undefined)
      throw new TypeError("this stream has been read already; a stream can be read once");
    this.#batches = undefined;
    return batches;
  }

  /** One item at a time. Leaving the loop closes the source. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const batch of this.batches()) yield* batch;
  }
}

/**
 * Batches that are opened when the first one is asked for: a stream that is abandoned before its start costs nothing.
 * Opened once, however often it is iterated. From the second batch on a read goes straight to the source.
 */
export function lazyBatches<T>(open: () => Promise<Batches<T>> | Batches<T>): Batches<T> {
  const iterator = new LazyIterator(open);
  return { [Symbol.asyncIterator]: () => iterator };
}

/** A stream under way that hands each read on to another one, from some time on. */
export interface ForwardingStream<T> extends AsyncIterator<readonly T[]> {
  /** Where reads go from now on; undefined where they do not yet. */
  readonly forwardsTo: AsyncIterator<readonly T[]> | undefined;
}

class LazyIterator<T> implements ForwardingStream<T> {
  readonly #open: () => Promise<Batches<T>> | Batches<T>;
  #opening: Promise<AsyncIterator<readonly T[]>> | undefined;
  #source: AsyncIterator<readonly T[]> | undefined;
  #closed = false;

  constructor(open: () => Promise<Batches<T>> | Batches<T>) {
    this.#open = open;
  }

  get forwardsTo(): AsyncIterator<readonly T[]> | undefined {
    return this.#source;
  }

  next(): Promise<IteratorResult<readonly T[]>> {
    if (this.#source !== undefined) return this.#source.next();
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    this.#opening ??= this.#begin();
    return this.#opening.then((source) => source.next());
  }

  async return(): Promise<IteratorResult<readonly T[]>> {
    this.#closed = true;
    const source = this.#source ?? (await this.#opening?.catch(() => undefined));
    await source?.return?.();
    return { done: true, value: undefined };
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
