/** Queues the items to send over a stream of requests, as they become known. For one reader. */
export class OutputQueue<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  /** Adds an item. Without effect after the end. */
  push(item: Item): void {
    if (this.#isEnded) return;
    this.#items.push(item);
    this.#wake.resolve();
  }

  /** Ends the stream after the items that were added. */
  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (;;) {
      for (let item = this.#items.shift(); item !== undefined; item = this.#items.shift()) yield item;
      if (this.#isEnded) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
