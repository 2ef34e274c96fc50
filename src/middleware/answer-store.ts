/** The limits of a store. */
export interface StoreLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly maxAgeMs: number;
}

/** An answer that is kept. */
export interface StoredAnswer {
  /** Encoded, so that callers cannot change each other's answers, and the size is known. */
  readonly bytes: Uint8Array;
  /** When it was stored, in milliseconds of the store's clock. */
  readonly storedAt: number;
}

/** Answers by keys. If there is no room, the least recently used one is removed. */
export class AnswerStore {
  readonly #limits: StoreLimits;
  readonly #now: () => number;
  readonly #answers = new Map<string, StoredAnswer>();
  #bytes = 0;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(limits: StoreLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Returns the answer of a key; undefined if none is recent enough. */
  get(key: string): StoredAnswer | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) return undefined;
    this.#delete(key, answer);
    if (this.#now() - answer.storedAt >= this.#limits.maxAgeMs) return undefined;
    this.#add(key, answer);
    return answer;
  }

  /** Keeps an answer, unless it is larger than the whole store. */
  set(key: string, bytes: Uint8Array): void {
    const former = this.#answers.get(key);
    if (former !== undefined) this.#delete(key, former);
    if (bytes.byteLength > this.#limits.maxBytes) return;
    this.#add(key, { bytes, storedAt: this.#now() });
    for (const [oldest, answer] of this.#answers) {
      if (this.#bytes <= this.#limits.maxBytes && this.#answers.size <= this.#limits.maxEntries) return;
      this.#delete(oldest, answer);
    }
  }

  #add(key: string, answer: StoredAnswer): void {
    this.#answers.set(key, answer);
    this.#bytes += answer.bytes.byteLength;
  }

  #delete(key: string, answer: StoredAnswer): void {
    this.#answers.delete(key);
    this.#bytes -= answer.bytes.byteLength;
  }
}
