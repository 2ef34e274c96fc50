import { NetworkError, type SDKError, StreamError, toSdkError, withProgress } from "../../core/errors.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { SseDecoder, type SseEvent } from "./sse.ts";
import type { StreamWriter } from "./stream-writer.ts";

/**
 * Turns the events of one provider's stream into ours: synchronous, one instance per call,
 * no clock, no promise. Writes what it makes of them into a StreamWriter.
 */
export interface StreamDecoder {
  /** Takes one event. Throws what the provider reports as its failure, and StreamError on a violation of its protocol. */
  push(event: SseEvent): void;

  /**
   * Called once after the last byte, unless the stream has ended. May finish it; else it was cut.
   * @param stray Text that was no event, see `SseDecoder.stray`.
   */
  end(stray: string): void;
}

type Batch = readonly StreamEvent[];

/** The batches of one stream, for one reader who asks for one at a time. */
export type Batches = AsyncIterable<Batch> & Required<Pick<AsyncIterator<Batch>, "next" | "return">>;

/**
 * Runs a decoder over the bytes of an answer. What one read of the network brings is one batch.
 *
 * A failure before `stream_start` throws and is all there is. A later one is an `error` event
 * and is thrown after it. A stream that ends without the provider's end marker is a failure of
 * kind STREAM. Reading stops at the provider's end marker. A reader who leaves closes the body.
 * @param release Called when the end marker has come: nothing more of the body is needed.
 */
export function decodeStream(
  body: AsyncIterable<Uint8Array>,
  decoder: StreamDecoder,
  writer: StreamWriter,
  release: () => void = () => {},
): Batches {
  return new DecodedStream(body[Symbol.asyncIterator](), decoder, writer, release);
}

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

/** Not a generator: for every batch that would take several more turns of the microtask queue. */
class DecodedStream implements Batches {
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #decoder: StreamDecoder;
  readonly #writer: StreamWriter;
  readonly #release: () => void;
  readonly #sse: SseDecoder;
  #isOver = false;
  /** What is thrown after the `error` event. */
  #error: SDKError | undefined;

  constructor(
    body: AsyncIterator<Uint8Array>,
    decoder: StreamDecoder,
    writer: StreamWriter,
    release: () => void,
  ) {
    this.#body = body;
    this.#decoder = decoder;
    this.#writer = writer;
    this.#release = release;
    this.#sse = new SseDecoder((event) => {
      if (!writer.ended) decoder.push(event);
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Batch>> {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    while (!this.#isOver) {
      try {
        const { done, value: chunk } = await this.#body.next();
        if (this.#isOver) break;
        if (done) this.#end();
        else this.#sse.push(chunk);
      } catch (thrown) {
        return this.#isOver ? DONE : this.#fail(brokenStream(thrown));
      }
      if (this.#writer.ended) await this.#finish();
      const batch = this.#writer.take();
      if (batch.length > 0) return { done: false, value: batch };
    }
    return DONE;
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#error = undefined;
    await this.#close();
    return DONE;
  }

  /** Ends the stream after its last byte. Throws where the provider's end marker never came. */
  #end(): void {
    this.#sse.end();
    if (!this.#writer.ended) this.#decoder.end(this.#sse.stray);
    if (!this.#writer.ended) throw new StreamError("the provider's stream ended before its end marker");
  }

  #finish(): Promise<void> {
    this.#release();
    return this.#close();
  }

  /** What was written before the fault goes first, then the error, then the throw. */
  async #fail(failure: SDKError): Promise<IteratorResult<Batch>> {
    await this.#close();
    const writer = this.#writer;
    if (!writer.started) throw failure;
    const { outputStarted, usage } = writer;
    this.#error = withProgress(failure, { outputStarted, usage });
    writer.fail(this.#error);
    return { done: false, value: writer.take() };
  }

  async #close(): Promise<void> {
    this.#isOver = true;
    await this.#body.return?.();
  }
}

/** A connection that is lost inside a stream is a broken stream, not an unreachable provider. */
function brokenStream(thrown: unknown): SDKError {
  const error = toSdkError(thrown);
  if (!(error instanceof NetworkError)) return error;
  return new StreamError(`the provider's stream broke: ${error.message}`, { cause: error });
}
