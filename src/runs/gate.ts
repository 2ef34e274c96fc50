import type { MemoryAccount } from "../core/memory-account.ts";
import { toAbortError } from "../kit/http/abort.ts";
import { RunLimitError } from "./errors.ts";

/** A limit on concurrent work of one kind, of which one owner may have a share if several owners use the process. */
export class Gate {
  readonly #limit: string;
  readonly #max: number;
  readonly #what: string;
  readonly #shares: Pick<MemoryAccount, "getOwnerLimit">;
  readonly #usedByOwner = new Map<string, number>();
  #used = 0;
  /** Waiters, in order of arrival. */
  readonly #waiting = new Set<() => void>();

  /**
   * @param limit Name of the limit in the configuration.
   * @param what What is limited, for errors: `runs in the foreground`.
   * @param shares How much of a limit one owner may take.
   */
  constructor(limit: string, max: number, what: string, shares: Pick<MemoryAccount, "getOwnerLimit">) {
    this.#limit = limit;
    this.#max = max;
    this.#what = what;
    this.#shares = shares;
  }

  get free(): number {
    return this.#max - this.#used;
  }

  get fullOwners(): readonly string[] {
    return [...this.#usedByOwner.keys()].filter((owner) => this.#isFull(owner));
  }

  /** Takes a place for an owner, which `leave` gives back. @throws RunLimitError if there is none. */
  enter(owner: string): void {
    if (this.#used >= this.#max) throw new RunLimitError(this.#limit, this.#max, this.#what);
    if (!this.claim(owner)) {
      const max = this.#shares.getOwnerLimit(this.#max, owner);
      throw new RunLimitError(this.#limit, max, `${this.#what} of one access key`);
    }
    this.#used += 1;
  }

  /** Assigns a place, which is taken or about to be, to an owner. Returns false if the owner has its share already. */
  claim(owner: string): boolean {
    if (owner === "") return true;
    if (this.#isFull(owner)) return false;
    this.#usedByOwner.set(owner, (this.#usedByOwner.get(owner) ?? 0) + 1);
    return true;
  }

  /** Waits for a place. @throws SDKError of the signal's reason if it is aborted first. */
  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw toAbortError(signal);
    if (this.#used < this.#max) {
      this.#used += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#waiting.delete(resolve);
      reject(toAbortError(signal));
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Gives a place back: to the first that waits. @param owner Whose place it was; empty if nobody has claimed it. */
  leave(owner: string): void {
    this.#unclaim(owner);
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#used -= 1;
      return;
    }
    this.#waiting.delete(first);
    first();
  }

  #isFull(owner: string): boolean {
    return (this.#usedByOwner.get(owner) ?? 0) >= this.#shares.getOwnerLimit(this.#max, owner);
  }

  #unclaim(owner: string): void {
    const used = (this.#usedByOwner.get(owner) ?? 0) - 1;
    if (used > 0) this.#usedByOwner.set(owner, used);
    else this.#usedByOwner.delete(owner);
  }
}
