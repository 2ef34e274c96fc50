import { checkToolResult } from "../../../client/validate-messages.ts";
import type { Violations } from "../../../client/violations.ts";
import type { ToolOutput } from "../../../gen/outrigger/v1/generation_service_pb.ts";

/**
 * Checks an output by itself.
 * @param path Path of the output in the caller's message.
 */
export function checkOutput({ toolCallId, output }: ToolOutput, path: string, violations: Violations): void {
  if (toolCallId === "") violations.add(`${path}.tool_call_id`, "is empty, expected the id of a call");
  if (output.case === undefined)
    violations.add(path, "has no output, expected result, error, repaired_call or refusal");
  else if (output.case === "result") checkToolResult(output.value, `${path}.result`, toolCallId, violations);
}
