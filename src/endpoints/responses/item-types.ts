/** The types of OpenAI's items that the sidecar passes on unchanged: items of tools that the provider executes. */
import type { NativePart } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, asString, tryParseJson } from "../../kit/json/json.ts";
import type { OutputItem } from "../../wire/openai-responses/response.ts";

/** Types of items that have no unified form. */
const TYPES: ReadonlySet<string> = new Set<OutputItem["type"]>([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "computer_call",
  "computer_call_output",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
  "tool_search_call",
  "tool_search_output",
  "additional_tools",
  "program",
  "program_output",
  "compaction",
]);

/**
 * Reports whether a native part is an item of OpenAI's API. The blocks of other providers have other names, except
 * Anthropic's compaction, which is a block without an id.
 */
export function isOpenAiItem({ kind, dataJson }: NativePart): boolean {
  if (kind !== "compaction") return TYPES.has(kind);
  return asString(asObject(tryParseJson(dataJson))?.id) !== undefined;
}
