import { create } from "@bufbuild/protobuf";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../gen/outrigger/v1/stream_event_pb.ts";
import type { Batches } from "./batches.ts";
import { SDKError, StreamError, toSdkError } from "./errors.ts";

/**
 * Makes a stream obey laws 1, 8 and 9: a failure after the first event becomes an `error` event and is thrown after it;
 * a stream that ends without `finish` or `error` fails with kind STREAM. A failure before the first event is thrown,
 * without an event.
 * @returns The same batches if they obey the laws already.
 */
export function withTerminalEvent(
  batches: Batches<StreamEvent>,
  options: TerminalEventOptions = {},
): Batches<StreamEvent> {
  const { onEnd } = options;
  const terminated = batches instanceof TerminatedStream ? batches : new TerminatedStream(batches, options);
  if (onEnd !== undefined) terminated.listeners.push(onEnd);
  return terminated;
}

/** Options of `withTerminalEvent`. */
export interface TerminalEventOptions {
  /** Milliseconds of a monotonic clock, for `elapsed_ms` of the `error` event. */
  readonly now?: (() => number) | undefined;
  /** Turns a thrown value into the failure of the stream. */
  readonly toFailure?: ((thrown: unknown) => SDKError) | undefined;
  /** Throws bugs and errors of other code unchanged, instead of as InternalError. The event hides them in any case. */
  readonly throwsOriginals?: boolean | undefined;
  /** Called when nothing more comes: after the last event, after a failure, or when the reader closes the stream. */
  readonly onEnd?: (() => void) | undefined;
}

/** Whether an event is the last one of its stream. */
export function isTerminal({ event }: StreamEvent): boolean {
  return event.case === "finish" || event.case === "error";
}

type Batch = readonly StreamEvent[];

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

/**
 * Neither a generator nor an async function: a read of the source costs one promise and no closure. A named class, so
 * that the client recognizes a stream that an adapter has ended and passes it through.
 */
class TerminatedStream implements Batches<StreamEvent>, AsyncIterator<Batch> {
  /** Called when nothing more comes. */
  readonly listeners: (() => void)[] = [];
  readonly #source: AsyncIterator<Batch>;
  readonly #options: TerminalEventOptions;
  #last: StreamEvent | undefined;
  #startedAt = 0;
  #isOver = false;
  /** Thrown after the `error` event. */
  #error: { readonly thrown: unknown } | undefined;

  constructor(batches: Batches<StreamEvent>, options: TerminalEventOptions) {
    this.#source = batches[Symbol.asyncIterator]();
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Batch>> {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) return Promise.reject(error.thrown);
    if (this.#isOver) return Promise.resolve(DONE);
    return this.#source.next().then(this.#onResult, this.#onFailure);
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#isOver = true;
    this.#error = undefined;
    try {
      await this.#source.return?.();
    } finally {
      this.#tellListeners();
    }
    return DONE;
  }

  readonly #onResult = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (this.#isOver) return DONE;
    if (result.done === true) {
      if (this.#last === undefined || !isTerminal(this.#last))
        return this.#fail(new StreamError("the stream ended without finish or error"));
      this.#isOver = true;
      this.#tellListeners();
      return DONE;
    }
    if (this.#last === undefined) this.#startedAt = this.#now();
    this.#last = result.value.at(-1) ?? this.#last;
    return result;
  };

  /** Ends a read that was pending when the reader closed the stream and therefore fails. */
  readonly #onFailure = (thrown: unknown): IteratorResult<Batch> => {
    if (this.#isOver) return DONE;
    const { toFailure = toSdkError, throwsOriginals = false } = this.#options;
    const error = toFailure(thrown);
    const isPlain = error.kind === ErrorKind.INTERNAL && !(thrown instanceof SDKError);
    return this.#fail(error, isPlain && throwsOriginals ? thrown : error);
  };

  #tellListeners(): void {
    for (const listener of this.listeners) listener();
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  #fail(error: SDKError, thrown: unknown = error): IteratorResult<Batch> {
    this.#isOver = true;
    this.#tellListeners();
    const last = this.#last;
    if (last === undefined || isTerminal(last)) throw thrown;
    this.#error = { thrown };
    const elapsedMs = Math.max(last.elapsedMs, Math.round(this.#now() - this.#startedAt));
    const event = { case: "error", value: error.toProto() } as const;
    const failed = create(StreamEventSchema, { sequence: last.sequence + 1, elapsedMs, event });
    return { done: false, value: [failed] };
  }
}
