import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { BatchStream, toBatches } from "./batches.ts";
import { AbortError, StreamError } from "./errors.ts";
import type { ItemIterator } from "./item-iterator.ts";
import type { CompleteResponse } from "./response.ts";
import { ResponseCollector } from "./response-collector.ts";

/**
 * The events of one call. Iterate it for one event at a time, or read `text()` if only the text matters; then `final()`
 * has the whole response. `batches()` gives the events that one read of the network brought together. A stream can be
 * read once, in one of these ways.
 *
 * ```ts
 * const stream = client.stream({ model, messages });
 * for await (const text of stream.text()) process.stdout.write(text);
 * const response = await stream.final();
 * ```
 */
export class EventStream extends BatchStream<StreamEvent> {
  #collected: CollectedEvents | undefined;

  /** Wraps the events that a middleware returns. An EventStream passes through with its batches. */
  static from(events: AsyncIterable<StreamEvent>): EventStream {
    return events instanceof EventStream ? events : new EventStream(toBatches(events));
  }

  /** Yields only the text of the answer, piece by piece. Leaving the loop cancels the call. */
  text(): ItemIterator<string> {
    return this.readItems(readTexts);
  }

  /**
   * Returns the whole response. Reads the stream if no loop does, and otherwise waits for the end of that loop. A loop
   * that begins later still gets every event.
   * @throws SDKError the stream's error if it failed, and AbortError if the loop was left early. TypeError if the
   *   stream was read by its batches.
   */
  async final(): Promise<CompleteResponse> {
    if (this.#collected === undefined) this.drain();
    return (this.#collected as CollectedEvents | undefined)?.outcome ?? Promise.reject(endedEarly());
  }

  protected override open(): AsyncIterator<Batch> {
    const source = super.open();
    // The items that a drained stream kept have been collected already.
    if (this.#collected !== undefined) return source;
    this.#collected = new CollectedEvents(source);
    return this.#collected;
  }
}

type Batch = readonly StreamEvent[];

/** Returns the pieces of text in events. */
export function readTexts(
  events: readonly { readonly event: StreamEvent["event"] | { readonly case: "stepFinish" } }[],
): string[] {
  return events.flatMap(({ event }) => (event.case === "textDelta" ? event.value.delta : []));
}

/** A stream whose response is collected while it is read. */
class CollectedEvents implements AsyncIterator<Batch> {
  readonly #source: AsyncIterator<Batch>;
  readonly #collector = new ResponseCollector();
  readonly #outcome = Promise.withResolvers<CompleteResponse>();
  #isSettled = false;

  constructor(source: AsyncIterator<Batch>) {
    this.#source = source;
    // Failures surface through the reads as well.
    this.#outcome.promise.catch(() => {});
  }

  /** The response, once the stream has been read to its end. */
  get outcome(): Promise<CompleteResponse> {
    return this.#outcome.promise;
  }

  next(): Promise<IteratorResult<Batch>> {
    return this.#source.next().then(this.#onResult, this.#onFailure);
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#settle(closedEarly);
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  readonly #onResult = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (result.done === true) this.#settle(endedEarly);
    else this.#collect(result.value);
    return result;
  };

  readonly #onFailure = (thrown: unknown): never => {
    this.#settle(() => thrown);
    throw thrown;
  };

  #collect(batch: Batch): void {
    try {
      this.#collector.add(batch);
    } catch (thrown) {
      this.#source.return?.().then(undefined, () => {});
      this.#onFailure(thrown);
    }
  }

  /**
   * @param toFailure Returns why there is no response, if the `finish` event has not come.
   */
  #settle(toFailure: () => unknown): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { response } = this.#collector;
    if (response === undefined) this.#outcome.reject(toFailure());
    else this.#outcome.resolve(response);
  }
}

function closedEarly(): AbortError {
  return new AbortError("the stream was closed before its end");
}

function endedEarly(): StreamError {
  return new StreamError("the stream ended without a finish event");
}
