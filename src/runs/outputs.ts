/** The messages that a run adds to its thread. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { toolMessage } from "../core/tools.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Message, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import type { Run } from "../gen/outrigger/v1/run_pb.ts";
import { type ThreadMessage, ThreadMessageSchema } from "../gen/outrigger/v1/thread_pb.ts";
import { answerMessageId, createMessageId, isRepeated } from "./ids.ts";

/** The answer of a step and the results of its tools. @param step From 1. */
export function createStepOutputs(
  { id, attempts }: Run,
  step: number,
  { response, toolResults }: StepResult,
): ThreadMessage[] {
  const answer = response?.message;
  const answerId = answerMessageId(id, step, isRepeated(attempts, step));
  const answers = answer === undefined ? [] : [output(id, answerId, answer)];
  return [...answers, ...createResultOutputs(id, toolResults)];
}

/** The results of tools that a run has executed. */
export function createResultOutputs(runId: string, results: readonly ToolResult[]): ThreadMessage[] {
  return results.map((result) => output(runId, createMessageId(), toolMessage(result)));
}

function output(runId: string, id: string, message: Message): ThreadMessage {
  return create(ThreadMessageSchema, { id, runId, output: true, message, createdAt: timestampNow() });
}
