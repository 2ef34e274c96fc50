import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { BatchStream, batchesOf } from "./batches.ts";

/**
 * The events of one call. Iterate it for one event at a time; ask for `batches()` where the events that one read of the
 * network brought should travel together. One of the two, once.
 */
export class EventStream extends BatchStream<StreamEvent> {
  /** Wraps what a middleware returns. An EventStream passes through with its batches. */
  static from(events: AsyncIterable<StreamEvent>): EventStream {
    return events instanceof EventStream ? events : new EventStream(batchesOf(events));
  }
}
