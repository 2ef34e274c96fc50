import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { StreamAccumulator } from "./accumulator.ts";
import { StreamError } from "./errors.ts";
import { type CompleteResponse, completeResponse } from "./response.ts";

/** Finds the response in the events of a stream. Its last event holds it whole unless the request asked otherwise. */
export class ResponseCollector {
  /** The whole response. Undefined before the `finish` event. */
  response: CompleteResponse | undefined;
  #accumulator: StreamAccumulator | undefined;

  /** Takes the next events. @throws StreamError if they break a law that the collector relies on. */
  add(batch: readonly StreamEvent[]): void {
    const first = batch[0]?.event;
    if (first?.case === "streamStart" && first.value.finalResponse === FinalResponse.WITHOUT_CONTENT)
      this.#accumulator = new StreamAccumulator();
    if (this.#accumulator !== undefined) for (const event of batch) this.#accumulator.process(event);
    const last = batch.at(-1)?.event;
    if (last?.case === "finish") this.response = this.#createResponse(last.value.response);
  }

  #createResponse(response: Response | undefined): CompleteResponse {
    const whole = this.#accumulator?.response() ?? response;
    if (whole === undefined) throw new StreamError("the finish event has no response");
    return completeResponse(whole);
  }
}
