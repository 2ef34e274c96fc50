import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { BatchStream, batchesOf } from "./batches.ts";
import { AbortError, StreamError } from "./errors.ts";
import type { CompleteResponse } from "./response.ts";
import { ResponseCollector } from "./response-collector.ts";

/**
 * The events of one call. Iterate it for one event at a time, or read `text()` where only the text matters; then
 * `final()` has the whole response. `batches()` gives the events that one read of the network brought together. A stream
 * can be read once, in one of these ways.
 *
 * ```ts
 * const stream = client.stream({ model, messages });
 * for await (const text of stream.text()) process.stdout.write(text);
 * const response = await stream.final();
 * ```
 */
export class EventStream extends BatchStream<StreamEvent> {
  #isRead = false;
  #outcome: Outcome | undefined;
  #waiting: PromiseWithResolvers<CompleteResponse> | undefined;

  /** Wraps what a middleware returns. An EventStream passes through with its batches. */
  static from(events: AsyncIterable<StreamEvent>): EventStream {
    return events instanceof EventStream ? events : new EventStream(batchesOf(events));
  }

  /** One event at a time. Leaving the loop cancels the call. */
  override async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent> {
    const batches = this.batches();
    const collector = new ResponseCollector();
    this.#isRead = true;
    let failure: Outcome["failure"] = leftEarly;
    try {
      for await (const batch of batches) {
        collector.add(batch);
        yield* batch;
      }
      failure = endedEarly;
    } catch (error) {
      failure = () => error;
      throw error;
    } finally {
      this.#end({ response: collector.response, failure });
    }
  }

  /** Only the text of the answer, piece by piece. Leaving the loop cancels the call. */
  async *text(): AsyncGenerator<string> {
    for await (const { event } of this) if (event.case === "textDelta") yield event.value.delta;
  }

  /**
   * The whole response. Reads the stream if it is not being read, else waits for the end of the loop that reads it.
   * @throws SDKError the stream's own error where it failed, and AbortError where the loop was left before its end.
   * TypeError where the stream was read by its batches.
   */
  async final(): Promise<CompleteResponse> {
    if (!this.#isRead) for await (const _event of this);
    if (this.#outcome !== undefined) return responseOf(this.#outcome);
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  #end(outcome: Outcome): void {
    this.#outcome = outcome;
    const { response, failure } = outcome;
    if (response === undefined) this.#waiting?.reject(failure());
    else this.#waiting?.resolve(response);
  }
}

/** How the reading of a stream ended. */
interface Outcome {
  readonly response: CompleteResponse | undefined;
  /** What `final()` throws where there is no response. */
  readonly failure: () => unknown;
}

function responseOf({ response, failure }: Outcome): CompleteResponse {
  if (response === undefined) throw failure();
  return response;
}

function leftEarly(): AbortError {
  return new AbortError("the stream was closed before its end");
}

function endedEarly(): StreamError {
  return new StreamError("the stream ended without a finish event");
}
