import { AbortError } from "../core/errors.ts";

/**
 * Reads a loop once, in batches for a stream, and keeps the result. Not a generator: a batch costs one promise and no
 * closure.
 */
export abstract class LoopReader<Item, Outcome, Output, Result> implements AsyncIterator<readonly Output[]> {
  readonly #open: () => AsyncIterator<Item, Outcome>;
  readonly #result = Promise.withResolvers<Result>();
  #loop: AsyncIterator<Item, Outcome> | undefined;
  #isRead = false;
  #isOver = false;
  #closing: Promise<unknown> | undefined;

  /** @param open Begins the generation. Called at the first read. */
  constructor(open: () => AsyncIterator<Item, Outcome>) {
    this.#open = open;
    // A program that does not ask for the result gets the failure from the iteration.
    this.#result.promise.catch(() => {});
  }

  /** Returns the batch of an item; undefined if the item is not shown. */
  protected abstract toBatch(item: Item): readonly Output[] | undefined;

  /** Returns the result. May throw, which fails the stream. */
  protected abstract toResult(outcome: Outcome): Result;

  /** Whether anything was read. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** The result, after the end. Rejects with the failure. */
  get result(): Promise<Result> {
    return this.#result.promise;
  }

  next(): Promise<IteratorResult<readonly Output[]>> {
    this.#isRead = true;
    if (this.#isOver) return Promise.resolve(DONE);
    try {
      this.#loop ??= this.#open();
    } catch (thrown) {
      return Promise.reject(this.#fail(thrown));
    }
    return this.#loop.next().then(this.#onItem, this.#onFailure);
  }

  async return(): Promise<IteratorResult<readonly Output[]>> {
    this.cancel(new AbortError("the stream was closed before its end"));
    await this.#closing;
    return DONE;
  }

  /** Ends the generation. A pending read rejects. */
  cancel(reason: unknown): void {
    if (this.#isOver) return;
    this.#fail(reason);
    this.#closing = this.#loop?.return?.();
    // Failures surface through the pending read.
    this.#closing?.catch(() => {});
  }

  readonly #onItem = (
    next: IteratorResult<Item, Outcome>,
  ): IteratorResult<readonly Output[]> | Promise<IteratorResult<readonly Output[]>> => {
    if (next.done === true) return this.#end(next.value);
    const batch = this.toBatch(next.value);
    return batch === undefined ? this.next() : { done: false, value: batch };
  };

  #end(outcome: Outcome): IteratorReturnResult<undefined> {
    try {
      this.#result.resolve(this.toResult(outcome));
    } catch (thrown) {
      throw this.#fail(thrown);
    }
    this.#isOver = true;
    return DONE;
  }

  readonly #onFailure = (thrown: unknown): never => {
    throw this.#fail(thrown);
  };

  #fail(thrown: unknown): unknown {
    this.#isOver = true;
    this.#result.reject(thrown);
    return thrown;
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
