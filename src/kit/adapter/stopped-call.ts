import { FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";

/** Whether a finish reason means that the answer was cut before the model had finished it. */
export function isStopped(reason: Reason): boolean {
  return reason === Reason.LENGTH || reason === Reason.CONTENT_FILTER || reason === Reason.ERROR;
}

/**
 * Returns the text to append to the arguments of the last call of an answer that was cut: empty arguments would count
 * as an empty object, and the call would look complete. Other cut arguments are invalid JSON already.
 */
export function unfinishedArguments(args: string): string {
  return args === "" ? "{" : "";
}
