/** Maximum number of lanes of one WebSocket that are answered concurrently (OpenAI's guide "WebSocket mode"). */
const MAX_CONCURRENT = 16;

/** Orders the requests of a WebSocket: requests of one lane are answered in order, lanes concurrently. */
export class LaneQueue {
  /** The latest answer of each lane that has any. */
  readonly #latest = new Map<string | undefined, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  readonly #onFailure: (thrown: unknown) => void;
  #running = 0;

  /** @param onFailure Called if an answer rejects. */
  constructor(onFailure: (thrown: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Answers a request of a lane when it is its turn. */
  add(lane: string | undefined, answer: () => Promise<void>): void {
    const before = this.#latest.get(lane);
    const answered = this.#run(before, answer).catch(this.#onFailure);
    this.#latest.set(lane, answered);
    void answered.then(() => {
      if (this.#latest.get(lane) === answered) this.#latest.delete(lane);
    });
  }

  /** Resolves when all requests have been answered. */
  async drain(): Promise<void> {
    await Promise.all(this.#latest.values());
  }

  async #run(before: Promise<void> | undefined, answer: () => Promise<void>): Promise<void> {
    await before;
    if (this.#running >= MAX_CONCURRENT) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      await answer();
    } finally {
      // The next request takes this slot.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
