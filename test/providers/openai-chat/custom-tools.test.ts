/**
 * Custom tools, whose input is free text: declaration, tool choice, calls and results, and the function that replaces
 * them.
 */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type Message, Role, type ToolCall } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  LossPolicy,
  ToolChoice_Mode as Mode,
  RequestSchema,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason as Reason, type Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { Grammar_Syntax } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { OpenAIChatAdapter } from "../../../src/providers/openai-chat/adapter.ts";
import { collect, responseIn } from "../support/calls.ts";
import { list, type Wire } from "./reading.ts";
import { type RequestInit, sent, toMessages } from "./support.ts";

const GRAMMAR = { syntax: Grammar_Syntax.LARK, definition: 'start: "a"+' };

const SUPPORTED = { supportsCustomTools: true };

function customTool(more: object = {}) {
  return { tool: { case: "custom", value: { name: "run_sql", ...more } } } as const;
}

function requestWith(tool: ReturnType<typeof customTool>, more: RequestInit = {}): RequestInit {
  return { messages: [userMessage("hi")], tools: [tool], ...more };
}

const FUNCTION_PARAMETERS = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

describe("the declaration of a custom tool", () => {
  it("has only its name if there is neither description nor grammar", async () => {
    const { body, warnings } = await sent(requestWith(customTool()), SUPPORTED);
    expect(body.tools).toEqual([{ type: "custom", custom: { name: "run_sql" } }]);
    expect(warnings).toEqual([]);
  });

  it.each([
    ["lark", Grammar_Syntax.LARK, 'start: "a"+'],
    ["regex", Grammar_Syntax.REGEX, "a+"],
  ])("has its description and a %s grammar", async (syntax, value, definition) => {
    const tool = customTool({ description: "Runs SQL.", grammar: { syntax: value, definition } });
    const { body, warnings } = await sent(requestWith(tool), "openai");
    const format = { type: "grammar", grammar: { syntax, definition } };
    expect(body.tools).toEqual([
      { type: "custom", custom: { name: "run_sql", description: "Runs SQL.", format } },
    ]);
    expect(warnings).toEqual([]);
  });

  it("becomes a function with one argument if the server has no custom tools", async () => {
    const { body, warnings } = await sent(requestWith(customTool({ description: "Runs SQL." })));
    const called = { name: "run_sql", description: "Runs SQL.", parameters: FUNCTION_PARAMETERS };
    expect(body.tools).toEqual([{ type: "function", function: called }]);
    expect(warnings).toEqual(["adjusted_setting tools[0].custom"]);
  });

  it.each([
    ["without a grammar", {}],
    ["with a grammar", { grammar: GRAMMAR }],
  ])("is refused %s under LOSS_POLICY_REFUSE if the server has no custom tools", async (_, more) => {
    const request = requestWith(customTool(more), { lossPolicy: LossPolicy.REFUSE });
    await expect(sent(request)).rejects.toMatchObject({ violations: [{ field: "tools[0].custom" }] });
    await expect(sent(request, SUPPORTED)).resolves.toMatchObject({ warnings: [] });
  });
});

describe("a tool choice that names a custom tool", () => {
  const toolChoice = { mode: Mode.NAMED, toolName: "run_sql" };

  it("has the type of the tool", async () => {
    const { body } = await sent(requestWith(customTool(), { toolChoice }), SUPPORTED);
    expect(body.tool_choice).toEqual({ type: "custom", custom: { name: "run_sql" } });
  });

  it("names the function if the server has no custom tools", async () => {
    const { body } = await sent(requestWith(customTool(), { toolChoice }));
    expect(body.tool_choice).toEqual({ type: "function", function: { name: "run_sql" } });
  });
});

