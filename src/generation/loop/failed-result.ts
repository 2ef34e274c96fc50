import { create } from "@bufbuild/protobuf";
import { textPart } from "../../core/parts.ts";
import { type ToolCall, type ToolResult, ToolResultSchema } from "../../gen/outrigger/v1/message_pb.ts";

/** Longest text of an error result, in UTF-16 code units: the model reads it, and every later step sends it again. */
const MAX_PROBLEM_LENGTH = 2048;

/** Creates the error result that tells the model why its call failed. */
export function failedResult({ id }: Pick<ToolCall, "id">, problem: string): ToolResult {
  const text = problem.length > MAX_PROBLEM_LENGTH ? `${problem.slice(0, MAX_PROBLEM_LENGTH)}…` : problem;
  return create(ToolResultSchema, {
    toolCallId: id,
    failed: true,
    content: [textPart(text.toWellFormed())],
  });
}
