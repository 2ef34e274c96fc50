import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  type GenerateResult,
  GenerateResult_StopReason as StopReason,
} from "../../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  type ContinueToolsRequestSchema,
  type ExecuteTool,
  GenerationService,
  type RunToolsResponse,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { ToolResultSchema } from "../../../../src/gen/outrigger/v1/message_pb.ts";
import { UsageSchema } from "../../../../src/gen/outrigger/v1/usage_pb.ts";
import { functionTool, textOf } from "../../../../src/index.ts";
import type { Turn } from "../../../generation/support/scripted-model.ts";
import { TRANSPORTS } from "../../support/clients.ts";
import { useTestServers } from "../../support/test-server.ts";
import { getViolations, startGenerationServer } from "./support/generation-server.ts";
import { textResult } from "./support/tool-caller.ts";

const servers = useTestServers();

const TOOLS = [
  functionTool({
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  }),
  functionTool({ name: "get_time" }),
];
const oslo = { name: "get_weather", id: "a", args: '{"city":"Oslo"}' };
const time = { name: "get_time", id: "b" };
const bad = { name: "get_weather", id: "a", args: "{}" };

type Init = Exclude<MessageInitShape<typeof ContinueToolsRequestSchema>, { $typeName: string }>;

function getStart(changes: object = {}, fields: object = {}): NonNullable<Init["start"]> {
  return {
    options: { request: { model: "m", tools: TOOLS }, prompt: "hi", maxToolRounds: 5, ...changes },
    ...fields,
  };
}

interface Answer {
  readonly messages: RunToolsResponse[];
  readonly kinds: string[];
  readonly executes: ExecuteTool[];
  readonly result: GenerateResult | undefined;
  readonly error: ConnectError | undefined;
}

async function step(transport: Transport, request: Init): Promise<Answer> {
  const messages: RunToolsResponse[] = [];
  let error: ConnectError | undefined;
  try {
    const client = createClient(GenerationService, transport);
    for await (const message of client.continueTools(request)) messages.push(message);
  } catch (thrown) {
    error = ConnectError.from(thrown);
  }
  expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_message, index) => index));
  const of = messages.map(({ message }) => message);
  return {
    messages,
    kinds: messages
      .map((each) => `${each.step} ${each.message.case}`)
      .filter((kind) => !kind.endsWith("event")),
    executes: of.flatMap((message) => (message.case === "execute" ? [message.value] : [])),
    result: of.flatMap((message) => (message.case === "result" ? [message.value] : []))[0],
    error,
  };
}

/** Makes the first call of a loop. */
async function begin(turns: readonly Turn[], start = getStart()) {
  const server = await startGenerationServer(servers, turns);
  const answer = await step(server.transport, { start });
  const goOn = (outputs: NonNullable<Init["outputs"]>, previous = answer.result) =>
    step(server.transport, { start, outputs, ...(previous === undefined ? {} : { previous }) });
  return { server, answer, goOn };
}

it.each(Object.entries(TRANSPORTS))(
  "over %s a loop runs in one call for each step",
  async (_name, transportTo) => {
    const server = await startGenerationServer(servers, [[oslo, time], "sunny at noon"]);
    const transport = transportTo(server.url);
    const start = getStart();
    const first = await step(transport, { start });
    expect(first.kinds).toEqual(["1 execute", "1 execute", "1 stepFinish", "1 result"]);
    expect(first.result).toMatchObject({ stopReason: StopReason.TOOL_CALLS, steps: [{ toolResults: [] }] });
    const outputs = first.executes
      .map(({ toolCall }) => ({ toolCallId: toolCall?.id ?? "", output: textResult("x") }))
      .reverse();
    const second = await step(transport, {
      start,
      outputs,
      ...(first.result === undefined ? {} : { previous: first.result }),
    });
    expect(second.kinds).toEqual(["2 stepFinish", "2 result"]);
    expect(second.result).toMatchObject({
      stopReason: StopReason.COMPLETED,
      steps: [{ toolResults: [{ toolCallId: "a" }, { toolCallId: "b" }] }, {}],
      totalUsage: { totalTokens: 30 },
      attempts: [{ step: 1 }, { step: 2 }],
    });
    expect(textOf(second.result?.response)).toBe("sunny at noon");
  },
);