describe("an earlier call of a custom tool", () => {
  const call = { id: "call_1", name: "run_sql", input: { case: "text", value: "SELECT 1" } } as const;
  const messages = [
    userMessage("hi"),
    { role: Role.ASSISTANT, content: [{ part: { case: "toolCall", value: call } as const }] },
    toolResult("call_1", "1"),
  ];

  it("is sent with its text", async () => {
    const { body } = await sent({ messages, tools: [customTool()] }, SUPPORTED);
    const [, assistant, result] = toMessages(body);
    expect(assistant?.tool_calls).toEqual([
      { id: "call_1", type: "custom", custom: { name: "run_sql", input: "SELECT 1" } },
    ]);
    expect(result).toEqual({ role: "tool", tool_call_id: "call_1", content: "1" });
  });

  it("is sent as a call of the function if the server has no custom tools", async () => {
    const { body } = await sent({ messages, tools: [customTool()] });
    const called = { name: "run_sql", arguments: '{"input":"SELECT 1"}' };
    expect(toMessages(body)[1]?.tool_calls).toEqual([{ id: "call_1", type: "function", function: called }]);
  });

  it("is found among very many tools in constant time", async () => {
    // A search of all tools for each call would take longer than a test may.
    const tools = Array.from({ length: 30_000 }, (_, index) => customTool({ name: `tool_${index}` }));
    const calls = Array.from({ length: 60_000 }, (_, index) => ({
      ...call,
      id: `call_${index}`,
      name: "tool_29999",
    }));
    const content = calls.map((value) => ({ part: { case: "toolCall", value } as const }));
    const results = calls.map(({ id }) => toolResult(id, "1"));
    const conversation = [userMessage("hi"), { role: Role.ASSISTANT, content }, ...results];
    const { body } = await sent({ messages: conversation, tools });
    const types = list(toMessages(body)[1]?.tool_calls).map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(["function"]));
  });
});

describe("a round trip of a custom tool through the simulator", () => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterAll(() => simulator.close());

  /** Asks, sends the results of the calls after the unchanged answer, and returns both answers. */
  async function converse(supportsCustomTools: boolean, streams: boolean) {
    const adapter = new OpenAIChatAdapter({
      baseUrl: simulator.openaiBaseUrl,
      apiKey: "key-1",
      profile: { supportsCustomTools },
    });
    onTestFinished(() => adapter.close());
    const ask = async (messages: Message[]): Promise<Response> => {
      const tools = [customTool({ description: "Runs SQL.", grammar: GRAMMAR })];
      const request = create(RequestSchema, { model: "sim-tools", messages, tools });
      return streams ? responseIn(await collect(adapter.stream(request))) : adapter.complete(request);
    };
    const first = await ask([userMessage("How many rows?")]);
    if (first.message === undefined) throw new Error("the answer has no message");
    const results = toolCallsOf(first).map(({ id }) => toolResult(id, "42 rows"));
    return { first, second: await ask([userMessage("How many rows?"), first.message, ...results]) };
  }

  /** The calls of the assistant message in the last request. */
  function callsSent(): Wire[] {
    const body = simulator.requests.at(-1)?.body as { messages: Wire[] } | undefined;
    return list(body?.messages[1]?.tool_calls);
  }

  it.each([
    ["a whole answer", false],
    ["a stream", true],
  ])("keeps the text of the call in %s", async (_, streams) => {
    const { first, second } = await converse(true, streams);
    const [call] = toolCallsOf(first) as [ToolCall];
    expect(first.finishReason?.reason).toBe(Reason.TOOL_CALLS);
    expect(call).toMatchObject({ name: "run_sql", input: { case: "text" } });
    expect(callsSent()).toEqual([
      { id: call.id, type: "custom", custom: { name: "run_sql", input: call.input.value } },
    ]);
    expect(JSON.stringify(second.message?.content[0]?.part.value)).toContain("42 rows");
  });

  it.each([
    ["a whole answer", false],
    ["a stream", true],
  ])("has arguments instead in %s if the server has no custom tools", async (_, streams) => {
    const { first, second } = await converse(false, streams);
    const [call] = toolCallsOf(first) as [ToolCall];
    expect(call).toMatchObject({ name: "run_sql", input: { case: "argumentsJson" } });
    expect(JSON.parse(call.input.value ?? "")).toMatchObject({ input: expect.any(String) });
    expect(first.warnings).toMatchObject([
      {
        code: "adjusted_setting",
        field: "tools[0].custom",
        message: expect.stringContaining("its grammar is not enforced"),
      },
    ]);
    expect(callsSent()).toMatchObject([{ id: call.id, type: "function" }]);
    expect(JSON.stringify(second.message?.content[0]?.part.value)).toContain("42 rows");
  });

  it("is refused before it is sent under LOSS_POLICY_REFUSE if the server has no custom tools", async () => {
    const adapter = new OpenAIChatAdapter({ baseUrl: simulator.openaiBaseUrl, apiKey: "key-1" });
    onTestFinished(() => adapter.close());
    const known = simulator.requests.length;
    const request = create(RequestSchema, {
      model: "sim-tools",
      ...requestWith(customTool(), { lossPolicy: LossPolicy.REFUSE }),
    });
    await expect(adapter.complete(request)).rejects.toBeInstanceOf(InvalidRequestError);
    expect(simulator.requests).toHaveLength(known);
  });
});
