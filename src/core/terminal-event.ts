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
 */
export function withTerminalEvent(
  batches: Batches<StreamEvent>,
  now: () => number = () => performance.now(),
  toFailure: (thrown: unknown) => SDKError = toSdkError,
): Batches<StreamEvent> {
  return {
    [Symbol.asyncIterator]: () => new TerminatedStream(batches[Symbol.asyncIterator](), now, toFailure),
  };
}

/** Whether an event is the last one of its stream. */
export function isTerminal({ event }: StreamEvent): boolean {
  return event.case === "finish" || event.case === "error";
}

type Batch = readonly StreamEvent[];

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

/** Not a generator: a read of the source costs one promise instead of several. */
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

  async next(): Promise<IteratorResult<Batch>> {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    if (this.#isOver) return DONE;
    try {
      const result = await this.#source.next();
      if (result.done !== true) return this.#pass(result);
    } catch (thrown) {
      return this.#fail(this.#toFailure(thrown));
    }
    this.#isOver = true;
    if (this.#last !== undefined && isTerminal(this.#last)) return DONE;
    return this.#fail(new StreamError("the stream ended without finish or error"));
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#isOver = true;
    this.#error = undefined;
    await this.#source.return?.();
    return DONE;
  }

  #pass(result: IteratorResult<Batch>): IteratorResult<Batch> {
    const batch: Batch = result.value;
    if (this.#last === undefined) this.#startedAt = this.#now();
    this.#last = batch.at(-1) ?? this.#last;
    return result;
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
