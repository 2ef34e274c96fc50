/** Their body -> our Response. */

import { ServerError } from "../../core/errors.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import type { ToolCallIdAllocator } from "../../kit/adapter/tool-call-id-allocator.ts";
import { isObject, tryParseJson } from "../../kit/json/json.ts";
import { StreamWriter } from "../../kit/stream/stream-writer.ts";
import type { ServerProfile } from "./profile.ts";
import { ChatDecoder } from "./stream.ts";

/**
 * A whole answer as our Response: what the stream of one chunk that it is comes to.
 * @throws ServerError where the body is no answer, and the failure that it reports.
 */
export function toResponse(
  body: string,
  facts: CallFacts,
  toolCallIds: ToolCallIdAllocator,
  profile: ServerProfile,
): Response {
  const object = tryParseJson(body);
  if (!isObject(object)) {
    throw new ServerError("the provider answered with success and a body that is no JSON object", {
      provider: facts.provider,
      requestId: facts.providerRequestId,
    });
  }
  const decoder = new ChatDecoder(facts, new StreamWriter(facts, toolCallIds), profile);
  return decoder.readWhole(object, facts.request.includeRaw ? body : "");
}
