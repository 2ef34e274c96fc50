import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";

type Batch = readonly StreamEvent[];

/**
 * Batches that are opened when the first one is asked for: a stream that is abandoned before
 * its start costs nothing. Opened once, however often it is iterated. From the second batch on
 * a read goes straight to the source.
 * @param announce Whether an empty batch comes first, as soon as the source is open: the
 *   provider has accepted the request, and the caller may have his headers.
 */
export function lazyBatches(
  open: () => Promise<AsyncIterable<Batch>>,
  { announce = false } = {},
): AsyncIterable<Batch> {
  const iterator = new LazyIterator(open, announce);
  return { [Symbol.asyncIterator]: () => iterator };
}

const OPENED: IteratorResult<Batch> = { done: false, value: [] };

class LazyIterator implements AsyncIterator<Batch> {
  readonly #open: () => Promise<AsyncIterable<Batch>>;
  readonly #announce: boolean;
  #opening: Promise<AsyncIterator<Batch>> | undefined;
  #source: AsyncIterator<Batch> | undefined;
  #closed = false;

  constructor(open: () => Promise<AsyncIterable<Batch>>, announce: boolean) {
    this.#open = open;
    this.#announce = announce;
  }

  next(): Promise<IteratorResult<Batch>> {
    if (this.#source !== undefined) return this.#source.next();
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    this.#opening ??= this.#begin();
    return this.#opening.then((source) => (this.#announce ? OPENED : source.next()));
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#closed = true;
    const source = this.#source ?? (await this.#opening?.catch(() => undefined));
    await source?.return?.();
    return { done: true, value: undefined };
  }

  async #begin(): Promise<AsyncIterator<Batch>> {
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
