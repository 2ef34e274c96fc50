import type { CallOptions } from "../../core/adapter.ts";

/**
 * The memory of one answer, which grows with the answer. It belongs to the call, and is given back early if the answer
 * fails.
 */
export class AnswerMemory {
  readonly #options: Pick<CallOptions, "memory" | "signal">;
  #bytes = 0;

  constructor(options: Pick<CallOptions, "memory" | "signal">) {
    this.#options = options;
  }

  /**
   * Takes memory so that the answer has that many bytes. Returns a promise only if it has to wait.
   * @throws RateLimitError, at once or by the promise.
   */
  grow(bytes: number): Promise<void> | undefined {
    const { memory, signal } = this.#options;
    const more = bytes - this.#bytes;
    if (memory === undefined || more <= 0) return undefined;
    const waiting = memory.reserve(more, signal);
    if (waiting !== undefined) return waiting.then(() => this.#note(bytes));
    return this.#note(bytes);
  }

  /** Gives the memory back, for an answer that nobody gets. */
  release(): void {
    this.#options.memory?.give(this.#bytes);
    this.#bytes = 0;
  }

  #note(bytes: number): undefined {
    this.#bytes = bytes;
  }
}
