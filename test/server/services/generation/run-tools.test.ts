import { setTimeout } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { NetworkError } from "../../../../src/core/errors.ts";
import {
  FailedGenerationSchema,
  GenerateResult_StopReason as StopReason,
} from "../../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  GenerationService,
  RejectedOutput_Reason as Reason,
  type RunToolsRequestSchema,
  type RunToolsResponse,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { Role } from "../../../../src/gen/outrigger/v1/message_pb.ts";
import { customTool, functionTool, textOf } from "../../../../src/index.ts";
import type { Turn } from "../../../generation/support/scripted-model.ts";
import { textEvents } from "../../support/scripted-inference.ts";
import { useTestServers } from "../../support/test-server.ts";
import { getViolations, lastLine, startGenerationServer } from "./support/generation-server.ts";
import { onExecute, ToolCaller, textResult } from "./support/tool-caller.ts";

const servers = useTestServers();

const CITY_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const TOOLS = [
  functionTool({ name: "get_weather", parameters: CITY_SCHEMA }),
  functionTool({ name: "get_time" }),
  customTool({ name: "run_code" }),
];

function options(changes: object = {}) {
  return { request: { model: "m", tools: TOOLS }, prompt: "hi", maxToolRounds: 5, ...changes };
}

const oslo = { name: "get_weather", id: "a", args: '{"city":"Oslo"}' };
const time = { name: "get_time", id: "b" };

/** Starts a server whose model calls tools and then answers, and a caller that has opened a loop. */
async function open(
  turns: readonly Turn[],
  onMessage: (message: RunToolsResponse, caller: ToolCaller) => void,
  start: object = {},
) {
  const server = await startGenerationServer(servers, turns);
  const caller: ToolCaller = new ToolCaller((message) => onMessage(message, caller));
  caller.start({ options: options(), ...start });
  return { server, caller, run: () => caller.run(server.transport) };
}

/** Answers each execute. */
function answering(answer: (id: string, caller: ToolCaller, problem: string) => void) {
  return (message: RunToolsResponse, caller: ToolCaller) =>
    onExecute(({ problem }, id) => answer(id, caller, problem))(message);
}

const TRANSPORTS = {
  gRPC: undefined,
  "Connect over HTTP/2": (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "Connect with JSON": (baseUrl: string) =>
    createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false }),
  "gRPC-Web over HTTP/2": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
};

it.each(Object.entries(TRANSPORTS))(
  "over %s the caller executes the tools and gets the result",
  async (_name, transportTo) => {
    const { server, caller } = await open(
      [[oslo, time], "sunny at noon"],
      answering((id, to) => to.answer(id, textResult(`result of ${id}`))),
    );
    const outcome = await caller.run(transportTo?.(server.url) ?? server.transport);
    expect(outcome.error).toBeUndefined();
    expect(outcome.executes.map(({ toolCall }) => toolCall?.name)).toEqual(["get_weather", "get_time"]);
    expect(outcome.executes[0]).toMatchObject({ problem: "", timeout: { seconds: 300n } });
    expect(outcome.result).toMatchObject({
      stopReason: StopReason.COMPLETED,
      totalUsage: { totalTokens: 30 },
    });
    expect(textOf(outcome.result?.response)).toBe("sunny at noon");
    expect(outcome.result?.steps[0]?.toolResults).toMatchObject([
      { toolCallId: "a", failed: false, content: [{ part: { value: "result of a" } }] },
      { toolCallId: "b" },
    ]);
    expect(server.model.requests[1]?.messages.map(({ role }) => role)).toEqual([
      Role.USER,
      Role.ASSISTANT,
      Role.TOOL,
      Role.TOOL,
    ]);
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({
        rpc: "outrigger.v1.GenerationService/RunTools",
        code: "OK",
        input_tokens: 20,
        output_tokens: 10,
      });
  },
);

