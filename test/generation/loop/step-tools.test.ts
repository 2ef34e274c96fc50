/** The calls of one step: executed, passive and unknown ones. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InternalError } from "../../../src/core/errors.ts";
import { StepResultSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  Role,
  type ToolCall,
  ToolCallSchema,
  ToolResultSchema,
} from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ToolSchema } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { currentCall, getOpenCalls, withProgress } from "../../../src/generation/loop/open-calls.ts";
import { NO_TOOLS, StepTools, type ToolExecutor } from "../../../src/generation/loop/step-tools.ts";

type ToolInit = NonNullable<MessageInitShape<typeof ToolSchema>["tool"]>;

const context = { step: 1, messages: [], signal: new AbortController().signal };

function tool(init: ToolInit) {
  return create(ToolSchema, { tool: init });
}

function call(id: string, name: string): ToolCall {
  return create(ToolCallSchema, { id, name, input: { case: "argumentsJson", value: "{}" } });
}

function result(toolCallId: string) {
  return create(ToolResultSchema, { toolCallId });
}

describe("StepTools", () => {
  const tools = [
    tool({ case: "function", value: { name: "f" } }),
    tool({ case: "custom", value: { name: "c" } }),
    tool({ case: "hosted", value: { configJson: '{"type":"computer","name":"screen"}' } }),
    tool({ case: "hosted", value: { configJson: '{"type":7}' } }),
    tool({ case: "hosted", value: { configJson: "no JSON" } }),
    create(ToolSchema),
  ];
  const executesF: ToolExecutor = {
    isActive: (name) => name === "f",
    execute: async (calls) => calls.map(({ id }) => ({ result: result(id) })),
  };

  it("leaves calls of the tools that are defined to the caller, by each of their names", async () => {
    const calls = ["f", "c", "computer", "screen"].map((name) => call(name, name));
    const outcome = await new StepTools(tools, NO_TOOLS).execute(calls, context);
    expect(outcome).toEqual({ outcomes: [], hasPassive: true });
  });

  it("answers calls of unknown tools with the names of the others", async () => {
    const { outcomes, hasPassive } = await new StepTools(tools, NO_TOOLS).execute([call("1", "x")], context);
    expect(hasPassive).toBe(false);
    expect(outcomes).toMatchObject([
      {
        result: {
          toolCallId: "1",
          failed: true,
          content: [{ part: { value: 'there is no tool "x"; expected one of f, c, screen, computer' } }],
        },
      },
    ]);
  });

  it("lists none if there are none, 32 at most, and 64 characters of the name", async () => {
    const answer = async (count: number) => {
      const many = Array.from({ length: count }, (_, index) =>
        tool({ case: "function", value: { name: `t${index}` } }),
      );
      const { outcomes } = await new StepTools(many, NO_TOOLS).execute([call("1", "n".repeat(65))], context);
      return outcomes[0]?.result.content[0]?.part.value;
    };
    expect(await answer(0)).toBe(`there is no tool "${"n".repeat(64)}"; expected one of none`);
    expect(await answer(33)).toMatch(/ t30, t31$/);
  });

  it("has the outcomes in the order of the calls", async () => {
    const calls = [call("1", "x"), call("2", "f"), call("3", "c"), call("4", "f")];
    const { outcomes, hasPassive } = await new StepTools(tools, executesF).execute(calls, context);
    expect(outcomes.map((each) => each.result.toolCallId)).toEqual(["1", "2", "4"]);
    expect(outcomes.map((each) => each.result.failed)).toEqual([true, false, false]);
    expect(hasPassive).toBe(true);
  });

  it("rejects if an executor returns no result for a call", async () => {
    const forgetful: ToolExecutor = { ...executesF, execute: async () => [] };
    const executing = new StepTools(tools, forgetful).execute([call("1", "f")], context);
    await expect(executing).rejects.toEqual(new InternalError("expected 1 tool results, found 0"));
  });
});

describe("The open calls of a step", () => {
  const calls = [call("1", "f"), call("2", "f"), call("3", "f")];
  const repaired = create(ToolCallSchema, {
    id: "2",
    name: "f",
    input: { case: "argumentsJson", value: "[]" },
  });
  const step = create(StepResultSchema, {
    response: {
      message: {
        role: Role.ASSISTANT,
        content: calls.map((value) => ({ part: { case: "toolCall" as const, value } })),
      },
    },
    toolResults: [result("3")],
    repairedCalls: [repaired],
  });

  it("are those without a result", () => {
    expect(getOpenCalls(step).map(({ id }) => id)).toEqual(["1", "2"]);
  });

  it("are executed as they were repaired", () => {
    expect(calls.map((each) => currentCall(each, step))).toEqual([calls[0], repaired, calls[2]]);
  });

  it("get results in the order of the calls, alongside the repairs so far", () => {
    const other = { ...repaired, id: "1" };
    const after = withProgress(step, { results: [result("2"), result("1")], repairedCalls: [other] });
    expect(after.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(["1", "2", "3"]);
    expect(after.repairedCalls).toEqual([repaired, other]);
    expect(getOpenCalls(after)).toEqual([]);
  });
});
