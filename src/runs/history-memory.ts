import { invalidField } from "../core/errors.ts";
import { measureMemory } from "../core/measure-memory.ts";
import type { MemoryAccount } from "../core/memory-account.ts";
import type { MemoryPool, MemoryShare } from "../core/memory-pool.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import { untilAborted } from "../generation/loop/linked-signal.ts";

/**
 * Runs in the background begin to read while at most that much is used: the conversation of one of them, whose size is
 * known when it is read, may be as large as the whole limit.
 */
const BUSY_SHARE = 1 / 2;

/**
 * The memory of the stored conversations that runs under way send to their models. A small request can continue a large
 * conversation, so that the limit on the memory of requests does not help.
 */
export class HistoryMemory {
  readonly #pool: MemoryPool;
  readonly #account: MemoryAccount;
  /** Whether a run in the background reads its conversation. They do so one after the other. */
  #isReading = false;
  /** Resolved when a run has read its conversation, or has given memory back. */
  #change = Promise.withResolvers<void>();

  constructor(account: MemoryAccount) {
    this.#pool = account.histories;
    this.#account = account;
  }

  /** Opens a share for the answers of a run that no call waits for. */
  openAnswers(owner: string): MemoryShare {
    return this.#account.openAnswers(owner, true);
  }

  /** Begins a run that does not wait. */
  begin(owner: string): HistoryShare {
    return new HistoryShare(this, owner);
  }

  /**
   * Begins a run in the background: waits until no other one reads its conversation, and there is memory. Foreground runs
   * are refused nothing for its sake.
   * @throws SDKError of the signal's reason if it is aborted first.
   */
  async wait(signal: AbortSignal): Promise<HistoryShare> {
    while (this.#isReading || this.#pool.usedBytes > this.#pool.maxBytes * BUSY_SHARE)
      await untilAborted(this.#change.promise, signal);
    this.#isReading = true;
    return new HistoryShare(this, "", () => {
      this.#isReading = false;
      this.#wake();
    });
  }

  /**
   * Throws if a conversation never fits, or does not fit beside others at this moment.
   * @param field What names the conversation in the request.
   * @param heldBytes How much of it is taken already. Undefined: others do not matter.
   * @throws InvalidRequestError; RateLimitError.
   */
  check(bytes: number, field: string, owner: string, heldBytes: number | undefined): void {
    const max = this.#pool.maxBytes;
    if (bytes > max)
      throw invalidField(
        field,
        `the conversation has ${bytes} bytes, expected at most ${max} at this sidecar (limits.max_history_memory)`,
      );
    if (heldBytes !== undefined && !this.#pool.fits(bytes - heldBytes, owner))
      throw this.#pool.createRefusal();
  }

  change(bytes: number, owner: string): void {
    this.#pool.change(bytes, owner);
    if (bytes < 0) this.#wake();
  }

  /** Those that wait are woken in their order. */
  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** What the conversation of one run uses, until `release`. */
export class HistoryShare {
  readonly #memory: HistoryMemory;
  #owner: string;
  #answers: MemoryShare | undefined;
  #bytes = 0;
  #onRead: (() => void) | undefined;

  /** @param onRead Called once when the conversation is read, or is not going to be. */
  constructor(memory: HistoryMemory, owner: string, onRead?: () => void) {
    this.#memory = memory;
    this.#owner = owner;
    this.#onRead = onRead;
  }

  /** Memory for the answers of a run that no call waits for, until `release`. */
  openAnswers(owner: string): MemoryShare {
    this.#answers ??= this.#memory.openAnswers(owner);
    return this.#answers;
  }

  /** Checks a conversation that a run in the background will read later. @throws InvalidRequestError */
  check(messages: readonly Message[], field: string): void {
    this.#memory.check(measureMemory(messages), field, this.#owner, undefined);
  }

  /** Takes memory for a conversation. @throws InvalidRequestError, RateLimitError if it does not fit. */
  take(messages: readonly Message[], field: string): void {
    const bytes = measureMemory(messages);
    this.#memory.check(bytes, field, this.#owner, this.#bytes);
    this.#set(bytes);
  }

  /** Takes memory for a conversation that was let in before. */
  settle(messages: readonly Message[], owner = this.#owner): void {
    this.#set(0);
    this.#owner = owner;
    this.#set(measureMemory(messages));
    this.#endRead();
  }

  /** Gives everything back. Can be called again. */
  release(): void {
    this.#set(0);
    this.#answers?.end();
    this.#endRead();
  }

  #endRead(): void {
    const onRead = this.#onRead;
    this.#onRead = undefined;
    onRead?.();
  }

  #set(bytes: number): void {
    const more = bytes - this.#bytes;
    this.#bytes = bytes;
    if (more !== 0) this.#memory.change(more, this.#owner);
  }
}
