import type { MemoryAccount } from "./memory-account.ts";
import type { MemoryShare } from "./memory-pool.ts";

/** The memory that one call takes from the account, apart from its request. */
export class CallMemory {
  readonly #account: MemoryAccount;
  readonly #owner: string;
  #shares: Partial<Record<"answers" | "runAnswers" | "reads", MemoryShare>> = {};
  #hasEnded = false;

  /** @param owner Name of the caller's access key; empty if there is none. */
  constructor(account: MemoryAccount, owner: string) {
    this.#account = account;
    this.#owner = owner;
  }

  /** The answers of the providers that the call reaches. */
  get answers(): MemoryShare {
    return this.#open("answers", () => this.#account.openAnswers(this.#owner, false));
  }

  /** The same for a call that starts a run. */
  get runAnswers(): MemoryShare {
    return this.#open("runAnswers", () => this.#account.openAnswers(this.#owner, true));
  }

  /** The data that the call reads from the store of runs. */
  get reads(): MemoryShare {
    return this.#open("reads", () => this.#account.openReads(this.#owner));
  }

  /** Keeps only the bytes of the encoded response: nothing else of the call is left in memory. */
  shrink(bytes: number): void {
    for (const share of Object.values(this.#shares)) share.shrink(bytes);
  }

  /** Gives everything back after the response of the call was sent. */
  end(): void {
    this.#hasEnded = true;
    for (const share of Object.values(this.#shares)) share.end();
  }

  #open(use: "answers" | "runAnswers" | "reads", open: () => MemoryShare): MemoryShare {
    const share = this.#shares[use] ?? open();
    this.#shares[use] = share;
    if (this.#hasEnded) share.end();
    return share;
  }
}
