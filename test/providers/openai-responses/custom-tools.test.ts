/** Custom tools on the Responses API: tools whose input is text and not JSON. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { textOf, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  LossPolicy,
  ToolChoice_Mode as Mode,
  RequestSchema,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { Grammar_Syntax as Syntax } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { OpenAIAdapter } from "../../../src/providers/openai-responses/adapter.ts";
import { useSimulator } from "../../simulator/support.ts";
import { build, functionTool, type RequestInit } from "./build.ts";
import { HI, toInput } from "./conversation.ts";

type CustomTool = Extract<NonNullable<NonNullable<RequestInit["tools"]>[number]["tool"]>, { case: "custom" }>;

function customTool(value: CustomTool["value"]) {
  return { tool: { case: "custom", value } } as const;
}

const sql = customTool({
  name: "sql",
  description: "Runs a query.",
  grammar: { syntax: Syntax.LARK, definition: 'start: "SELECT" /.+/' },
});

describe("the declaration of a custom tool", () => {
  it("has no format if the tool has no grammar", async () => {
    const { body, warnings } = await build({
      tools: [customTool({ name: "run", description: "Runs code." })],
    });
    expect(body.tools).toEqual([{ type: "custom", name: "run", description: "Runs code." }]);
    expect(warnings).toEqual([]);
  });

  it("has no description if the tool has none", async () => {
    expect((await build({ tools: [customTool({ name: "run" })] })).body.tools).toEqual([
      { type: "custom", name: "run" },
    ]);
  });

  it.each([
    [Syntax.LARK, "lark", 'start: "SELECT" /.+/'],
    [Syntax.REGEX, "regex", "^SELECT .+$"],
  ])("has the grammar of the tool: %d is %s", async (syntax, expected, definition) => {
    const { body, warnings } = await build({
      tools: [customTool({ name: "sql", grammar: { syntax, definition } })],
    });
    expect(body.tools).toEqual([
      { type: "custom", name: "sql", format: { type: "grammar", syntax: expected, definition } },
    ]);
    expect(warnings).toEqual([]);
  });

  it("is not refused under LOSS_POLICY_REFUSE, since nothing is lost", async () => {
    const { body } = await build({ tools: [sql], lossPolicy: LossPolicy.REFUSE });
    expect(body.tools).toHaveLength(1);
  });

  it("can be named by a tool choice, alongside a function", async () => {
    const tools = [functionTool({ name: "look" }), sql];
    const { body } = await build({ tools, toolChoice: { mode: Mode.NAMED, toolName: "sql" } });
    expect(body.tool_choice).toEqual({ type: "custom", name: "sql" });
  });
});

describe("a call of a custom tool in the history", () => {
  const call = (id: string, text: string) => ({
    part: { case: "toolCall", value: { id, name: "sql", input: { case: "text", value: text } } } as const,
  });

  it("is sent with its text, and its result as the output of a custom tool call", async () => {
    const { input, warnings } = await toInput([
      userMessage("hi"),
      { role: Role.ASSISTANT, content: [call("call_1", 'SELECT "a"\n')] },
      toolResult("call_1", "1 row"),
    ]);
    expect(input).toEqual([
      HI,
      { type: "custom_tool_call", call_id: "call_1", name: "sql", input: 'SELECT "a"\n' },
      { type: "custom_tool_call_output", call_id: "call_1", output: "1 row" },
    ]);
    expect(warnings).toEqual([]);
  });
});

const simulator = useSimulator();

describe("a conversation with a custom tool", () => {
  function getAdapter(): OpenAIAdapter {
    const adapter = new OpenAIAdapter({ apiKey: "key-1", baseUrl: simulator().openaiBaseUrl });
    onTestFinished(() => adapter.close());
    return adapter;
  }

  it.each(["whole", "streamed"])("completes the call, its result and the answer, %s", async (kind) => {
    const adapter = getAdapter();
    const respond = async (messages: RequestInit["messages"]) => {
      const init: RequestInit = { model: "sim-tools", tools: [sql], ...(messages && { messages }) };
      const request = create(RequestSchema, init);
      if (kind === "whole") return adapter.complete(request);
      const accumulator = new StreamAccumulator();
      for await (const event of adapter.stream(request)) accumulator.process(event);
      return accumulator.response();
    };
    const opening = userMessage("How many rows?");
    const first = await respond([opening]);
    const [call] = toolCallsOf(first);
    expect(call).toMatchObject({ name: "sql", argumentsInvalid: false, input: { case: "text" } });
    expect(call?.input.value).not.toBe("");
    const result = toolResult(call?.id ?? "", "3 rows");
    expect(textOf(await respond([opening, first.message ?? {}, result]))).not.toBe("");
    expect(simulator().requests.at(-1)?.body).toMatchObject({
      input: [
        { type: "message" },
        { type: "custom_tool_call", call_id: call?.id, input: call?.input.value },
        { type: "custom_tool_call_output", call_id: call?.id, output: "3 rows" },
      ],
    });
  });
});
