import { create } from "@bufbuild/protobuf";
import { toolCallsOf } from "../../core/message.ts";
import { type StepResult, StepResultSchema } from "../../gen/outrigger/v1/generation_pb.ts";
import type { ToolCall, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";

/** Returns the calls of a step that have no result, in order and as the model wrote them. */
export function getOpenCalls({ response, toolResults }: StepResult): ToolCall[] {
  const answered = new Set(toolResults.map(({ toolCallId }) => toolCallId));
  return toolCallsOf(response).filter(({ id }) => !answered.has(id));
}

/** Returns a call in the form for execution: repaired, if it was repaired. */
export function currentCall(call: ToolCall, { repairedCalls }: StepResult): ToolCall {
  return repairedCalls.find(({ id }) => id === call.id) ?? call;
}

/** The progress of the open calls of a step. */
export interface StepProgress {
  readonly results: readonly ToolResult[];
  readonly repairedCalls: readonly ToolCall[];
}

/** Returns a step with the progress of its open calls. Results are in the order of the calls. */
export function withProgress(step: StepResult, { results, repairedCalls }: StepProgress): StepResult {
  const byId = new Map([...step.toolResults, ...results].map((result) => [result.toolCallId, result]));
  return create(StepResultSchema, {
    ...step,
    toolResults: toolCallsOf(step.response).flatMap(({ id }) => byId.get(id) ?? []),
    repairedCalls: [...step.repairedCalls, ...repairedCalls],
  });
}
