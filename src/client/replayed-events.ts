import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions } from "../core/adapter.ts";
import { getInferenceId } from "../core/ids.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { replayResponse } from "../kit/stream/replay-response.ts";
import { StreamWriter } from "../kit/stream/stream-writer.ts";

/** Returns the events of a response that did not come from a provider's stream, as one batch. */
export function replayedEvents(
  response: Response,
  request: Request,
  options: CallOptions,
): readonly StreamEvent[] {
  const inferenceId = getInferenceId(options);
  const { provider, warnings, rateLimit, providerRequestId, createdAt } = response;
  const acceptedAt = createdAt === undefined ? Date.now() : timestampMs(createdAt);
  const facts = { request, provider, inferenceId, acceptedAt, warnings, rateLimit, providerRequestId };
  const writer = new StreamWriter(facts);
  replayResponse(response, writer);
  return writer.take();
}
