import { FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";

/** Whether a finish reason means that the answer was stopped before the model had ended it. */
export function isStopped(reason: Reason): boolean {
  return reason === Reason.LENGTH || reason === Reason.CONTENT_FILTER || reason === Reason.ERROR;
}

/**
 * What to add to the arguments of the last call of an answer that was stopped: empty arguments would count as an empty
 * object, and the call would look whole. Other arguments that were cut are no valid JSON by themselves.
 */
export function unfinishedArguments(args: string): string {
  return args === "" ? "{" : "";
}
