import { create } from "@bufbuild/protobuf";
import {
  type FinishReason,
  type FinishReason_Reason,
  FinishReasonSchema,
} from "../../gen/outrigger/v1/response_pb.ts";

/** A finish reason. @param raw The provider's own value. */
export function finishReason(reason: FinishReason_Reason, raw: string): FinishReason {
  return create(FinishReasonSchema, { reason, raw });
}
