import { create } from "@bufbuild/protobuf";
import { Client, functionTool, textOf, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import {
  type GenerateResult,
  GenerateResult_StopReason as StopReason,
} from "../../src/gen/outrigger/v1/generation_pb.ts";
import { type ToolCall, ToolResultSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import type { StepContext, ToolExecutor } from "../../src/generation/step-tools.ts";
import { type LoopItem, type LoopOptions, runToolLoop } from "../../src/generation/tool-loop.ts";
import { ScriptedModel, type Turn } from "./support/scripted-model.ts";

const tools = ["a", "b", "ask_person"].map((name) => functionTool({ name }));

/** Executes every tool but `ask_person`, and notes what it did. */
class NotingExecutor implements ToolExecutor {
  readonly executed: string[] = [];
  run: (call: ToolCall, context: StepContext) => Promise<string> = async ({ name }) => `result of ${name}`;

  isActive(name: string): boolean {
    return name === "a" || name === "b";
  }

  execute(calls: readonly ToolCall[], context: StepContext) {
    const outcomes = calls.map(async (call) => {
      this.executed.push(call.id);
      const text = await this.run(call, context);
      const result = create(ToolResultSchema, {
        toolCallId: call.id,
        content: [{ part: { case: "text", value: text } }],
      });
      return { result };
    });
    return Promise.all(outcomes);
  }
}

async function runLoop(turns: readonly Turn[], options: Partial<LoopOptions> = {}) {
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model } });
  const executor = new NotingExecutor();
  const request = create(RequestSchema, { model: "m", messages: [userMessage("hi")], tools });
  const items: LoopItem[] = [];
  const loop = runToolLoop({
    client,
    request,
    executor,
    isStreamed: false,
    maxToolRounds: 5,
    ...options,
  });
  let next = await loop.next();
  for (; next.done !== true; next = await loop.next()) items.push(next.value);
  const result: GenerateResult = next.value;
  return { model, executor: (options.executor as NotingExecutor | undefined) ?? executor, items, result };
}

describe.each([false, true])("runToolLoop(), isStreamed: %s", (isStreamed) => {
  it("gives an answer without tools as one step", async () => {
    const { result, items } = await runLoop(["hello"], { isStreamed });
    expect(textOf(result.response)).toBe("hello");
    expect(result.stopReason).toBe(StopReason.COMPLETED);
    expect(items.filter(({ case: kind }) => kind === "stepFinish")).toHaveLength(1);
    expect(items.some(({ case: kind }) => kind === "events")).toBe(isStreamed);
    expect(result.attempts).toMatchObject([{ provider: "scripted", model: "m", step: 1 }]);
  });

  it("sends the results of all calls of a step in one request, in their order, and sums the usage", async () => {
    const { result, model } = await runLoop([[{ name: "a" }, { name: "b" }], "done"], { isStreamed });
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 4]);
    const answered = model.requests[1]?.messages.slice(2).map(({ toolCallId }) => toolCallId);
    expect(answered).toEqual(result.steps[0]?.toolResults.map(({ toolCallId }) => toolCallId));
    expect(result.totalUsage).toMatchObject({ inputTokens: 20, outputTokens: 10, totalTokens: 30 });
  });

  it.each([
    [0, 1, StopReason.TOOL_CALLS, 0],
    [1, 2, StopReason.MAX_TOOL_ROUNDS, 1],
    [3, 4, StopReason.MAX_TOOL_ROUNDS, 3],
  ])("executes tools in at most %i rounds", async (maxToolRounds, steps, stopReason, executed) => {
    const { result, executor } = await runLoop([[{ name: "a" }]], { isStreamed, maxToolRounds });
    expect(result.steps).toHaveLength(steps);
    expect(result.stopReason).toBe(stopReason);
    expect(executor.executed).toHaveLength(executed);
    expect(result.steps.at(-1)?.toolResults).toEqual([]);
  });

  it("executes the active tools of a step with passive ones, and leaves the rest to the caller", async () => {
    const calls = [{ name: "ask_person" }, { name: "a" }];
    const { result, executor } = await runLoop([calls], { isStreamed });
    expect(result.stopReason).toBe(StopReason.TOOL_CALLS);
    expect(executor.executed).toHaveLength(1);
    expect(result.steps[0]?.toolResults).toHaveLength(1);
  });

  it("continues an earlier result after its open calls were answered", async () => {
    const first = await runLoop([[{ name: "ask_person" }]], { isStreamed });
    const [step] = first.result.steps;
    if (step === undefined) throw new Error("no step");
    step.toolResults.push(create(ToolResultSchema, { toolCallId: "call_1_0" }));
    const previous = { previousSteps: [step], previousAttempts: first.result.attempts };
    const { result, model, items } = await runLoop(["thanks"], { isStreamed, ...previous });
    expect(model.requests[0]?.messages).toHaveLength(3);
    expect(result.steps).toHaveLength(2);
    expect(items.at(-1)).toMatchObject({ case: "stepFinish", step: 2 });
    expect(result.totalUsage?.totalTokens).toBe(30);
    expect(result.attempts.map(({ step }) => step)).toEqual([1, 2]);
  });
});
