/** The items of a stream, one at a time. */
export interface ItemIterator<Item> extends AsyncIterableIterator<Item>, AsyncDisposable {
  /** Closes the stream at once, also while a read is pending; such reads end. */
  return(value?: unknown): Promise<IteratorResult<Item>>;
}

/**
 * Reads a stream item by item.
 *
 * Not an async generator: a generator queues `return()` behind a read that is pending, so that a stream whose provider
 * is silent could not be closed. Here `return()` closes the source at once and ends pending reads. An item that has
 * already arrived costs one resolved promise.
 */
export class ItemReader<Item, Batch> implements ItemIterator<Item> {
  readonly #open: () => AsyncIterator<Batch>;
  readonly #toItems: (batch: Batch) => readonly Item[];
  #source: AsyncIterator<Batch> | undefined;
  #items: readonly Item[] = [];
  #index = 0;
  #waiters: PromiseWithResolvers<IteratorResult<Item>>[] = [];
  #isOver = false;
  /** Thrown by the next read. */
  #failure: { readonly thrown: unknown } | undefined;

  /**
   * @param open Opens the source at the first read, which also throws its errors.
   * @param toItems Returns the items of a batch, possibly none.
   */
  constructor(open: () => AsyncIterator<Batch>, toItems: (batch: Batch) => readonly Item[]) {
    this.#open = open;
    this.#toItems = toItems;
  }

  /** Returns the next item. Several reads may be pending; they are answered in order. */
  next(): Promise<IteratorResult<Item>> {
    const index = this.#index;
    if (index < this.#items.length) {
      this.#index = index + 1;
      return Promise.resolve({ done: false, value: this.#items[index] as Item });
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) return Promise.reject(failure.thrown);
    if (this.#isOver) return Promise.resolve(createDone());
    const waiter = Promise.withResolvers<IteratorResult<Item>>();
    if (this.#waiters.push(waiter) === 1) this.#read();
    return waiter.promise;
  }

  async return(_value?: unknown): Promise<IteratorResult<Item>> {
    this.#end();
    await this.#source?.return?.();
    return createDone();
  }

  /** Makes a pending read, or else the next one, throw. The caller closes the source. Has no effect after the end. */
  fail(thrown: unknown): void {
    if (this.#isOver) return;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#failure = { thrown };
    else waiter.reject(thrown);
    this.#end();
  }

  /** For `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #read(): void {
    try {
      this.#source ??= this.#open();
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    this.#source.next().then(this.#onResult, this.#onFailure);
  }

  readonly #onResult = (result: IteratorResult<Batch>): void => {
    if (this.#isOver) return;
    if (result.done === true) return this.#end();
    this.#items = this.#toItems(result.value);
    this.#index = 0;
    while (this.#waiters.length > 0 && this.#index < this.#items.length) {
      const value = this.#items[this.#index] as Item;
      this.#index += 1;
      this.#waiters.shift()?.resolve({ done: false, value });
    }
    if (this.#waiters.length > 0) this.#read();
  };

  readonly #onFailure = (thrown: unknown): void => this.fail(thrown);

  #end(): void {
    this.#isOver = true;
    this.#items = [];
    this.#index = 0;
    for (const waiter of this.#waiters) waiter.resolve(createDone());
    this.#waiters = [];
  }
}

function createDone(): IteratorReturnResult<undefined> {
  return { done: true, value: undefined };
}

/**
 * Iterates a generator so that `return()` does not wait behind a pending read.
 * @param abort Ends the pending read. Called before the generator is asked to return.
 */
export function closeAtOnce<Item, Result>(
  items: AsyncGenerator<Item, Result>,
  abort: () => void,
): AsyncGenerator<Item, Result> {
  const close = items.return.bind(items);
  items.return = (value) => {
    abort();
    return close(value);
  };
  return items;
}