it("a caller without a library continues with JSON and reads server-sent events", async () => {
  const server = await startGenerationServer(servers, [[time], "noon"]);
  const post = async (body: object) => {
    const answer = await fetch(`${server.url}/outrigger.v1.GenerationService/ContinueTools`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(body),
    });
    const events = (await answer.text())
      .trim()
      .split("\n\n")
      .map((block) => {
        const [, name = ""] = /^event: (.*)$/m.exec(block) ?? [];
        const [, data = "{}"] = /^data: (.*)$/m.exec(block) ?? [];
        return { name, data: JSON.parse(data) };
      });
    return events.filter(({ name }) => name !== "event");
  };
  const start = {
    omitEvents: true,
    options: { request: { model: "m", tools: [{ function: { name: "get_time" } }] }, prompt: "hi" },
  };
  const first = await post({ start });
  expect(first.map(({ name }) => name)).toEqual(["execute", "stepFinish", "result"]);
  const previous = first.at(-1)?.data.result;
  const outputs = [{ toolCallId: "b", result: { content: [{ text: "12:00" }] } }];
  const second = await post({ start, previous, outputs });
  expect(second.map(({ name }) => name)).toEqual(["stepFinish", "result"]);
  expect(second.at(-1)?.data.result.response.message.content).toEqual([{ text: "noon" }]);
});

it("the model gets the same conversation as from RunTools", async () => {
  const { server, goOn } = await begin([[oslo, time], "done"]);
  await goOn([
    { toolCallId: "b", output: { case: "refusal", value: { reason: "no" } } },
    { toolCallId: "a", output: textResult("sunny") },
  ]);
  const results = server.model.requests[1]?.messages.slice(-2).map(({ content }) => content[0]?.part.value);
  expect(results).toMatchObject([
    { toolCallId: "a", failed: false },
    { toolCallId: "b", failed: true },
  ]);
});

