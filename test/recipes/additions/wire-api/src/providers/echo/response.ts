/** The body of a whole answer -> our Response. */
import { textPart } from "../../core/parts.ts";
import { FinishReason_Reason as Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import { answerMissing, type CallFacts, createResponse, finishReason } from "../../kit/call/call-facts.ts";
import { asObject, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { EchoResponse } from "../../wire/echo/response.ts";
import { toUsage } from "./usage.ts";

/** Converts a whole answer. @throws ServerError if the body is none. */
export function toResponse(body: string, facts: CallFacts): Response {
  const answer = asObject<EchoResponse>(tryParseJson(body));
  if (answer === undefined) throw answerMissing(facts, "a body that is not a JSON object");
  return createResponse(facts, {
    id: "",
    model: "",
    content: [textPart(textIn(answer.text))],
    finishReason: finishReason(Reason.STOP, "end"),
    usage: toUsage(answer.usage),
    rawJson: facts.request.includeRaw ? body : "",
  });
}
