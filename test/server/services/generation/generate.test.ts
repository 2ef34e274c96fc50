import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { NetworkError, RateLimitError } from "../../../../src/core/errors.ts";
import { LawChecker } from "../../../../src/core/laws.ts";
import { ErrorKind, InferenceErrorSchema } from "../../../../src/gen/outrigger/v1/error_pb.ts";
import {
  type GenerationOptionsSchema,
  GenerateResult_StopReason as StopReason,
} from "../../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  GenerationService,
  type StreamGenerateResponse,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { Role } from "../../../../src/gen/outrigger/v1/message_pb.ts";
import type { LossPolicy } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { functionTool, textOf, userMessage } from "../../../../src/index.ts";
import { callGrpc, grpcClient, TRANSPORTS } from "../../support/clients.ts";
import { useTestServers } from "../../support/test-server.ts";
import { getViolations, lastLine, startGenerationServer } from "./support/generation-server.ts";

const servers = useTestServers();
const request = { model: "m" };
const NO_WAIT = { jitter: false, baseDelay: { nanos: 1_000_000 } };

async function collect(
  stream: AsyncIterable<StreamGenerateResponse>,
): Promise<{ messages: StreamGenerateResponse[]; error: ConnectError | undefined }> {
  const messages: StreamGenerateResponse[] = [];
  try {
    for await (const message of stream) messages.push(message);
    return { messages, error: undefined };
  } catch (thrown) {
    return { messages, error: ConnectError.from(thrown) };
  }
}

describe.each(Object.entries(TRANSPORTS))("over %s", (_name, transportTo) => {
  it("Generate gives the result of one step", async () => {
    const server = await startGenerationServer(servers, ["grüße 😀"]);
    const client = createClient(GenerationService, transportTo(server.url));
    const { result } = await client.generate({ options: { request, prompt: "hi", system: "be kind" } });
    expect(textOf(result?.response)).toBe("grüße 😀");
    expect(result).toMatchObject({
      stopReason: StopReason.COMPLETED,
      steps: [{ response: { model: "m" } }],
      totalUsage: { totalTokens: 15 },
      attempts: [{ provider: "scripted", step: 1 }],
    });
    expect(server.model.requests[0]?.messages).toMatchObject([
      { role: Role.SYSTEM, content: [{ part: { value: "be kind" } }] },
      { role: Role.USER, content: [{ part: { value: "hi" } }] },
    ]);
  });

  it("StreamGenerate numbers the model's events, the step's end and the result", async () => {
    const server = await startGenerationServer(servers, ["abc"]);
    const client = createClient(GenerationService, transportTo(server.url));
    const { messages, error } = await collect(client.streamGenerate({ options: { request, prompt: "hi" } }));
    expect(error).toBeUndefined();
    expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_message, index) => index));
    expect(messages.map(({ step }) => step)).toEqual(messages.map(() => 1));
    expect(messages.slice(-2).map(({ message }) => message.case)).toEqual(["stepFinish", "result"]);
    const laws = new LawChecker();
    for (const { message } of messages) if (message.case === "event") laws.check(message.value);
    laws.end();
  });

  it("a failure before the first message is only a status", async () => {
    const server = await startGenerationServer(servers, [
      new RateLimitError("slow down", { provider: "scripted", retryAfter: 100 }),
    ]);
    const client = createClient(GenerationService, transportTo(server.url));
    const { messages, error } = await collect(client.streamGenerate({ options: { request, prompt: "hi" } }));
    expect(messages).toEqual([]);
    expect(error?.code).toBe(Code.ResourceExhausted);
    expect(error?.findDetails(InferenceErrorSchema)).toMatchObject([{ kind: ErrorKind.RATE_LIMIT }]);
    await expect(client.generate({ options: { request, prompt: "hi" } })).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });
});

it("a failure before the first message has no separate headers in gRPC", async () => {
  const server = await startGenerationServer(servers, [new NetworkError("no route", { retryable: false })]);
  const client = grpcClient(server.authority);
  servers.onEnd(() => client.close());
  const { streamGenerate } = GenerationService.method;
  const outcome = await callGrpc(client, streamGenerate, { options: { request, prompt: "hi" } });
  expect(outcome).toMatchObject({ messages: [], code: Code.Unavailable });
  expect(outcome.trailers.get("outrigger-inference-id")).toHaveLength(1);
});

