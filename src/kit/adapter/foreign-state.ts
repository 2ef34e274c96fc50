import { create } from "@bufbuild/protobuf";
import { invalidField } from "../../core/errors.ts";
import { type ContentPart, ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { StatePolicy } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../call/loss-report.ts";

/**
 * Applies `Request.foreign_state` to a reasoning or native part that another provider or model wrote: the part is left
 * out, sent as plain text, or rejected.
 * @param field Path of the part in the request.
 * @returns The text part to send instead; undefined if the part is left out.
 * @throws InvalidRequestError if the policy is REJECT.
 */
export function replaceForeignPart(
  part: ContentPart,
  policy: StatePolicy,
  field: string,
  loss: LossReport,
): ContentPart | undefined {
  const what = part.part.case === "reasoning" ? "reasoning" : "a native part";
  if (policy === StatePolicy.REJECT) {
    throw invalidField(field, `${what} of another provider or model, and foreign_state is REJECT`);
  }
  const text = part.part.case === "reasoning" ? part.part.value.text : "";
  if (policy === StatePolicy.TO_TEXT && text !== "") {
    loss.lose(field, "foreign_state_to_text", `${what} of another provider or model was sent as text`);
    return create(ContentPartSchema, { part: { case: "text", value: text } });
  }
  loss.lose(field, "foreign_state_stripped", `${what} of another provider or model was left out`);
  return undefined;
}
