import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions } from "../core/adapter.ts";
import { type Batches, type ForwardingStream, lazyBatches } from "../core/batches.ts";
import { errorFromProto, type SDKError, toSdkError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { watchFirstOutput } from "./first-output.ts";

type Batch = readonly StreamEvent[];

/** The end of a call. If it has neither a response nor an error, the reader of its stream left. */
export interface CallEnd {
  readonly response: Response | undefined;
  readonly error: SDKError | undefined;
  /** Number of events of a stream that had arrived. Undefined for a call without a stream. */
  readonly events?: number;
}

/** Is notified of the progress of a call. No method may throw. */
export interface CallWatcher {
  begin?(): void;
  /** The first output of a stream, or a whole answer, has arrived. */
  output?(): void;
  /** The call has ended. Called once. */
  end(end: CallEnd): void;
}

/**
 * Creates a middleware that watches calls.
 * @param begin Returns the watcher of a call that begins; undefined if it is not watched. Throws if it is refused.
 */
export function watchCalls(
  begin: (
    request: Request,
    options: CallOptions,
    kind: "complete" | "stream",
  ) => CallWatcher | undefined | Promise<CallWatcher | undefined>,
): Required<MiddlewareMethods> {
  return {
    async complete(request, next, options) {
      const watcher = await begin(request, options, "complete");
      try {
        const response = await next(request);
        watcher?.output?.();
        watcher?.end({ response, error: undefined });
        return response;
      } catch (thrown) {
        watcher?.end({ response: undefined, error: toSdkError(thrown) });
        throw thrown;
      }
    },
    stream(request, next, options) {
      const open = async () => {
        const watcher = await begin(request, options, "stream");
        const batches = next(request).batches();
        if (watcher === undefined) return batches;
        const { output } = watcher;
        return watchStream(output === undefined ? batches : watchFirstOutput(batches, output), watcher);
      };
      return new EventStream(lazyBatches(open));
    },
  };
}

/**
 * Returns the same stream, and notifies a watcher of its beginning and its end. Inspects only the last event of each
 * batch.
 */
export function watchStream(batches: Batches<StreamEvent>, watcher: CallWatcher): Batches<StreamEvent> {
  const watched = new WatchedStream(batches[Symbol.asyncIterator](), watcher);
  return { [Symbol.asyncIterator]: () => watched };
}

/**
 * Neither a generator nor an async function: a read of the source costs one promise and no closure. If the source is
 * watched as well, this stream notifies its watchers too, so that one promise serves all.
 */
class WatchedStream implements AsyncIterator<Batch> {
  #source: AsyncIterator<Batch>;
  #watchers: readonly CallWatcher[];
  /** Whether the source may turn out to be watched. */
  #mayJoin = true;
  #last: StreamEvent | undefined;
  #isOver = false;

  constructor(source: AsyncIterator<Batch>, watcher: CallWatcher) {
    this.#source = source;
    this.#watchers = [watcher];
  }

  next(): Promise<IteratorResult<Batch>> {
    return this.#source.next().then(this.#onResult, this.#onFailure);
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#end(undefined);
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  readonly #onResult = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (result.done === true) {
      this.#end(undefined);
      return result;
    }
    if (this.#last === undefined) for (const watcher of this.#watchers) watcher.begin?.();
    this.#last = result.value.at(-1) ?? this.#last;
    if (this.#last?.event.case === "finish") this.#end(undefined);
    else if (this.#mayJoin) this.#join();
    return result;
  };

  readonly #onFailure = (thrown: unknown): never => {
    this.#end(toSdkError(thrown));
    throw thrown;
  };

  /** Replaces a watched source, once all of its watchers have been notified of the beginning. */
  #join(): void {
    const source = getDestination(this.#source);
    if (source === undefined) return;
    this.#mayJoin = source instanceof WatchedStream;
    if (!(source instanceof WatchedStream)) return;
    this.#watchers = [...source.#watchers, ...this.#watchers];
    this.#source = source.#source;
    source.#watchers = [];
  }

  #end(thrown: SDKError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const event = this.#last?.event;
    const response = event?.case === "finish" ? event.value.response : undefined;
    const error = thrown ?? (event?.case === "error" ? errorFromProto(event.value) : undefined);
    const end = { response, error, events: (this.#last?.sequence ?? -1) + 1 };
    for (const watcher of this.#watchers) watcher.end(end);
  }
}

/** Returns the stream to which the reads finally go; undefined if that is not known yet. */
function getDestination(stream: AsyncIterator<Batch>): AsyncIterator<Batch> | undefined {
  let destination: AsyncIterator<Batch> | undefined = stream;
  while (destination !== undefined && isForwarding(destination)) destination = destination.forwardsTo;
  return destination;
}

function isForwarding(stream: AsyncIterator<Batch>): stream is ForwardingStream<StreamEvent> {
  return "forwardsTo" in stream;
}
