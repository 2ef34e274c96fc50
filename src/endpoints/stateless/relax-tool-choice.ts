import { type Request, ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import type { ServedModel } from "../models/model-directory.ts";

/**
 * Sets the option by which a forced tool call is left to a model that cannot be forced, with a warning. Frameworks force
 * calls for structured output by default, and cannot know the model: some read an answer without a call, the others ask
 * again.
 */
export function relaxToolChoice(request: Request, { api, provider }: ServedModel): void {
  const mode = request.toolChoice?.mode;
  const isForced = mode === ToolChoice_Mode.REQUIRED || mode === ToolChoice_Mode.NAMED;
  if (!isForced || (api !== "anthropic-messages" && api !== "openai-chat")) return;
  const options = asObject(tryParseJson(request.providerOptionsJson[provider] ?? "{}")) ?? {};
  request.providerOptionsJson[provider] = JSON.stringify({ ...options, unsupported_tool_choice: "auto" });
}