it("outputs may come in any order, and the results are in the order of the calls", async () => {
  const seen: string[] = [];
  const { run } = await open(
    [[oslo, time], "done"],
    answering((id, to) => {
      seen.push(id);
      if (seen.length === 2) for (const each of [...seen].reverse()) to.answer(each, textResult(each));
    }),
  );
  const { result } = await run();
  expect(result?.steps[0]?.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b"]);
});

it("an error, a refusal and an empty reason are error results for the model", async () => {
  const { server, run } = await open(
    [[oslo, time, { ...time, id: "c" }], "done"],
    answering((id, to) => {
      if (id === "a") to.answer(id, { case: "failure", value: { message: "no network" } });
      else if (id === "b") to.answer(id, { case: "refusal", value: { reason: "a person said no" } });
      else to.answer(id, { case: "refusal", value: {} });
    }),
  );
  await run();
  const results = server.model.requests[1]?.messages.slice(-3).map(({ content }) => content[0]?.part.value);
  expect(results).toMatchObject([
    { toolCallId: "a", failed: true, content: [{ part: { value: "no network" } }] },
    { toolCallId: "b", failed: true, content: [{ part: { value: "a person said no" } }] },
    { toolCallId: "c", failed: true, content: [{ part: { value: "the call was refused" } }] },
  ]);
});

it("without events the provider is asked for whole answers", async () => {
  const { server, run } = await open(
    [[oslo], "done"],
    answering((id, to) => to.answer(id, textResult("x"))),
    { omitEvents: true },
  );
  server.model.stream = () => {
    throw new Error("not to be called");
  };
  const { messages } = await run();
  expect(messages.map(({ message, step }) => `${step} ${message.case}`)).toEqual([
    "1 execute",
    "1 stepFinish",
    "2 stepFinish",
    "2 result",
  ]);
});

describe("calls with invalid arguments", () => {
  const bad = { name: "get_weather", id: "a", args: '{"town":1}' };
  const broken = { name: "get_weather", id: "a", args: '{"city":' };

  it.each([
    ["that do not match the schema", bad, /city/],
    ["that do not parse", broken, /JSON/],
  ])("%s are error results at once", async (_case, call, text) => {
    const { run } = await open([[call], "sorry"], () => {});
    const { executes, result } = await run();
    expect(executes).toEqual([]);
    const [answer] = result?.steps[0]?.toolResults ?? [];
    expect(answer).toMatchObject({ toolCallId: "a", failed: true });
    expect(answer?.content[0]?.part.value).toMatch(text);
  });

  it("are repaired by a caller that asks for it, then executed", async () => {
    const { run } = await open(
      [[bad], "done"],
      answering((id, to, problem) => {
        if (problem === "") to.answer(id, textResult("sunny"));
        else
          to.answer(id, {
            case: "repairedCall",
            value: { input: { case: "argumentsJson", value: '{"city":"Oslo"}' } },
          });
      }),
      { repairCalls: true },
    );
    const { executes, result } = await run();
    expect(executes.map(({ toolCall, problem }) => [toolCall?.input.value, problem === ""])).toEqual([
      ['{"town":1}', false],
      ['{"city":"Oslo"}', true],
    ]);
    expect(result?.steps[0]).toMatchObject({
      toolResults: [{ toolCallId: "a", failed: false }],
      repairedCalls: [{ id: "a", name: "get_weather", input: { value: '{"city":"Oslo"}' } }],
    });
  });

  it("that are still invalid after the repair are error results", async () => {
    const { run } = await open(
      [[bad], "done"],
      answering((id, to) =>
        to.answer(id, { case: "repairedCall", value: { input: { case: "argumentsJson", value: "{}" } } }),
      ),
      { repairCalls: true },
    );
    const { executes, result } = await run();
    expect(executes).toHaveLength(1);
    expect(result?.steps[0]).toMatchObject({ toolResults: [{ failed: true }], repairedCalls: [] });
  });

  it("cannot be repaired to another tool", async () => {
    const { run } = await open(
      [[bad], "done"],
      answering((id, to) =>
        to.answer(id, {
          case: "repairedCall",
          value: { name: "get_time", input: { case: "argumentsJson", value: "{}" } },
        }),
      ),
      { repairCalls: true },
    );
    const { executes, result } = await run();
    expect(executes).toHaveLength(1);
    expect(result?.steps[0]).toMatchObject({ toolResults: [{ failed: true }] });
  });

  it("a result for a call that wants repair is of the wrong kind, and the call still waits", async () => {
    const { run } = await open(
      [[bad], "done"],
      (message, to) => {
        if (message.message.case === "execute") to.answer("a", textResult("made up"));
        if (message.message.case === "rejectedOutput")
          to.answer("a", { case: "failure", value: { message: "cannot repair" } });
      },
      { repairCalls: true },
    );
    const { rejected, result } = await run();
    expect(rejected).toMatchObject([{ toolCallId: "a", reason: Reason.WRONG_KIND }]);
    expect(result?.steps[0]?.toolResults).toMatchObject([
      { failed: true, content: [{ part: { value: "cannot repair" } }] },
    ]);
  });
});

describe("outputs that are not used", () => {
  it("name an unknown call, a call that was answered, or one of another kind", async () => {
    const { run } = await open(
      [[oslo], "done"],
      answering((id, to) => {
        to.answer("x".repeat(300), textResult("?"));
        to.answer(id, { case: "repairedCall", value: {} });
        to.answer(id, textResult("first"));
        to.answer(id, textResult("second"));
      }),
    );
    const { rejected, result } = await run();
    expect(rejected.map(({ reason }) => reason)).toEqual([
      Reason.UNKNOWN_CALL,
      Reason.WRONG_KIND,
      Reason.ALREADY_ANSWERED,
    ]);
    expect(rejected[0]?.toolCallId).toBe("x".repeat(256));
    expect(result?.steps[0]?.toolResults).toMatchObject([{ content: [{ part: { value: "first" } }] }]);
  });

  it("came after the tool's time limit", async () => {
    const { server, caller } = await open(
      [[oslo], [time], "done"],
      (message, to) => {
        if (message.message.case === "stepFinish" && message.step === 1) to.answer("a", textResult("late"));
        if (message.message.case === "rejectedOutput") to.answer("b", textResult("noon"));
      },
      { options: options({ timeouts: { perTool: { nanos: 50_000_000 } } }) },
    );
    server.model.beforeAnswer = undefined;
    const { rejected, result } = await caller.run(server.transport);
    expect(rejected).toMatchObject([{ toolCallId: "a", reason: Reason.TOO_LATE }]);
    const texts = result?.steps.flatMap(({ toolResults }) =>
      toolResults.map(({ content }) => content[0]?.part.value),
    );
    expect(texts?.[0]).toBe("the tool did not answer within 50 ms");
  });
});

type Sent = MessageInitShape<typeof RunToolsRequestSchema>;

describe("a caller that breaks the order", () => {
  const second: Sent = { message: { case: "start", value: { options: options() } } };
  const cases: [string, Sent[], string][] = [
    [
      "has a first message that is no start",
      [{ message: { case: "output", value: { toolCallId: "a" } } }],
      "start",
    ],
    ["has a first message of no kind", [{}], "start"],
    ["sends a second start", [second, second], "start"],
    ["sends a message of no kind", [second, {}], "message"],
    [
      "sends an output without an id",
      [second, { message: { case: "output", value: { output: textResult("x") } } }],
      "output.tool_call_id",
    ],
    [
      "sends an output without an outcome",
      [second, { message: { case: "output", value: { toolCallId: "a" } } }],
      "output",
    ],
    [
      "sends a result for another id",
      [
        second,
        {
          message: {
            case: "output",
            value: { toolCallId: "a", output: { case: "result", value: { toolCallId: "z" } } },
          },
        },
      ],
      "output.result.tool_call_id",
    ],
    [
      "sends a result with a part of no kind",
      [
        second,
        {
          message: {
            case: "output",
            value: { toolCallId: "a", output: { case: "result", value: { content: [{}] } } },
          },
        },
      ],
      "output.result.content[0]",
    ],
  ];
  it.each(cases)("%s ends the call with INVALID_REQUEST", async (_case, messages, field) => {
    const server = await startGenerationServer(servers, [[oslo], "done"]);
    const caller = new ToolCaller(() => {}, { isChecked: false });
    for (const message of messages) caller.send(message);
    const { error, result } = await caller.run(server.transport);
    expect(result).toBeUndefined();
    expect(error).toMatchObject({ code: Code.InvalidArgument });
    expect(getViolations(error)).toEqual([field]);
    await expect.poll(() => server.model.open).toBe(0);
  });

  it("ends its side before a start", async () => {
    const server = await startGenerationServer(servers, ["unused"]);
    const { error } = await new ToolCaller().end().run(server.transport);
    expect(getViolations(error)).toEqual(["start"]);
  });

  it("sends nothing is not waited for longer than a request", async () => {
    const server = await startGenerationServer(servers, ["unused"], { limits: { stallTimeoutMs: 100 } });
    const { error } = await new ToolCaller().run(server.transport);
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
    expect(error?.rawMessage).toContain("limits.stall_timeout");
  });

  it("names a passive tool that is not defined", async () => {
    const { run } = await open(["unused"], () => {}, { passiveTools: ["get_weather", "nope"] });
    expect(getViolations((await run()).error)).toEqual(["start.passive_tools[1]"]);
  });

  it("has a tool whose schema is none", async () => {
    const tools = [functionTool({ name: "t" })];
    if (tools[0]?.tool.case === "function") tools[0].tool.value.parametersJson = '{"type":"nothing"}';
    const { run } = await open(["unused"], () => {}, {
      options: options({ request: { model: "m", tools } }),
    });
    expect(getViolations((await run()).error)).toEqual([
      "start.options.request.tools[0].function.parameters_json#/type",
    ]);
  });
});

describe("a caller that ends its side", () => {
  it("right after the start gets error results for all calls, and the model's answer", async () => {
    const { caller, run } = await open([[oslo], [time], "done"], () => {});
    caller.end();
    const { executes, result } = await run();
    expect(executes).toEqual([]);
    expect(result?.steps.map(({ toolResults }) => toolResults.map(({ failed }) => failed))).toEqual([
      [true],
      [true],
      [],
    ]);
    expect(textOf(result?.response)).toBe("done");
  });

  it("while calls are open gets error results for those only", async () => {
    const { run } = await open(
      [[oslo, time], "done"],
      answering((id, to) => {
        if (id === "a") to.answer(id, textResult("sunny"));
        else to.end();
      }),
    );
    const { result } = await run();
    expect(result?.steps[0]?.toolResults.map(({ failed }) => failed)).toEqual([false, true]);
  });
});

describe("the loop ends", () => {
  it("at passive tools, after the others were executed", async () => {
    const { run } = await open(
      [[oslo, time]],
      answering((id, to) => to.answer(id, textResult("x"))),
      { passiveTools: ["get_time"] },
    );
    const { executes, result } = await run();
    expect(executes.map(({ toolCall }) => toolCall?.id)).toEqual(["a"]);
    expect(result).toMatchObject({
      stopReason: StopReason.TOOL_CALLS,
      steps: [{ toolResults: [{ toolCallId: "a" }] }],
    });
  });

  it.each([
    ["max_tool_rounds", { maxToolRounds: 2 }, StopReason.MAX_TOOL_ROUNDS, 3],
    ["stop_when", { stopWhen: "steps.size() >= 2" }, StopReason.STOP_WHEN, 2],
    ["max_steps", { limits: { maxSteps: 2 } }, StopReason.MAX_STEPS, 2],
    ["max_total_tokens", { limits: { maxTotalTokens: 40 } }, StopReason.MAX_TOTAL_TOKENS, 3],
    ["max_tool_calls", { limits: { maxToolCalls: 1 } }, StopReason.MAX_TOOL_CALLS, 2],
  ])("by %s", async (_name, changes, stopReason, steps) => {
    const turn: Turn = () => [{ name: "get_time" }];
    const { run } = await open(
      [turn],
      answering((id, to) => to.answer(id, textResult("x"))),
      { options: options(changes) },
    );
    const { result } = await run();
    expect(result?.stopReason).toBe(stopReason);
    expect(result?.steps).toHaveLength(steps);
  });

  it("by the sidecar's limit of steps", async () => {
    const server = await startGenerationServer(servers, [() => [{ name: "get_time" }]], {
      generationLimits: { maxGenerationSteps: 3 },
    });
    const caller: ToolCaller = new ToolCaller(
      onExecute((_execute, id) => caller.answer(id, textResult("x"))),
    );
    caller.start({ options: options({ maxToolRounds: 1000, limits: { maxSteps: 1000 } }) });
    const { result } = await caller.run(server.transport);
    expect(result).toMatchObject({ stopReason: StopReason.MAX_STEPS });
    expect(result?.steps).toHaveLength(3);
  });

  it("with an error that has the usage of all steps, after a failure between steps", async () => {
    const { server, run } = await open(
      [[oslo], new NetworkError("reset", { retryable: false })],
      answering((id, to) => to.answer(id, textResult("x"))),
    );
    const { messages, error } = await run();
    expect(messages.at(-1)?.message).toMatchObject({ case: "error", value: { usage: { totalTokens: 15 } } });
    expect(error).toMatchObject({ code: Code.Unavailable });
    await expect.poll(() => lastLine(server)).toMatchObject({ error_kind: "NETWORK", input_tokens: 10 });
  });

  it("with the steps and attempts before a failure among the details of its status", async () => {
    const long = { name: "get_time", id: "c", args: JSON.stringify({ zone: "x".repeat(4000) }) };
    const { run } = await open(
      [[oslo], [long], new NetworkError("reset", { retryable: false })],
      answering((id, to) => to.answer(id, textResult("x"))),
    );
    const { error } = await run();
    const [progress] = error?.findDetails(FailedGenerationSchema) ?? [];
    // The second step does not fit into a status.
    expect(progress).toMatchObject({ stepCount: 2, steps: [{ toolResults: [{ toolCallId: "a" }] }] });
    expect(progress?.attempts.map(({ step }) => step)).toEqual([1, 2, 3]);
  });

  it("by a stop condition that fails", async () => {
    const { run } = await open(
      [[oslo], "unused"],
      answering((id, to) => to.answer(id, textResult("x"))),
      { options: options({ stopWhen: "steps[5].response.id == ''" }) },
    );
    const { error } = await run();
    expect(getViolations(error)).toEqual(["start.options.stop_when"]);
  });
});

describe("a caller that disconnects", () => {
  it("while the model is silent aborts the provider's call", async () => {
    const { server, caller, run } = await open(["unused"], () => {});
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    server.model.beforeAnswer = (signal) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => {
          resolve();
          reject(signal.reason);
        }),
      );
    const ended = run();
    await expect.poll(() => server.model.requests.length).toBe(1);
    caller.disconnect();
    await aborted;
    expect((await ended).error).toMatchObject({ code: Code.Canceled });
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({ code: "CANCELLED", msg: "client disconnected" });
  });

  it("while tools are executed ends the loop", async () => {
    const { server, run } = await open(
      [[oslo], "unused"],
      answering((_id, to) => to.disconnect()),
    );
    await run();
    await expect.poll(() => lastLine(server)).toMatchObject({ code: "CANCELLED", input_tokens: 10 });
    expect(server.model.requests).toHaveLength(1);
  });
});

