/** Their body -> our Response. A whole answer is one GenerateContentResponse, and so one event of a stream. */

import { ServerError } from "../../core/errors.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import type { ToolCallIdAllocator } from "../../kit/adapter/tool-call-id-allocator.ts";
import { isObject, objectIn, tryParseJson } from "../../kit/json/json.ts";
import { elementsOf } from "../../kit/json/json-source.ts";
import { StreamWriter } from "../../kit/stream/stream-writer.ts";
import { GeminiDecoder } from "./stream.ts";

/**
 * A whole answer as our Response. A list of answers is what `streamGenerateContent` gives
 * without `alt=sse`: the events of a stream in one body.
 * @throws ServerError where the body holds no answer, and the failure that it reports.
 */
export function toResponse(body: string, facts: CallFacts, toolCallIds: ToolCallIdAllocator): Response {
  const decoder = new GeminiDecoder(facts, new StreamWriter(facts, toolCallIds));
  const value = tryParseJson(body);
  const sources = isObject(value) ? [body] : Array.isArray(value) ? elementsOf(body) : [];
  for (const source of sources) decoder.pushChunk(objectIn(tryParseJson(source)), source);
  const response = decoder.endWhole(facts.request.includeRaw ? body : "");
  if (response !== undefined) return response;
  throw new ServerError("the provider answered with success and a body that holds no answer", {
    provider: facts.provider,
    requestId: facts.providerRequestId,
  });
}
