import { create } from "@bufbuild/protobuf";
import { FinishReasonSchema, FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { StreamedAnswer } from "../../kit/stream/stream-writer.ts";

/**
 * Creates the end of an answer.
 * @param raw The sign that the answer is complete.
 * @param id The program's id of the answer; empty if it has none.
 */
export function toAnswer(raw: string, usage: Usage | undefined, id = ""): StreamedAnswer {
  const finishReason = create(FinishReasonSchema, { reason: Reason.STOP, raw });
  return { id, model: "", finishReason, usage, rawJson: "" };
}