it("calls of tools are left to the caller", async () => {
  const server = await startGenerationServer(servers, [[{ name: "get_weather", args: '{"city":"Oslo"}' }]]);
  const client = createClient(GenerationService, server.transport);
  const tools = [functionTool({ name: "get_weather" })];
  const { result } = await client.generate({
    options: { request: { ...request, tools }, prompt: "hi", maxToolRounds: 5 },
  });
  expect(result).toMatchObject({ stopReason: StopReason.TOOL_CALLS, steps: [{ toolResults: [] }] });
});

it("a call of the model that failed is repeated, and both attempts are listed, counted and added up", async () => {
  const server = await startGenerationServer(servers, [new NetworkError("reset"), "done"]);
  const client = createClient(GenerationService, server.transport);
  const { result } = await client.generate({ options: { request, prompt: "hi", retry: NO_WAIT } });
  expect(result?.attempts).toMatchObject([{ error: { kind: ErrorKind.NETWORK } }, { provider: "scripted" }]);
  const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
  expect(metrics).toContain(
    'outrigger_provider_calls_total{rpc="outrigger.v1.GenerationService/Generate"} 2',
  );
  expect(lastLine(server)).toMatchObject({
    rpc: "outrigger.v1.GenerationService/Generate",
    code: "OK",
    inference_id: result?.attempts[1]?.inferenceId,
    provider: "scripted",
    model: "m",
    input_tokens: 10,
    output_tokens: 5,
  });
});

it("retries are ended by the policy of the request", async () => {
  const server = await startGenerationServer(servers, [new NetworkError("reset")]);
  const client = createClient(GenerationService, server.transport);
  const options = { request, prompt: "hi", retry: { ...NO_WAIT, maxRetries: 1 } };
  await expect(client.generate({ options })).rejects.toMatchObject({ code: Code.Unavailable });
  expect(server.model.requests).toHaveLength(2);
});

describe("options", () => {
  const duration = { seconds: -1n };
  const cases: [string, MessageInitShape<typeof GenerationOptionsSchema> | undefined, string[]][] = [
    ["are missing", undefined, ["options"]],
    ["have no request", {}, ["options.request"]],
    [
      "have both prompt and messages",
      { request: { ...request, messages: [userMessage("a")] }, prompt: "b" },
      ["options.prompt"],
    ],
    ["have no conversation", { request, system: "s" }, ["options.prompt"]],
    ["have no model", { request: {}, prompt: "hi" }, ["options.request.model"]],
    [
      "have negative numbers",
      {
        request,
        prompt: "hi",
        maxToolRounds: -1,
        retry: {
          maxRetries: 1_000_000,
          backoffMultiplier: Number.NaN,
          baseDelay: duration,
          maxDelay: duration,
        },
        timeouts: { total: duration, perStep: duration, perTool: duration },
      },
      [
        "options.max_tool_rounds",
        "options.retry.max_retries",
        "options.retry.backoff_multiplier",
        "options.retry.base_delay",
        "options.retry.max_delay",
        "options.timeouts.total",
        "options.timeouts.per_step",
        "options.timeouts.per_tool",
      ],
    ],
    [
      "have limits below their minimum",
      {
        request,
        prompt: "hi",
        limits: { maxSteps: 0, maxTotalTokens: -1, maxCostNanoUsd: -1n, maxToolCalls: -1 },
      },
      [
        "options.limits.max_steps",
        "options.limits.max_total_tokens",
        "options.limits.max_cost_nano_usd",
        "options.limits.max_tool_calls",
      ],
    ],
    [
      "have a stop condition that does not compile",
      { request, prompt: "hi", stopWhen: "steps.size( > 1" },
      ["options.stop_when"],
    ],
    [
      "have an unknown enum value",
      { request: { ...request, lossPolicy: 99 as LossPolicy }, prompt: "hi" },
      ["options.request.loss_policy"],
    ],
    [
      "have an invalid message after the system text",
      { request: { ...request, messages: [userMessage("a"), { role: 77 as Role }] }, system: "s" },
      ["options.request.messages[1].role"],
    ],
  ];
  it.each(cases)("that %s are refused before anything is sent", async (_case, options, fields) => {
    const server = await startGenerationServer(servers, ["unused"]);
    const client = createClient(GenerationService, server.transport);
    const failures = [
      await client
        .generate({ ...(options === undefined ? {} : { options }) })
        .catch((error: unknown) => error),
      (await collect(client.streamGenerate({ ...(options === undefined ? {} : { options }) }))).error,
    ];
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: Code.InvalidArgument });
      expect(getViolations(failure)).toEqual(fields);
      for (const field of fields) expect(ConnectError.from(failure).rawMessage).toContain(`${field}: `);
    }
    expect(server.model.requests).toEqual([]);
  });
});

