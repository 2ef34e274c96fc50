import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";

/**
 * The events of one call. Iterate it for one event at a time; ask for `batches()` where the
 * events that one read of the network brought should travel together. One of the two, once.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  readonly #batches: AsyncIterable<readonly StreamEvent[]>;

  /** @param batches The events in order; a batch is what was ready at one time and may be empty. */
  constructor(batches: AsyncIterable<readonly StreamEvent[]>) {
    this.#batches = batches;
  }

  /** Wraps what a middleware returns. An EventStream passes through with its batches. */
  static from(events: AsyncIterable<StreamEvent>): EventStream {
    return events instanceof EventStream ? events : new EventStream(batchesOfOne(events));
  }

  /** The events as they became ready. */
  batches(): AsyncIterable<readonly StreamEvent[]> {
    return this.#batches;
  }

  /** One event at a time. Leaving the loop ends the call. */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent> {
    for await (const batch of this.#batches) yield* batch;
  }
}

async function* batchesOfOne(events: AsyncIterable<StreamEvent>): AsyncGenerator<readonly StreamEvent[]> {
  for await (const event of events) yield [event];
}
