import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  GenerateResultSchema,
  GenerateResult_StopReason as Reason,
  StepResultSchema,
} from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { failedResult } from "../../../src/generation/loop/failed-result.ts";
import { GenerateResult, StepResult, stepsCondition } from "../../../src/generation/loop/generate-result.ts";

type StepInit = MessageInitShape<typeof StepResultSchema>;

function createStep(text: string, raw = "stop"): StepInit {
  return {
    response: {
      message: { role: Role.ASSISTANT, content: [{ part: { case: "text", value: text } }] },
      finishReason: {
        reason: raw === "pause_turn" ? FinishReason_Reason.OTHER : FinishReason_Reason.STOP,
        raw,
      },
    },
  };
}

describe("GenerateResult", () => {
  it.each([
    [Reason.UNSPECIFIED, "UNSPECIFIED"],
    [Reason.COMPLETED, "COMPLETED"],
    [Reason.TOOL_CALLS, "TOOL_CALLS"],
    [Reason.MAX_TOOL_ROUNDS, "MAX_TOOL_ROUNDS"],
    [Reason.STOP_WHEN, "STOP_WHEN"],
    [Reason.MAX_STEPS, "MAX_STEPS"],
    [Reason.MAX_TOTAL_TOKENS, "MAX_TOTAL_TOKENS"],
    [Reason.MAX_COST, "MAX_COST"],
    [Reason.MAX_TOOL_CALLS, "MAX_TOOL_CALLS"],
    [99 as Reason, "UNSPECIFIED"],
  ])("names the reason %i %s", (stopReason, name) => {
    const message = create(GenerateResultSchema, { stopReason, steps: [createStep("a")] });
    expect(new GenerateResult(message).stopReason).toBe(name);
  });

  it("needs a step with a whole response", () => {
    const expected = "expected a response with a message and a finishReason, found no message";
    expect(() => new GenerateResult(create(GenerateResultSchema))).toThrow(expected);
    expect(() => new StepResult(create(StepResultSchema))).toThrow(expected);
  });

  it("has the text of a turn that the provider paused, and of no step before it", () => {
    const steps = [
      createStep("a"),
      createStep("b", "pause_turn"),
      createStep("c", "pause_turn"),
      createStep("d"),
    ];
    const result = new GenerateResult(create(GenerateResultSchema, { steps }));
    expect(result.text).toBe("bcd");
    expect(result.response.finishReason.raw).toBe("stop");
    const other = new GenerateResult(
      create(GenerateResultSchema, { steps: [createStep("a", "other"), createStep("b")] }),
    );
    expect(other.text).toBe("b");
  });
});

describe("stepsCondition()", () => {
  it("sees all steps each time, each wrapped once", async () => {
    const seen: (readonly StepResult[])[] = [];
    const condition = stepsCondition((steps) => {
      seen.push([...steps]);
      return steps.length === 2;
    });
    const messages = [createStep("a"), createStep("b")].map((step) => create(StepResultSchema, step));
    expect([condition(messages.slice(0, 1)), condition(messages)]).toEqual([false, true]);
    expect(seen.map((steps) => steps.map(({ text }) => text))).toEqual([["a"], ["a", "b"]]);
    expect(seen[1]?.[0]).toBe(seen[0]?.[0]);
  });
});

describe("failedResult()", () => {
  it.each([
    [2048, "x".repeat(2048)],
    [2049, `${"x".repeat(2048)}…`],
  ])("shortens a text of %i characters if it is longer than 2,048", (length, text) => {
    expect(failedResult({ id: "c" }, "x".repeat(length))).toMatchObject({
      toolCallId: "c",
      failed: true,
      content: [{ part: { value: text } }],
    });
  });

  it("does not cut a surrogate pair", () => {
    expect(failedResult({ id: "c" }, "\ud800").content[0]?.part.value).toBe("\ufffd");
  });
});
