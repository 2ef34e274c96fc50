import { create } from "@bufbuild/protobuf";
import { checkToolResult } from "../../../client/validate-messages.ts";
import type { Violations } from "../../../client/violations.ts";
import type { ToolOutput } from "../../../gen/outrigger/v1/generation_service_pb.ts";
import { type ToolCall, ToolCallSchema, type ToolResult } from "../../../gen/outrigger/v1/message_pb.ts";
import { failedResult } from "../../../generation/loop/failed-result.ts";
import type { ToolArguments } from "./tool-arguments.ts";

/**
 * Checks an output without regard to its call.
 * @param path Path of the output in the caller's message.
 */
export function checkOutput({ toolCallId, output }: ToolOutput, path: string, violations: Violations): void {
  if (toolCallId === "") violations.add(`${path}.tool_call_id`, "is empty, expected the id of a call");
  if (output.case === undefined)
    violations.add(path, "has no output, expected result, error, repaired_call or refusal");
  else if (output.case === "result") checkToolResult(output.value, `${path}.result`, toolCallId, violations);
}

/** The kind of output that an `execute` asks the caller for. */
export type Wanted = "execution" | "repair";

/** Reports whether an output has another kind than the wanted one. Errors and refusals are always accepted. */
export function isWrongKind({ output }: ToolOutput, wanted: Wanted): boolean {
  return output.case === (wanted === "repair" ? "result" : "repairedCall");
}

/** The effect of an output: the result of the call, or a repaired call to execute. */
export type OutputEffect =
  | { readonly case: "result"; readonly result: ToolResult }
  | { readonly case: "repaired"; readonly call: ToolCall };

/** Returns the effect of a checked output on its call. */
export function toEffect({ output }: ToolOutput, call: ToolCall, rules: ToolArguments): OutputEffect {
  switch (output.case) {
    case "result":
      return { case: "result", result: { ...output.value, toolCallId: call.id } };
    case "failure":
      return failure(call, output.value.message || "the tool failed");
    case "refusal":
      return failure(call, output.value.reason || "the call was refused");
    case "repairedCall":
      return applyRepair(output.value, call, rules);
    default:
      return failure(call, "the tool returned nothing");
  }
}

function applyRepair({ id, name, input }: ToolCall, call: ToolCall, rules: ToolArguments): OutputEffect {
  const isOther = (id !== "" && id !== call.id) || (name !== "" && name !== call.name);
  if (isOther) return failure(call, "the repaired call has a different id or name");
  const repaired = create(ToolCallSchema, { id: call.id, name: call.name, input });
  const problem = rules.toProblem(repaired);
  return problem === undefined ? { case: "repaired", call: repaired } : failure(call, problem);
}

function failure(call: ToolCall, problem: string): OutputEffect {
  return { case: "result", result: failedResult(call, problem) };
}
