import type { MemoryShare } from "../../core/memory-pool.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { SocketMessage } from "../../http/endpoint.ts";
import { countJsonElements, isArgumentsKey } from "../requests/json-element-counter.ts";
import { toRefusalError } from "../requests/refusals.ts";
import type { CallMemory } from "../requests/request-memory.ts";

/** Options of a message. */
export interface ReceivedMessageOptions {
  readonly content: Buffer;
  /** Bytes of `share` that the message uses. */
  readonly bytes: number;
  /** The part of the request memory that the messages of the socket share. */
  readonly share: CallMemory;
  /** Memory for the responses to the message, and for data that is read from the store to answer it. */
  readonly memory: CallMemory;
  readonly signal: AbortSignal;
  /** Maximum number of JSON values. */
  readonly maxElements: number;
  /**
   * Counts a request of the caller. If it exceeds a limit, throws an SDKError, or rejects with one if sidecars count
   * together.
   */
  readonly admit: () => Promise<void> | undefined;
  /** Creates a client of the models whose answers use some memory. */
  readonly createClient: (memory: MemoryShare) => ModelClient;
  /** Called once when the message has been answered. */
  readonly onRelease: () => void;
}

/** A message of a WebSocket that has arrived. */
export class ReceivedMessage implements SocketMessage {
  readonly content: Uint8Array;
  readonly #options: ReceivedMessageOptions;
  #bytes: number;
  #isReleased = false;

  constructor(options: ReceivedMessageOptions) {
    const { content, bytes } = options;
    this.content = content;
    this.#options = options;
    this.#bytes = bytes;
  }

  get client(): ModelClient {
    const { createClient, memory } = this.#options;
    return createClient(memory.runAnswers);
  }

  readStored<Value>(read: () => Promise<Value>): Promise<Value> {
    const { memory, signal } = this.#options;
    return memory.reads.read(read, signal);
  }

  admit(): Promise<void> | undefined {
    const { share, maxElements, admit } = this.#options;
    const admission = admit();
    // If the message is refused below, nothing awaits the admission.
    admission?.catch(() => {});
    try {
      this.#bytes += share.takeElements(countJsonElements(this.content, maxElements, isArgumentsKey));
    } catch (thrown) {
      throw toRefusalError(thrown);
    }
    return admission;
  }

  reserve(bytes: number): void {
    try {
      this.#options.share.take(bytes);
      this.#bytes += bytes;
    } catch (thrown) {
      throw toRefusalError(thrown);
    }
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const { share, memory, onRelease } = this.#options;
    share.give(this.#bytes);
    memory.release();
    onRelease();
  }
}