it("a retry that would wait longer than the caller's deadline is left out", async () => {
  const server = await startGenerationServer(servers, [
    new RateLimitError("slow down", { retryAfter: 30 }),
    "late",
  ]);
  const client = createClient(GenerationService, server.transport);
  const call = client.generate({ options: { request, prompt: "hi" } }, { timeoutMs: 20_000 });
  await expect(call).rejects.toMatchObject({ code: Code.ResourceExhausted });
  expect(server.model.requests).toHaveLength(1);
});

describe("a call that ends early", () => {
  const silence = (signal: AbortSignal | undefined) =>
    new Promise<void>((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

  it.each(["generate", "streamGenerate"] as const)(
    "%s: the caller's deadline aborts the provider",
    async (method) => {
      const server = await startGenerationServer(servers, ["unused"]);
      server.model.beforeAnswer = silence;
      const client = grpcClient(server.authority);
      servers.onEnd(() => client.close());
      const metadata = { "grpc-timeout": "500m" };
      const outcome = await callGrpc(
        client,
        GenerationService.method[method],
        { options: { request, prompt: "hi" } },
        { metadata },
      );
      expect(outcome.code).toBe(Code.DeadlineExceeded);
      await expect.poll(() => server.model.open).toBe(0);
      await expect.poll(() => lastLine(server)).toMatchObject({ error_kind: "REQUEST_TIMEOUT" });
    },
  );

  it("the total time limit is a separate status", async () => {
    const server = await startGenerationServer(servers, ["unused"]);
    server.model.beforeAnswer = silence;
    const client = createClient(GenerationService, server.transport);
    const options = { request, prompt: "hi", timeouts: { total: { nanos: 50_000_000 } } };
    const { error } = await collect(client.streamGenerate({ options }));
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
    expect(error?.rawMessage).toContain("time limit of 50 ms");
  });

  it("a caller that disconnects aborts the provider", async () => {
    const server = await startGenerationServer(servers, ["unused"]);
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    server.model.beforeAnswer = (signal) => silence(signal).finally(resolve);
    const controller = new AbortController();
    const client = createClient(GenerationService, server.transport);
    const call = collect(
      client.streamGenerate({ options: { request, prompt: "hi" } }, { signal: controller.signal }),
    );
    await expect.poll(() => server.model.requests.length).toBe(1);
    controller.abort();
    await aborted;
    expect((await call).error).toMatchObject({ code: Code.Canceled });
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({ code: "CANCELLED", msg: "client disconnected" });
  });

  it("a server that stops gives the call its status", async () => {
    const server = await startGenerationServer(servers, ["unused"], { drainTimeoutMs: 50 });
    server.model.beforeAnswer = silence;
    const client = createClient(GenerationService, server.transport);
    const call = client.generate({ options: { request, prompt: "hi" } });
    const failure = call.catch((error: unknown) => error);
    await expect.poll(() => server.model.requests.length).toBe(1);
    await server.drain();
    expect(await failure).toMatchObject({ code: Code.Unavailable });
    await expect.poll(() => lastLine(server)).toMatchObject({ msg: "call cut off by shutdown" });
  });
});

it("is in reflection and in health by its name", async () => {
  const server = await startGenerationServer(servers, ["unused"]);
  const health = await fetch(`${server.url}/grpc.health.v1.Health/Check`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ service: "outrigger.v1.GenerationService" }),
  });
  expect(await health.json()).toEqual({ status: "SERVING" });
});
