/** Maximum number of items that are kept for a loop that begins later. */
const MAX_KEPT = 65_536;

type Read<T> = Promise<IteratorResult<readonly T[]>>;

/**
 * Reads a source to its end for a program that asks for the outcome first, and keeps the items: a loop that begins
 * later takes over from the first batch.
 */
export class Drain<T> implements AsyncIterator<readonly T[]> {
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
        "this stream has been read already, for its result; begin the loop before more than " +
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
