/** A response whose peer may be slow to read. */
export interface UnsentResponse {
  /** Ends the response at once: its peer does not read, and others need the memory. */
  cutOff(): void;
}

/** Smaller writes are not counted: a call has one at most, and the number of calls is limited. */
const MIN_BYTES = 16 * 1024;

/**
 * The bytes of responses that wait for their readers, in the whole process. Each response has one write under way at
 * most, so what is counted is how large the writes are. Where they are too many, the response that has waited longest is
 * cut off: that of a peer that reads is never the oldest for long.
 */
export class UnsentResponses {
  readonly #maxBytes: number;
  /** By age, oldest first. */
  readonly #waiting = new Map<UnsentResponse, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that wait, in writes that are counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A response waits from now on until that many bytes have left. */
  add(response: UnsentResponse, bytes: number): void {
    if (bytes < MIN_BYTES) return;
    this.#waiting.set(response, bytes);
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#cutOff();
  }

  /** The bytes of a response have left, or never will. */
  remove(response: UnsentResponse): void {
    if (this.#waiting.size === 0) return;
    const bytes = this.#waiting.get(response);
    if (bytes === undefined) return;
    this.#waiting.delete(response);
    this.#bytes -= bytes;
  }

  #cutOff(): void {
    for (const response of this.#waiting.keys()) {
      // The newest one, which may be larger than all that is allowed, has not had a chance to be read.
      if (this.#bytes <= this.#maxBytes || this.#waiting.size === 1) return;
      this.remove(response);
      response.cutOff();
    }
  }
}
