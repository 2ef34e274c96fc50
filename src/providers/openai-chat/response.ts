/** The body of a whole answer -> our Response. */

import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { unreadableAnswer } from "../../kit/adapter/failure-body.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import { StreamWriter } from "../../kit/stream/stream-writer.ts";
import type { Completion } from "../../wire/openai-chat/response.ts";
import type { ServerProfile } from "./profile.ts";
import { ChatDecoder } from "./stream.ts";

/**
 * Converts a whole answer to a Response. It is read as a stream of one chunk.
 * @throws ServerError if the body is not an answer; the error of the failure if it reports one.
 */
export function toResponse(body: string, facts: CallFacts, profile: ServerProfile): Response {
  const completion = asObject<Completion>(tryParseJson(body));
  if (completion === undefined) {
    throw unreadableAnswer(body, facts);
  }
  const decoder = new ChatDecoder(facts, new StreamWriter(facts), profile);
  return decoder.readWhole(completion, facts.request.includeRaw ? body : "");
}