describe("calls with invalid arguments", () => {
  it("are answered at once, and the model continues in the same call", async () => {
    const { server, answer } = await begin([[bad], "sorry"]);
    expect(answer.kinds).toEqual(["1 stepFinish", "2 stepFinish", "2 result"]);
    expect(answer.result).toMatchObject({
      stopReason: StopReason.COMPLETED,
      steps: [{ toolResults: [{ failed: true }] }, {}],
    });
    expect(server.model.requests).toHaveLength(2);
  });

  it("are answered at once alongside calls that wait", async () => {
    const { answer, goOn } = await begin([[bad, time], "done"]);
    expect(answer.kinds).toEqual(["1 execute", "1 stepFinish", "1 result"]);
    expect(answer.result?.steps[0]?.toolResults).toMatchObject([{ toolCallId: "a", failed: true }]);
    const { result } = await goOn([{ toolCallId: "b", output: textResult("noon") }]);
    expect(result?.steps[0]?.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b"]);
  });

  it("are repaired, then executed, each in a separate call", async () => {
    const { server, answer, goOn } = await begin([[bad, time], "done"], getStart({}, { repairCalls: true }));
    expect(answer.executes.map(({ problem }) => problem === "")).toEqual([false, true]);
    const repaired = await goOn([
      {
        toolCallId: "a",
        output: {
          case: "repairedCall",
          value: { input: { case: "argumentsJson", value: '{"city":"Oslo"}' } },
        },
      },
      { toolCallId: "b", output: textResult("noon") },
    ]);
    expect(repaired.kinds).toEqual(["1 execute", "1 stepFinish", "1 result"]);
    expect(repaired.executes).toMatchObject([
      { problem: "", toolCall: { id: "a", input: { value: '{"city":"Oslo"}' } } },
    ]);
    expect(server.model.requests).toHaveLength(1);
    const { result } = await goOn([{ toolCallId: "a", output: textResult("sunny") }], repaired.result);
    expect(result?.steps[0]).toMatchObject({
      toolResults: [{ toolCallId: "a", failed: false }, { toolCallId: "b" }],
      repairedCalls: [{ id: "a" }],
    });
  });

  it("that are not repaired well are error results", async () => {
    const { goOn } = await begin([[bad], "sorry"], getStart({}, { repairCalls: true }));
    const { result } = await goOn([
      {
        toolCallId: "a",
        output: { case: "repairedCall", value: { input: { case: "argumentsJson", value: "[]" } } },
      },
    ]);
    expect(result).toMatchObject({
      stopReason: StopReason.COMPLETED,
      steps: [{ toolResults: [{ failed: true }] }, {}],
    });
  });
});

describe("the loop ends", () => {
  it.each([
    ["max_tool_rounds", { maxToolRounds: 1 }, StopReason.MAX_TOOL_ROUNDS, ["2 stepFinish", "2 result"]],
    [
      "stop_when, before the model is called again",
      { stopWhen: "steps.size() == 1" },
      StopReason.STOP_WHEN,
      ["1 result"],
    ],
    [
      "max_total_tokens",
      { limits: { maxTotalTokens: 30 } },
      StopReason.MAX_TOTAL_TOKENS,
      ["2 stepFinish", "2 result"],
    ],
    [
      "max_tool_calls",
      { limits: { maxToolCalls: 1 } },
      StopReason.MAX_TOOL_CALLS,
      ["2 stepFinish", "2 result"],
    ],
  ])("by %s, which counts the steps before", async (_name, changes, stopReason, kinds) => {
    const { goOn } = await begin([() => [time]], getStart(changes));
    const answer = await goOn([{ toolCallId: "b", output: textResult("x") }]);
    expect(answer.result?.stopReason).toBe(stopReason);
    expect(answer.kinds).toEqual(kinds);
  });

  it("at once if no rounds are allowed", async () => {
    const { answer } = await begin([[time]], getStart({ maxToolRounds: 0 }));
    expect(answer.kinds).toEqual(["1 stepFinish", "1 result"]);
    expect(answer.result).toMatchObject({ stopReason: StopReason.TOOL_CALLS });
  });

  it("at passive tools, whose outputs a caller may give all the same", async () => {
    const { answer, goOn } = await begin(
      [[oslo, time], "done"],
      getStart({}, { passiveTools: ["get_time"] }),
    );
    expect(answer.executes.map(({ toolCall }) => toolCall?.id)).toEqual(["a"]);
    const outputs = [
      { toolCallId: "a", output: textResult("sunny") },
      { toolCallId: "b", output: textResult("noon") },
    ];
    expect((await goOn(outputs)).result).toMatchObject({ stopReason: StopReason.COMPLETED });
  });
});

describe("a request that does not fit its loop", () => {
  it.each([
    ["has no output for a call", [{ toolCallId: "a", output: textResult("x") }], ["outputs"]],
    [
      "has an output for an unknown call",
      [
        { toolCallId: "a", output: textResult("x") },
        { toolCallId: "b", output: textResult("x") },
        { toolCallId: "c", output: textResult("x") },
      ],
      ["outputs[2].tool_call_id"],
    ],
    [
      "has two outputs for a call",
      [
        { toolCallId: "a", output: textResult("x") },
        { toolCallId: "b", output: textResult("x") },
        { toolCallId: "a", output: textResult("x") },
      ],
      ["outputs[2].tool_call_id"],
    ],
    [
      "has an output of no kind",
      [{ toolCallId: "a" }, { toolCallId: "b", output: textResult("x") }],
      ["outputs[0]"],
    ],
    [
      "has an output without an id",
      [
        { output: textResult("x") },
        { toolCallId: "a", output: textResult("x") },
        { toolCallId: "b", output: textResult("x") },
      ],
      ["outputs[0].tool_call_id"],
    ],
    [
      "repairs a call that is valid",
      [
        { toolCallId: "a", output: { case: "repairedCall", value: {} } },
        { toolCallId: "b", output: textResult("x") },
      ],
      ["outputs[0]"],
    ],
  ] as [string, NonNullable<Init["outputs"]>, string[]][])(
    "%s is refused",
    async (_case, outputs, fields) => {
      const { server, goOn } = await begin([[oslo, time], "unused"]);
      const { error, messages } = await goOn(outputs);
      expect(error).toMatchObject({ code: Code.InvalidArgument });
      expect(messages).toEqual([]);
      expect(getViolations(error)).toEqual(fields);
      expect(server.model.requests).toHaveLength(1);
    },
  );

  it("has no start, or outputs without steps, or steps of a loop that has ended", async () => {
    const { server, goOn } = await begin(["done"]);
    const { transport } = server;
    expect(getViolations((await step(transport, {})).error)).toEqual(["start"]);
    const outputs = [{ toolCallId: "a", output: textResult("x") }];
    expect(getViolations((await step(transport, { start: getStart(), outputs })).error)).toEqual(["outputs"]);
    expect(getViolations((await step(transport, { start: getStart(), previous: {} })).error)).toEqual([
      "previous.steps",
    ]);
    expect(getViolations((await goOn([])).error)).toEqual(["previous.stop_reason"]);
    const hollow = { stopReason: StopReason.TOOL_CALLS, steps: [{}] };
    expect(getViolations((await step(transport, { start: getStart(), previous: hollow })).error)).toEqual([
      "previous.steps[0].response",
    ]);
    expect(server.model.requests).toHaveLength(1);
  });

  it("has as many steps as a generation may have, or more", async () => {
    const { goOn, answer, server } = await begin([[oslo], "unused"]);
    const [only] = answer.result?.steps ?? [];
    if (answer.result === undefined || only === undefined) throw new Error("the loop has not begun");
    const done = { ...only, toolResults: [create(ToolResultSchema, { toolCallId: "a" })] };
    for (const length of [100, 101, 5000]) {
      const previous = { ...answer.result, steps: Array.from({ length }, () => done) };
      const { error } = await goOn([], previous);
      expect(getViolations(error)).toEqual(["previous.steps"]);
      expect(error?.message).toContain(`expected fewer than 100 steps, found ${length}`);
    }
    expect(server.model.requests).toHaveLength(1);
  });

  it("has usage below zero", async () => {
    const { goOn, answer, server } = await begin([[oslo], "unused"]);
    const [only] = answer.result?.steps ?? [];
    if (answer.result === undefined || only?.response === undefined)
      throw new Error("the loop has not begun");
    const usage = create(UsageSchema, {
      inputTokens: -1,
      outputTokens: -1,
      totalTokens: -2,
      reasoningTokens: -1,
      cacheReadTokens: -1,
      cacheWriteTokens: -1,
      costNanoUsd: -1n,
    });
    const previous = { ...answer.result, steps: [{ ...only, response: { ...only.response, usage } }] };
    const { error } = await goOn([{ toolCallId: "a", output: textResult("x") }], previous);
    const names = ["input_tokens", "output_tokens", "total_tokens", "reasoning_tokens"];
    const others = ["cache_read_tokens", "cache_write_tokens", "cost_nano_usd"];
    const fields = [...names, ...others].map((name) => `previous.steps[0].response.usage.${name}`);
    expect(getViolations(error)).toEqual(fields);
    expect(server.model.requests).toHaveLength(1);
  });

  it("has earlier steps whose calls have no results", async () => {
    const { goOn, answer } = await begin([[oslo], "unused"]);
    const [only] = answer.result?.steps ?? [];
    if (answer.result === undefined || only === undefined) throw new Error("the loop has not begun");
    const previous = { ...answer.result, steps: [only, only] };
    const { error } = await goOn([{ toolCallId: "a", output: textResult("x") }], previous);
    expect(getViolations(error)).toEqual(["previous.steps[0].tool_results"]);
  });
});
