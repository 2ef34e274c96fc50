/** Their output -> our Response. A whole answer is read as a stream, so that both agree. */
import type { Batches } from "../../core/batches.ts";
import { StreamError } from "../../core/errors.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";

/** Reads a stream to its end. Throws the stream's error. */
export async function toResponse(batches: Batches<StreamEvent>): Promise<Response> {
  for await (const batch of batches) {
    const last = batch.at(-1)?.event;
    if (last?.case === "finish" && last.value.response !== undefined) return last.value.response;
  }
  throw new StreamError("the stream ended without a response");
}
