/** Why the model stopped. */

import { create } from "@bufbuild/protobuf";
import {
  type FinishReason,
  FinishReasonSchema,
  FinishReason_Reason as Reason,
} from "../../gen/outrigger/v1/response_pb.ts";
import { objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type { Item, ResponseObject } from "./wire.ts";

// Calls that the caller, not the provider, has to run before the model can go on.
const CALLER_RUNS = new Set([
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "apply_patch_call",
  "mcp_approval_request",
]);

/** Why the model stopped. The API has no finish reason of its own: status, details and items tell together. */
export function finishReasonOf(object: ResponseObject, items: readonly Item[]): FinishReason {
  const status = textIn(object.status);
  if (status === "incomplete") return incompleteReasonOf(textIn(objectIn(object.incomplete_details).reason));
  if (status !== "completed" && status !== "") return finish(Reason.OTHER, status);
  if (items.some(isCallersTurn)) return finish(Reason.TOOL_CALLS, status);
  if (isRefusal(items)) return finish(Reason.CONTENT_FILTER, "refusal");
  return finish(Reason.STOP, status);
}

function incompleteReasonOf(reason: string): FinishReason {
  switch (reason) {
    case "max_output_tokens":
    case "max_messages":
      return finish(Reason.LENGTH, reason);
    case "content_filter":
      return finish(Reason.CONTENT_FILTER, reason);
    default:
      return finish(Reason.OTHER, reason === "" ? "incomplete" : reason);
  }
}

function finish(reason: Reason, raw: string): FinishReason {
  return create(FinishReasonSchema, { reason, raw });
}

function isCallersTurn(item: Item): boolean {
  if (item.type === "shell_call") return objectIn(item.environment).type === "local";
  return CALLER_RUNS.has(textIn(item.type));
}

/** Whether the model refused and said nothing else. */
function isRefusal(items: readonly Item[]): boolean {
  const parts = items.filter((item) => item.type === "message").flatMap((item) => objectsIn(item.content));
  const says = parts.some(({ type, text }) => type !== "refusal" && textIn(text) !== "");
  return !says && parts.some(({ type }) => type === "refusal");
}
