import type { MemoryShare } from "../../core/memory-pool.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { SocketMessage } from "../../http/endpoint.ts";
import { countJsonElements, isArgumentsKey } from "../requests/json-element-counter.ts";
import { toRefusalError } from "../requests/refusals.ts";
import type { CallMemory } from "../requests/request-memory.ts";

/** Options of a message. */
export interface ReceivedMessageOptions {
  readonly content: Buffer;
  /** Bytes of the socket's share that it uses. */
  readonly bytes: number;
  /** The share of the request memory that the messages of the socket use. */
  readonly share: CallMemory;
  /** Memory for the effects of the message: responses, and data that is read from the store. */
  readonly memory: CallMemory;
  readonly signal: AbortSignal;
  /** Maximum number of JSON values. */
  readonly maxElements: number;
  /** Counts a request of the caller. Throws SDKError if it is over a limit, or rejects if sidecars count together. */
  readonly admit: () => Promise<void> | undefined;
  /** Calls the models within some memory. */
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
    // The message may be refused for another reason before this one is known.
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
