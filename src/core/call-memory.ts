import type { MemoryAccount } from "./memory-account.ts";
import type { MemoryShare } from "./memory-pool.ts";

/** The memory that one call takes from the account, apart from its request. */
export class CallMemory {
  readonly #account: MemoryAccount;
  readonly #owner: string;
  /** Opened on first use. */
  #answers: MemoryShare | undefined;
  #runAnswers: MemoryShare | undefined;
  #reads: MemoryShare | undefined;
  #hasEnded = false;

  /** @param owner Name of the caller's access key; empty if there is none. */
  constructor(account: MemoryAccount, owner: string) {
    this.#account = account;
    this.#owner = owner;
  }

  /** The answers of the providers that the call reaches. */
  get answers(): MemoryShare {
    this.#answers ??= this.#open(this.#account.openAnswers(this.#owner, false));
    return this.#answers;
  }

  /** The same for a call that starts a run. */
  get runAnswers(): MemoryShare {
    this.#runAnswers ??= this.#open(this.#account.openAnswers(this.#owner, true));
    return this.#runAnswers;
  }

  /** The data that the call reads from the store of runs. */
  get reads(): MemoryShare {
    this.#reads ??= this.#open(this.#account.openReads(this.#owner));
    return this.#reads;
  }

  /** Keeps only the bytes of the encoded response: nothing else of the call is left in memory. */
  shrink(bytes: number): void {
    this.#answers?.shrink(bytes);
    this.#runAnswers?.shrink(bytes);
    this.#reads?.shrink(bytes);
  }

  /** Gives everything back after the response of the call was sent. */
  end(): void {
    this.#hasEnded = true;
    this.#answers?.end();
    this.#runAnswers?.end();
    this.#reads?.end();
  }

  /** A share that is opened after the end takes nothing. */
  #open(share: MemoryShare): MemoryShare {
    if (this.#hasEnded) share.end();
    return share;
  }
}
