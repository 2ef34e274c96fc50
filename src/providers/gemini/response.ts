/** Their body -> our Response. A whole answer is one GenerateContentResponse, as each event of a stream is. */

import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { unreadableAnswer } from "../../kit/adapter/failure-body.ts";
import { answerMissing, type CallFacts } from "../../kit/call/call-facts.ts";
import { isObject, objectIn, tryParseJson } from "../../kit/json/json.ts";
import { splitElements } from "../../kit/json/json-source.ts";
import { StreamWriter } from "../../kit/stream/stream-writer.ts";
import type { StreamChunk } from "../../wire/gemini/stream.ts";
import { GeminiDecoder } from "./stream.ts";

/**
 * Converts a whole answer to a Response. `streamGenerateContent` without `alt=sse` answers with a list: the events of a
 * stream in one body.
 * @throws ServerError if the body holds no answer, and the failure that the body reports.
 */
export function toResponse(body: string, facts: CallFacts): Response {
  const decoder = new GeminiDecoder(facts, new StreamWriter(facts));
  const value = tryParseJson(body);
  const sources = isObject(value) ? [body] : Array.isArray(value) ? splitElements(body) : [];
  for (const source of sources) decoder.pushChunk(objectIn<StreamChunk>(tryParseJson(source)), source);
  const response = decoder.endWhole(facts.request.includeRaw ? body : "");
  if (response !== undefined) return response;
  throw sources.length === 0 ? unreadableAnswer(body, facts) : answerMissing(facts);
}