it("a server that stops ends loops that wait for tools with their status", async () => {
  const server = await startGenerationServer(servers, [[oslo], "unused"], { drainTimeoutMs: 50 });
  const { promise: waiting, resolve } = Promise.withResolvers<void>();
  const caller = new ToolCaller(onExecute(() => resolve())).start({ options: options() });
  const ended = caller.run(server.transport);
  await waiting;
  await server.drain();
  expect((await ended).error).toMatchObject({ code: Code.Unavailable });
});

it("keeps the growth of a conversation within the memory for requests", async () => {
  const big = "x".repeat(100_000);
  const server = await startGenerationServer(servers, [() => [{ name: "get_time" }]], {
    limits: { maxRequestMemoryBytes: 500_000 },
  });
  const caller: ToolCaller = new ToolCaller(onExecute((_execute, id) => caller.answer(id, textResult(big))));
  caller.start({ options: options({ maxToolRounds: 50 }) });
  const { error, executes } = await caller.run(server.transport);
  expect(error).toMatchObject({ code: Code.ResourceExhausted });
  expect(error?.rawMessage).toContain("limits.max_request_memory");
  expect(executes.length).toBeLessThan(7);
});

it("waits for a caller that does not read, and so does the provider", async () => {
  let given = 0;
  const deltas = Array.from({ length: 400 }, () => "x".repeat(20_000));
  const server = await servers.start({
    stream: async function* (call) {
      for (const event of textEvents(call, deltas)) {
        given += 1;
        yield [event];
      }
    },
  });
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const client = createClient(GenerationService, createGrpcTransport({ baseUrl: server.url }));
  const messages = client
    .runTools(
      (async function* () {
        yield { message: { case: "start", value: { options: options() } } } as const;
        await left;
      })(),
    )
    [Symbol.asyncIterator]();
  await messages.next();
  await setTimeout(300);
  expect(given).toBeLessThan(100);
  while ((await messages.next()).done !== true);
  expect(given).toBeGreaterThan(400);
  leave();
});

it("is refused over HTTP/1.1, which has no streams in both directions", async () => {
  const server = await startGenerationServer(servers, ["unused"]);
  const transport = createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" });
  const { error } = await new ToolCaller().start({ options: options() }).end().run(transport);
  expect(error?.rawMessage).toContain("505");
});
