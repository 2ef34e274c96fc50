import { getHeapStatistics } from "node:v8";
import { invalidField, RateLimitError } from "../core/errors.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import { abortErrorOf } from "../kit/http/abort.ts";

/** Share of the heap for stored conversations: each is in memory several times while it is translated and sent. */
const HEAP_SHARE = 1 / 8;

/** No more than that is needed on a machine with a lot of memory. */
const MAX_BYTES = 1024 * 1024 * 1024;

/** Runs in the background begin to read while at least that much is free; how large they are is known afterwards. */
const FREE_SHARE = 1 / 2;

/** Memory of an object or a list without its texts, about, in bytes. */
const ELEMENT_BYTES = 64;

/**
 * The memory of the stored conversations that runs under way send to their models. A small request can continue a large
 * conversation, so that the limit on the memory of requests does not help.
 */
export class HistoryMemory {
  readonly #maxBytes: number;
  #usedBytes = 0;
  /** Runs in the background that wait for memory, the first one first. */
  readonly #waiting = new Set<() => void>();

  constructor(heapBytes: number = getHeapStatistics().heap_size_limit) {
    this.#maxBytes = Math.min(Math.floor(heapBytes * HEAP_SHARE), MAX_BYTES);
  }

  /** Begins a run that does not wait. */
  begin(): HistoryShare {
    return new HistoryShare(this, 0);
  }

  /** Begins a run when there is memory. @throws SDKError of the signal's reason where it is aborted first. */
  async wait(signal: AbortSignal): Promise<HistoryShare> {
    const reserved = this.#maxBytes * FREE_SHARE;
    while (this.#usedBytes + reserved > this.#maxBytes) await this.#release(signal);
    this.change(0, reserved);
    return new HistoryShare(this, reserved);
  }

  /**
   * Throws where a conversation never fits, or does not fit beside others at this moment.
   * @param field What names the conversation in the request.
   * @param isAlone Whether others do not matter.
   * @throws InvalidRequestError; RateLimitError.
   */
  check(bytes: number, field: string, isAlone: boolean): void {
    const max = this.#maxBytes;
    if (bytes > max)
      throw invalidField(
        field,
        `the conversation has ${bytes} bytes, expected at most ${max} at this sidecar`,
      );
    if (isAlone || this.#usedBytes + bytes <= max) return;
    const message = `the stored conversations of the runs under way take more than ${max} bytes of memory`;
    throw new RateLimitError(message, { retryAfter: 1 });
  }

  /** Changes what a run uses. */
  change(fromBytes: number, toBytes: number): void {
    this.#usedBytes += toBytes - fromBytes;
    if (toBytes >= fromBytes) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves when some memory is given back. */
  #release(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(abortErrorOf(signal));
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#waiting.delete(wake);
        reject(abortErrorOf(signal));
      };
      const wake = () => {
        signal.removeEventListener("abort", abort);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}

/** What the conversation of one run uses, until `release`. */
export class HistoryShare {
  readonly #memory: HistoryMemory;
  #bytes: number;

  constructor(memory: HistoryMemory, reservedBytes: number) {
    this.#memory = memory;
    this.#bytes = reservedBytes;
  }

  /** Checks a conversation that a run in the background will read later. @throws InvalidRequestError */
  check(messages: readonly Message[], field: string): void {
    this.#memory.check(memoryOf(messages), field, true);
  }

  /** Takes memory for a conversation. @throws InvalidRequestError, RateLimitError where it does not fit. */
  take(messages: readonly Message[], field: string): void {
    const bytes = memoryOf(messages);
    this.#memory.check(bytes, field, false);
    this.#set(bytes);
  }

  /** Takes memory for a conversation that was let in before, in place of what was reserved. */
  settle(messages: readonly Message[]): void {
    this.#set(memoryOf(messages));
  }

  /** Gives everything back. Can be called again. */
  release(): void {
    if (this.#bytes > 0) this.#set(0);
  }

  #set(bytes: number): void {
    this.#memory.change(this.#bytes, bytes);
    this.#bytes = bytes;
  }
}

/** Bytes of the texts and media of messages, and a little for each of their elements. */
export function memoryOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null) return 0;
  let bytes = ELEMENT_BYTES;
  for (const member of Object.values(value)) bytes += memoryOf(member);
  return bytes;
}
