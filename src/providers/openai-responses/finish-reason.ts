/** Why the model stopped. */

import { type FinishReason, FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import { finishReason, readFinishReason } from "../../kit/call/call-facts.ts";
import { objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  IncompleteDetails,
  OutputContent,
  OutputItem,
  ResponseObject,
  ShellEnvironment,
} from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

// Calls that the caller, not the provider, has to run before the model can continue.
const RUN_BY_CALLER: ReadonlySet<string> = new Set<OutputItem["type"]>([
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "apply_patch_call",
  "mcp_approval_request",
]);

/** Returns why the model stopped. The API has no finish reason: it follows from status, details and items. */
export function toFinishReason(
  object: Untrusted<ResponseObject>,
  items: readonly Untrusted<OutputItem>[],
): FinishReason {
  const status = readFinishReason(object.status);
  if (status === "incomplete") return getIncompleteReason(object);
  if (status === "cancelled") return finishReason(Reason.ERROR, status);
  if (status !== "completed" && status !== "") return finishReason(Reason.OTHER, status);
  for (const item of items) if (isRunByCaller(item)) return finishReason(Reason.TOOL_CALLS, status);
  if (isRefusal(items)) return finishReason(Reason.CONTENT_FILTER, "refusal");
  return finishReason(Reason.STOP, status);
}

function getIncompleteReason({ incomplete_details: details }: Untrusted<ResponseObject>): FinishReason {
  const reason = readFinishReason(objectIn<IncompleteDetails>(details).reason);
  switch (reason) {
    case "max_output_tokens":
    case "max_messages":
      return finishReason(Reason.LENGTH, reason);
    case "content_filter":
      return finishReason(Reason.CONTENT_FILTER, reason);
    default:
      return finishReason(Reason.OTHER, reason === "" ? "incomplete" : reason);
  }
}

/** Reports whether a call is one of xAI's own tools, such as `x_keyword_search`, which it has run already. */
export function isRunByProvider({ type, call_id: id }: Untrusted<OutputItem>): boolean {
  return type === "custom_tool_call" && textIn(id).startsWith("xs_call_");
}

function isRunByCaller(item: Untrusted<OutputItem>): boolean {
  const { type, environment } = item;
  if (type === "shell_call") return objectIn<ShellEnvironment>(environment).type === "local";
  return RUN_BY_CALLER.has(textIn(type)) && !isRunByProvider(item);
}

/** Reports whether the model refused and wrote nothing else. */
function isRefusal(items: readonly Untrusted<OutputItem>[]): boolean {
  let refuses = false;
  for (const item of items) {
    if (item.type !== "message") continue;
    for (const { type, text } of objectsIn<OutputContent>(item.content)) {
      if (type === "refusal") refuses = true;
      else if (textIn(text) !== "") return false;
    }
  }
  return refuses;
}
