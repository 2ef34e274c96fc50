/** Stop conditions with their results after two steps, for the evaluation itself and for whole sidecars. */
import { create } from "@bufbuild/protobuf";
import { type StepResult, StepResultSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason as Finish } from "../../../src/gen/outrigger/v1/response_pb.ts";

/** A step with a text and a call that failed. */
export function createStep(totalTokens: number, text: string): StepResult {
  return create(StepResultSchema, {
    response: {
      message: {
        role: Role.ASSISTANT,
        content: [
          { part: { case: "text", value: text } },
          {
            part: {
              case: "toolCall",
              value: { id: "a", name: "work", input: { case: "argumentsJson", value: "{}" } },
            },
          },
        ],
      },
      usage: { totalTokens },
      finishReason: { reason: Finish.TOOL_CALLS },
      createdAt: { seconds: 1_700_000_000n },
    },
    toolResults: [
      { toolCallId: "a", failed: true, content: [{ part: { case: "text", value: "no such file" } }] },
    ],
  });
}

/** The steps that the conditions see. */
export const STEPS: readonly StepResult[] = [createStep(3, "hi"), createStep(20_000, "FINAL")];

/** Conditions, and whether they hold. */
export const STOP_CONDITIONS: readonly (readonly [condition: string, result: boolean])[] = [
  ["steps.size() >= 2", true],
  ["size(steps) >= 3", false],
  ["uint(steps.size()) == 2u", true],
  ["steps[steps.size() - 1].response.usage.total_tokens > 10000", true],
  ["steps.exists(s, s.response.message.content.exists(p, p.text.contains('FINAL')))", true],
  ["steps.exists(s, s.response.message.content.exists(p, p.text.contains('final')))", false],
  ["steps[1].response.message.content[0].text.startsWith('FIN')", true],
  ["steps[1].response.message.content[0].text.startsWith('NAL')", false],
  ["steps[1].response.message.content[0].text.endsWith('NAL')", true],
  ["steps[1].response.message.content[0].text.endsWith('FIN')", false],
  ["steps[1].response.message.content[0].text.matches('^F.*L$')", true],
  ["steps[0].response.message.content[0].text.matches('^F.*L$')", false],
  ["steps[1].response.message.content[0].text.size() == 5", true],
  ["steps.map(s, s.response.usage.total_tokens).exists(t, t > 5)", true],
  ["steps.filter(s, s.tool_results.exists(r, r.failed)).size() == 2", true],
  ["steps.all(s, has(s.response.usage.cost_nano_usd))", false],
  ["steps.exists_one(s, s.response.usage.total_tokens == 3)", true],
  ["steps[1].response.finish_reason.reason == FinishReason.Reason.REASON_TOOL_CALLS", true],
  ["steps[0].response.created_at < timestamp('2026-01-01T00:00:00Z')", true],
  ["steps[0].response.created_at.getFullYear() == 2023", true],
  ["steps[1].response.created_at - steps[0].response.created_at < duration('1s')", true],
  ["string(steps[0].response.usage.total_tokens) + 'x' == '3x'", true],
  ["'a' in steps.map(s, s.tool_results[0].tool_call_id)", true],
  ["steps.size() > 5 ? false : 1 in {1: 'x'}", true],
  ["steps\n  .all(s, true)", true],
];
