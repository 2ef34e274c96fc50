import { create } from "@bufbuild/protobuf";
import { type StreamEvent, StreamEventSchema } from "../gen/outrigger/v1/stream_event_pb.ts";
import type { Batches } from "./batches.ts";
import { type SDKError, StreamError, toSdkError } from "./errors.ts";

/**
 * Holds a stream to laws 1, 8 and 9: a failure after the first event is an `error` event and is thrown after it; a
 * stream that ends without `finish` or `error` is a failure of kind STREAM. A failure before the first event throws and
 * is all there is.
 * @param now Milliseconds of a monotonic clock, for the `elapsed_ms` of the `error` event.
 * @param toFailure Turns what was thrown into the failure of the stream.
 * @returns The same batches where they are held to the laws already.
 */
export function withTerminalEvent(
  batches: Batches<StreamEvent>,
  now: () => number = () => performance.now(),
  toFailure: (thrown: unknown) => SDKError = toSdkError,
): Batches<StreamEvent> {
  if (batches instanceof TerminatedBatches) return batches;
  return new TerminatedBatches(() => new TerminatedStream(batches[Symbol.asyncIterator](), now, toFailure));
}

/** A class of its own, so that a stream that an adapter has ended passes through the client as it is. */
class TerminatedBatches implements Batches<StreamEvent> {
  readonly #open: () => TerminatedStream;

  constructor(open: () => TerminatedStream) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): TerminatedStream {
    return this.#open();
  }
}

/** Whether an event is the last one of its stream. */
export function isTerminal({ event }: StreamEvent): boolean {
  return event.case === "finish" || event.case === "error";
}

type Batch = readonly StreamEvent[];

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

/** Neither a generator nor an async function: a read of the source costs one promise and no closure. */
class TerminatedStream implements AsyncIterator<Batch> {
  readonly #source: AsyncIterator<Batch>;
  readonly #now: () => number;
  readonly #toFailure: (thrown: unknown) => SDKError;
  #last: StreamEvent | undefined;
  #startedAt = 0;
  #isOver = false;
  /** What is thrown after the `error` event. */
  #error: SDKError | undefined;

  constructor(source: AsyncIterator<Batch>, now: () => number, toFailure: (thrown: unknown) => SDKError) {
    this.#source = source;
    this.#now = now;
    this.#toFailure = toFailure;
  }

  next(): Promise<IteratorResult<Batch>> {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) return Promise.reject(error);
    if (this.#isOver) return Promise.resolve(DONE);
    return this.#source.next().then(this.#onResult, this.#onFailure);
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#isOver = true;
    this.#error = undefined;
    await this.#source.return?.();
    return DONE;
  }

  readonly #onResult = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (result.done === true) return this.#end();
    if (this.#last === undefined) this.#startedAt = this.#now();
    this.#last = result.value.at(-1) ?? this.#last;
    return result;
  };

  readonly #onFailure = (thrown: unknown): IteratorResult<Batch> => this.#fail(this.#toFailure(thrown));

  #end(): IteratorResult<Batch> {
    this.#isOver = true;
    if (this.#last !== undefined && isTerminal(this.#last)) return DONE;
    return this.#fail(new StreamError("the stream ended without finish or error"));
  }

  #fail(error: SDKError): IteratorResult<Batch> {
    this.#isOver = true;
    const last = this.#last;
    if (last === undefined || isTerminal(last)) throw error;
    this.#error = error;
    const elapsedMs = Math.max(last.elapsedMs, Math.round(this.#now() - this.#startedAt));
    const event = { case: "error", value: error.toProto() } as const;
    const failed = create(StreamEventSchema, { sequence: last.sequence + 1, elapsedMs, event });
    return { done: false, value: [failed] };
  }
}
