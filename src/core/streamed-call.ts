import { create } from "@bufbuild/protobuf";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../gen/outrigger/v1/stream_event_pb.ts";
import type { Batches } from "./batches.ts";
import { AbortError, SDKError, StreamError, toSdkError } from "./errors.ts";
import { EventStream } from "./event-stream.ts";

/**
 * Makes a call whose events are read while they arrive, at the first read: a stream that is abandoned before costs
 * nothing. The stream obeys laws 1, 8 and 9, see `withTerminalEvent`.
 * @param open Sends the request. Its signal is aborted with the caller's, and when the stream is closed before its end;
 *   that has to end a pending read and a pending `open`, since closing waits for both.
 */
export function streamCall(open: Open, options: StreamedCallOptions = {}): EventStream {
  const call = new StreamedCall(open, options);
  return new EventStream(call, call.abort);
}

/**
 * Makes a stream obey laws 1, 8 and 9: a failure after the first event becomes an `error` event and is thrown after it;
 * a stream that ends without `finish` or `error` fails with kind STREAM. A failure before the first event is thrown,
 * without an event.
 * @returns The same batches if they obey the laws already.
 */
export function withTerminalEvent(
  batches: Batches<StreamEvent>,
  options: StreamedCallOptions = {},
): Batches<StreamEvent> {
  return batches instanceof StreamedCall ? batches : new StreamedCall(() => batches, options);
}

/** Options of `streamCall` and `withTerminalEvent`. */
export interface StreamedCallOptions {
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds of a monotonic clock, for `elapsed_ms` of the `error` event. */
  readonly now?: (() => number) | undefined;
  /** Turns a thrown value into the failure of the stream. The signal is the call's. */
  readonly toFailure?: ((thrown: unknown, signal: AbortSignal | undefined) => SDKError) | undefined;
  /** Throws bugs and errors of other code unchanged, instead of as InternalError. The event hides them in any case. */
  readonly throwsOriginals?: boolean | undefined;
}

/** Reports whether an event is the last one of its stream. */
export function isTerminal({ event }: StreamEvent): boolean {
  return event.case === "finish" || event.case === "error";
}

type Open = (signal: AbortSignal) => Promise<Batches<StreamEvent>> | Batches<StreamEvent>;

type Batch = readonly StreamEvent[];

type Read = Promise<IteratorResult<Batch>>;

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

const CLOCK = performance.now.bind(performance);

/**
 * Neither a generator nor an async function: a read of the source costs one promise and no closure. If the source is
 * such a call as well, the one of an adapter, reads go straight to it.
 */
class StreamedCall implements Batches<StreamEvent>, AsyncIterator<Batch> {
  readonly #open: Open;
  readonly #options: StreamedCallOptions;
  readonly #now: () => number;
  /** Its signal follows the caller's until the call is released. Created when the call begins. */
  #controller: AbortController | undefined;
  #isReleased = false;
  #opening: Promise<AsyncIterator<Batch>> | undefined;
  #source: AsyncIterator<Batch> | undefined;
  /** Called when nothing more comes: after the last event, after a failure, or when the reader closes the stream. */
  #onEnd: (() => void) | undefined;
  #last: StreamEvent | undefined;
  #startedAt = 0;
  #isOver = false;
  /** Thrown after the `error` event. */
  #error: { readonly thrown: unknown } | undefined;

  constructor(open: Open, options: StreamedCallOptions) {
    this.#open = open;
    this.#options = options;
    this.#now = options.now ?? CLOCK;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Read {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) return Promise.reject(error.thrown);
    if (this.#isOver) return Promise.resolve(DONE);
    if (this.#source !== undefined) return this.#read(this.#source);
    this.#opening ??= this.#begin();
    return this.#opening.then(this.#read, this.#onFailure);
  }

  async return(): Read {
    this.#isOver = true;
    this.#error = undefined;
    this.abort(new AbortError("the stream was closed before its end"));
    try {
      const source = this.#source ?? (await this.#opening?.catch(() => undefined));
      await source?.return?.();
    } finally {
      this.#end();
    }
    return DONE;
  }

  /** Ends the call, unless it has ended. Pending reads reject with the reason. */
  readonly abort = (reason: unknown): void => {
    if (this.#controller === undefined || this.#isReleased) return;
    this.#unsubscribe();
    this.#controller.abort(reason);
  };

  readonly #follow = (): void => this.abort(this.#options.signal?.reason);

  #unsubscribe(): void {
    this.#isReleased = true;
    this.#options.signal?.removeEventListener("abort", this.#follow);
  }

  async #begin(): Promise<AsyncIterator<Batch>> {
    const { signal } = this.#options;
    this.#controller = new AbortController();
    if (signal?.aborted) this.#controller.abort(signal.reason);
    else signal?.addEventListener("abort", this.#follow, { once: true });
    const batches = await this.#open(this.#controller.signal);
    const source = batches[Symbol.asyncIterator]();
    if (source instanceof StreamedCall) source.#onEnd = this.#release;
    this.#source = source;
    return source;
  }

  readonly #read = (source: AsyncIterator<Batch>): Read =>
    source instanceof StreamedCall ? source.next() : source.next().then(this.#onResult, this.#onFailure);

  readonly #onResult = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (this.#isOver) return DONE;
    if (result.done === true) {
      if (this.#last === undefined || !isTerminal(this.#last))
        return this.#fail(new StreamError("the stream ended without finish or error"));
      this.#end();
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
    const error = toFailure(thrown, this.#controller?.signal);
    const isPlain = error.kind === ErrorKind.INTERNAL && !(thrown instanceof SDKError);
    return this.#fail(error, isPlain && throwsOriginals ? thrown : error);
  };

  #fail(error: SDKError, thrown: unknown = error): IteratorResult<Batch> {
    this.#end();
    const last = this.#last;
    if (last === undefined || isTerminal(last)) throw thrown;
    this.#error = { thrown };
    const elapsedMs = Math.max(last.elapsedMs, Math.round(this.#now() - this.#startedAt));
    const event = { case: "error", value: error.toProto() } as const;
    const failed = create(StreamEventSchema, { sequence: last.sequence + 1, elapsedMs, event });
    return { done: false, value: [failed] };
  }

  #end(): void {
    this.#isOver = true;
    this.#release();
  }

  readonly #release = (): void => {
    this.#unsubscribe();
    this.#onEnd?.();
  };
}
