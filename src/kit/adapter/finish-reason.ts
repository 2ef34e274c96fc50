import {
  type FinishReason,
  type FinishReason_Reason,
  FinishReason_Reason as Reason,
} from "../../gen/outrigger/v1/response_pb.ts";

/**
 * Returns the provider's word for why an answer ended; empty if there is none. Some servers send the number of an enum
 * value, of which zero means that the answer goes on.
 */
export function finishWordIn(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" && value > 0 ? String(value) : "";
}

/**
 * Creates a finish reason.
 * @param raw The provider's value.
 * @param stopSequence The stop sequence that ended the answer, if the provider names it.
 */
export function finishReason(reason: FinishReason_Reason, raw: string, stopSequence = ""): FinishReason {
  return { $typeName: "outrigger.v1.FinishReason", reason, raw, stopSequence };
}

/** Whether a finish reason means that the answer was cut before the model had finished it. */
export function isStopped(reason: Reason): boolean {
  return reason === Reason.LENGTH || reason === Reason.CONTENT_FILTER || reason === Reason.ERROR;
}
