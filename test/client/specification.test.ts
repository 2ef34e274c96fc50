/** The examples of the specification in §2.2 to §2.5, §4.1 and §4.2, over a real socket. */
import {
  AbortError,
  accumulate,
  Client,
  ConfigurationError,
  FinishReason_Reason,
  getLatestModel,
  getModelInfo,
  listModels,
  type Middleware,
  OpenAIAdapter,
  RateLimitError,
  StreamAccumulator,
  StreamError,
  systemMessage,
  textOf,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";

let simulator: Simulator;
let adapter: OpenAIAdapter;
let client: Client;

beforeAll(async () => {
  simulator = await startSimulator();
  adapter = new OpenAIAdapter({
    apiKey: "sk-test",
    baseUrl: simulator.openaiBaseUrl,
    defaultHeaders: { "X-Custom": "value" },
    timeouts: { requestMs: 30_000 },
  });
  client = new Client({ providers: { openai: adapter }, defaultProvider: "openai" });
});

beforeEach(() => simulator.clearRequests());

afterAll(async () => {
  await client.close();
  await simulator.close();
});

const question = [userMessage("Explain photosynthesis in one paragraph")];

describe("Client.complete() (§4.1)", () => {
  it("gives text, finish reason and usage", async () => {
    const messages = [systemMessage("You are a helpful assistant."), ...question];
    const response = await client.complete({ model: "sim-text", messages, maxTokens: 500, temperature: 0.7 });
    expect(textOf(response)).toContain("Explain photosynthesis in one paragraph");
    expect(response.finishReason).toMatchObject({ reason: FinishReason_Reason.STOP, raw: "completed" });
    expect(response.usage?.totalTokens).toBe(
      (response.usage?.inputTokens ?? 0) + (response.usage?.outputTokens ?? 0),
    );
    expect(simulator.requests[0]?.headers).toMatchObject({
      authorization: "Bearer sk-test",
      "x-custom": "value",
    });
  });

  it("throws the provider's failure, and does not retry", async () => {
    const model = "sim-text:status=429,retry_after=2";
    const call = client.complete({ model, messages: question });
    await expect(call).rejects.toThrow(RateLimitError);
    await expect(call).rejects.toMatchObject({
      provider: "openai",
      httpStatusCode: 429,
      retryAfter: 2,
      retryable: true,
    });
    expect(simulator.requests).toHaveLength(1);
  });

  it("takes a tool call and its result through a second call", async () => {
    const parametersJson = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
    const tools = [{ tool: { case: "function", value: { name: "get_weather", parametersJson } } } as const];
    const first = await client.complete({ model: "sim-tools", messages: question, tools });
    const [call] = toolCallsOf(first);
    if (call === undefined || first.message === undefined) throw new Error("the simulator called no tool");
    expect(call.name).toBe("get_weather");
    const result = toolResult(call.id, "72F and sunny", { failed: false });
    const messages = [...question, first.message, result];
    const second = await client.complete({ model: "sim-tools", messages, tools });
    expect(second.finishReason?.reason).toBe(FinishReason_Reason.STOP);
  });
});

describe("Client.stream() (§4.2)", () => {
  it("gives deltas and then the whole response", async () => {
    let text = "";
    let totalTokens = 0;
    for await (const { event } of client.stream({ model: "sim-text", messages: question })) {
      if (event.case === "textDelta") text += event.value.delta;
      else if (event.case === "finish") totalTokens = event.value.usage?.totalTokens ?? 0;
    }
    expect(text).toContain("Explain photosynthesis");
    expect(totalTokens).toBeGreaterThan(0);
  });

  it("accumulates to the response of complete", async () => {
    const asked = { model: "sim-text", messages: question };
    const [streamed, whole] = [await accumulate(client.stream(asked)), await client.complete(asked)];
    expect(textOf(streamed)).toBe(textOf(whole));
    expect([streamed.finishReason, streamed.usage]).toEqual([whole.finishReason, whole.usage]);
  });

  it("never makes a broken stream look finished", async () => {
    const accumulator = new StreamAccumulator();
    const read = async () => {
      for await (const event of client.stream({ model: "sim-long:cut_events=9", messages: question })) {
        accumulator.process(event);
      }
    };
    await expect(read()).rejects.toThrow(StreamError);
    expect(() => accumulator.response()).toThrow(StreamError);
    expect(textOf(accumulator.partialResponse())).not.toBe("");
    expect(simulator.requests).toHaveLength(1);
  });

  it("closes the provider's socket when the loop breaks early", async () => {
    for await (const { event } of client.stream({ model: "sim-long:rate=20", messages: question })) {
      if (event.case === "textDelta") break;
    }
    const closed = await simulator.waitForClose({ timeoutMs: 5000 });
    expect(closed.aborted).toBe(true);
  });

  it("ends with AbortError when the signal is aborted", async () => {
    const controller = new AbortController();
    const read = async () => {
      const { signal } = controller;
      for await (const { event } of client.stream(
        { model: "sim-long:rate=20", messages: question },
        { signal },
      )) {
        if (event.case === "textDelta") controller.abort();
      }
    };
    await expect(read()).rejects.toThrow(AbortError);
    expect((await simulator.waitForClose({ timeoutMs: 5000 })).aborted).toBe(true);
  });

  it("sends nothing if the signal was aborted before", async () => {
    const signal = AbortSignal.abort();
    const asked = { model: "sim-text", messages: question };
    await expect(client.complete(asked, { signal })).rejects.toThrow(AbortError);
    await expect(accumulate(client.stream(asked, { signal }))).rejects.toThrow(AbortError);
    expect(simulator.requests).toEqual([]);
  });

  it("asks the provider for nothing if the stream is not read", async () => {
    client.stream({ model: "sim-text", messages: question });
    await new Promise((resolve) => setImmediate(resolve));
    expect(simulator.requests).toEqual([]);
  });
});

describe("middleware (§2.3)", () => {
  it("logs calls and streams with one function", async () => {
    const lines: string[] = [];
    const logging: Middleware = async (request, next) => {
      lines.push(`Request to ${request.provider}/${request.model}`);
      const response = await next(request);
      lines.push(`Response: ${response.usage?.totalTokens} tokens`);
      return response;
    };
    const logged = new Client({ providers: { openai: adapter }, middleware: [logging] });
    const response = await logged.complete({ model: "sim-text", messages: question });
    await accumulate(logged.stream({ model: "sim-text", messages: question }));
    const pair = ["Request to openai/sim-text", `Response: ${response.usage?.totalTokens} tokens`];
    expect(lines).toEqual([...pair, ...pair]);
  });
});

describe("adapters (§2.2, §2.4)", () => {
  it("refuse an empty key when they are made", () => {
    expect(() => new OpenAIAdapter({ apiKey: "" })).toThrow(ConfigurationError);
  });
});

describe("the catalog (§2.9)", () => {
  it("knows models by id, provider and capability, and restricts nothing", () => {
    expect(getModelInfo("gpt-5.2")).toMatchObject({ id: "gpt-5.2", provider: "openai" });
    expect(getModelInfo("no-such-model")).toBeUndefined();
    const models = listModels("openai");
    expect(models.length).toBeGreaterThan(3);
    expect(models.every(({ provider }) => provider === "openai")).toBe(true);
    expect(models.map(({ id }) => id)).toContain(getLatestModel("openai")?.id);
  });
});
