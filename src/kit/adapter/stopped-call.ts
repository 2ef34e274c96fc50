import { FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";

/** Whether a finish reason means that the answer was cut before the model had finished it. */
export function isStopped(reason: Reason): boolean {
  return reason === Reason.LENGTH || reason === Reason.CONTENT_FILTER || reason === Reason.ERROR;
}
