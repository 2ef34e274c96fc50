import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import {
  AbortError,
  AccessDeniedError,
  AuthenticationError,
  ContentFilterError,
  ContextLengthError,
  InvalidRequestError,
  NetworkError,
  NotFoundError,
  ProviderError,
  QuotaExceededError,
  RateLimitError,
  RequestTimeoutError,
  SDKError,
  ServerError,
  StreamError,
} from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { reasoningOf, textOf, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type ContentPart, type Message, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  type Request,
  RequestSchema,
  ResponseFormat_Type,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason as Reason, type Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import {
  OpenAIChatAdapter,
  type OpenAIChatAdapterOptions,
} from "../../../src/providers/openai-chat/adapter.ts";
import type { RequestInit } from "./support.ts";

const QUESTION = "How is the weather in Paris and in London? 🌦";

const TOOL = {
  tool: {
    case: "function",
    value: {
      name: "get_weather",
      parametersJson: JSON.stringify({
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      }),
    },
  },
} as const;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

function connect(options: Partial<OpenAIChatAdapterOptions> = {}): OpenAIChatAdapter {
  const adapter = new OpenAIChatAdapter({
    baseUrl: simulator.openaiBaseUrl,
    apiKey: "key-1",
    ...options,
  });
  onTestFinished(() => adapter.close());
  return adapter;
}

function request(model: string, more: RequestInit = {}): Request {
  return create(RequestSchema, { model, messages: [userMessage(QUESTION)], tools: [TOOL], ...more });
}

/** Reads a stream to its end, checks every event against the laws, and accumulates it. */
async function gather(
  events: AsyncIterable<StreamEvent>,
): Promise<{ response: Response; events: StreamEvent[] }> {
  const laws = new LawChecker();
  const accumulator = new StreamAccumulator();
  const seen: StreamEvent[] = [];
  for await (const event of events) {
    laws.check(event);
    accumulator.process(event);
    seen.push(event);
  }
  laws.end();
  return { response: accumulator.response(), events: seen };
}

/** A response without what differs between requests: ids. */
function comparable({ message, finishReason, usage }: Response): object {
  const parts = (message?.content ?? []).map(({ part, citations }) => {
    if (part.case !== "toolCall") return { ...part, citations };
    const { name, input, argumentsInvalid } = part.value;
    return { name, input, argumentsInvalid };
  });
  return { parts, finishReason, usage };
}

/** The bodies of the requests that named a model. */
function bodiesFor(model: string): { messages: Record<string, unknown>[] }[] {
  return simulator.requests
    .map(({ body }) => body as { model: string; messages: Record<string, unknown>[] })
    .filter((body) => body.model === model);
}

describe("a whole answer and a stream of the simulator", () => {
  it.each([
    "sim-text",
    "sim-echo",
    "sim-text:citations=3",
    "sim-long:tokens=500,rate=1000000",
    "sim-refusal",
    "sim-tools:calls=3,preamble=1",
    "sim-reasoning",
    "sim-reasoning:calls=2,reasoning_field=reasoning",
    "sim-reasoning:calls=2,reasoning_field=details",
    "sim-reasoning:redacted=1,reasoning_field=details",
    "sim-reasoning:reasoning_field=chunks",
    "sim-reasoning:reasoning_field=think_tags",
    "sim-reasoning:reasoning_field=none",
    "sim-tools:calls=3,no_index=1",
    "sim-tools:calls=3,repeat_ids=1",
    "sim-tools:calls=3,no_ids=1",
    "sim-tools:calls=3,no_ids=1,no_index=1,whole_calls=1",
    "sim-tools:calls=2,id_style=same,name_style=same",
    "sim-tools:calls=2,id_style=blank",
    "sim-tools:calls=2,id_style=missing",
    "sim-tools:calls=2,id_style=missing,no_index=1,whole_calls=1",
    "sim-tools:calls=2,name_style=split",
    "sim-tools:calls=2,name_style=late",
    "sim-tools:calls=2,whole_calls=1,finish_reason=stop",
    "sim-tools:calls=2,object_arguments=1",
    "sim-tools:thought_signatures=1,calls=2",
    "sim-reasoning:null_fields=1",
    "sim-text:usage_style=bare",
    "sim-text:usage_style=finish,usage_fields=deepseek",
    "sim-text:usage_style=every",
    "sim-text:usage_style=x_groq",
    "sim-text:usage_style=none",
    "sim-reasoning:usage_fields=xai",
    "sim-text:usage_fields=moonshot",
    "sim-text:usage_fields=openrouter",
    "sim-text:trailing_chunk=1,comments=1",
    "sim-text:no_done=1",
    "sim-text:finish_reason=model_length",
    "sim-text:plain_json=1",
    "sim-text:half_surrogates=1,chunk=random:3",
    "sim-tools:frame_bytes=100000",
    "sim-text:stop=length",
    "sim-text:stop=content_filter",
  ])("are the same: %s", async (model) => {
    const adapter = connect();
    const whole = await adapter.complete(request(model));
    const { response } = await gather(adapter.stream(request(model)));
    expect(comparable(response)).toEqual(comparable(whole));
    expect(whole.message?.content.length).toBeGreaterThan(0);
    expect(whole).toMatchObject({ provider: "compatible", model });
    expect(whole.providerRequestId).toMatch(/^req_/);
    expect(whole.rateLimit?.requestsLimit).toBe(10_000);
  });
});

describe("an answer of the simulator", () => {
  it("has text, citations and token counts", async () => {
    const { response } = await gather(connect().stream(request("sim-text:citations=1")));
    expect(textOf(response)).toContain(`“${QUESTION}”`);
    expect(response.finishReason).toMatchObject({ reason: Reason.STOP, raw: "stop" });
    expect(response.message?.content[0]?.citations).toMatchObject([
      { url: "https://www.example.com/pages/1?utm_source=simulator", title: "Example page 1" },
    ]);
    const { inputTokens = 0, outputTokens = 0, totalTokens } = response.usage ?? {};
    expect(Math.min(inputTokens, outputTokens)).toBeGreaterThan(0);
    expect(totalTokens).toBe(inputTokens + outputTokens);
  });

  it("has its reasoning from every field that servers use", async () => {
    const reasoning = reasoningOf(await connect().complete(request("sim-reasoning")));
    expect(reasoning).toMatch(/^\*\*/);
    for (const field of ["reasoning", "details", "chunks"]) {
      const { response, events } = await gather(
        connect().stream(request(`sim-reasoning:reasoning_field=${field}`)),
      );
      expect(reasoningOf(response)).toBe(reasoning);
      const cases = events.map(({ event }) => event.case);
      expect(cases.indexOf("reasoningEnd")).toBeLessThan(cases.indexOf("toolCallStart"));
    }
    const adapter = connect({ profile: { thinkTags: true } });
    const tagged = await adapter.complete(request("sim-reasoning:reasoning_field=think_tags"));
    expect(reasoningOf(tagged).trim()).toBe(reasoning);
  });

  it("counts reasoning as output, even if xAI counts it separately", async () => {
    const usages = await Promise.all(
      ["openai", "xai"].map(async (fields) => {
        const { usage } = await connect().complete(request(`sim-reasoning:usage_fields=${fields}`));
        return [usage?.outputTokens, usage?.reasoningTokens, usage?.totalTokens];
      }),
    );
    expect(usages[1]).toEqual(usages[0]);
  });

  it.each([
    ["usage_fields=openai", "cacheReadTokens"],
    ["usage_fields=deepseek", "cacheReadTokens"],
    ["usage_fields=moonshot", "cacheReadTokens"],
    ["usage_fields=openrouter", "costNanoUsd"],
  ] as const)("has the cached tokens and the cost of %s", async (options, field) => {
    const model = `sim-echo:${options}`;
    const messages = [userMessage(`${options} `.repeat(500))];
    await connect().complete(request(model, { messages }));
    const { response } = await gather(connect().stream(request(model, { messages })));
    expect(Number(response.usage?.[field])).toBeGreaterThan(1000);
  });
});

describe("a round trip of tool calls", () => {
  /** Asks, sends the tool results after the unchanged answer, and returns both answers. */
  async function converse(
    model: string,
    options: Partial<OpenAIChatAdapterOptions>,
    streams: boolean,
  ): Promise<{ first: Response; second: Response }> {
    const adapter = connect(options);
    const ask = async (messages: Message[]): Promise<Response> => {
      const sent = request(model, { messages });
      return streams ? (await gather(adapter.stream(sent))).response : adapter.complete(sent);
    };
    const first = await ask([userMessage(QUESTION)]);
    const answer = first.message;
    if (answer === undefined) throw new Error("the answer has no message");
    const results = toolCallsOf(first).map(({ id }, index) => toolResult(id, `${index + 20} °C`));
    return { first, second: await ask([userMessage(QUESTION), answer, ...results]) };
  }

  const replaying = { profile: { replayReasoning: true } };

  it.each<[string, Partial<OpenAIChatAdapterOptions>]>([
    ["sim-tools:calls=2", {}],
    ["sim-tools:calls=2,preamble=1", {}],
    ["sim-tools:calls=2,repeat_ids=1", {}],
    ["sim-tools:calls=2,no_ids=1,no_index=1,whole_calls=1,lenient=1", {}],
    ["sim-tools:calls=2,thought_signatures=1", {}],
    ["sim-reasoning:calls=2", {}],
    ["sim-reasoning:calls=2,require_reasoning=1", replaying],
    ["sim-reasoning:calls=2,require_reasoning=1,reasoning_field=reasoning", replaying],
    ["sim-reasoning:calls=2,reasoning_field=details", {}],
    ["sim-reasoning:calls=2,require_reasoning=1,reasoning_field=details", replaying],
    ["sim-reasoning:calls=2,redacted=1,reasoning_field=details", replaying],
    ["sim-reasoning:calls=2,reasoning_field=chunks", { profile: { replayReasoning: true } }],
    ["sim-reasoning:calls=2,reasoning_field=think_tags", { profile: { thinkTags: true } }],
  ])("with %s ends in an answer that quotes the results", async (model, options) => {
    for (const streams of [false, true]) {
      const { first, second } = await converse(model, options, streams);
      expect(first.finishReason?.reason).toBe(Reason.TOOL_CALLS);
      expect(toolCallsOf(first).map(({ input }) => JSON.parse(input.value ?? "") as unknown)).toEqual([
        { city: "Paris" },
        { city: "London" },
      ]);
      expect(new Set(toolCallsOf(first).map(({ id }) => id)).size).toBe(2);
      expect(textOf(second)).toContain("said “20 °C”");
      expect(textOf(second)).toContain("said “21 °C”");
    }
  });

  it("sends the calls back unchanged", async () => {
    const model = "sim-tools:calls=2,thought_signatures=1,preamble=1";
    const { first } = await converse(model, {}, true);
    const [, sent] = bodiesFor(model).at(-1)?.messages ?? [];
    const calls = sent?.tool_calls as { id: string; extra_content?: object }[];
    expect(calls.map(({ id }) => id)).toEqual(toolCallsOf(first).map(({ id }) => id));
    expect(calls.map(({ extra_content }) => extra_content !== undefined)).toEqual([true, false]);
    expect(sent?.content).toBe(textOf(first));
  });

  it("fails with the server's message if the reasoning is not sent back", async () => {
    const failed = converse("sim-reasoning:require_reasoning=1", {}, false);
    const error: unknown = await failed.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect((error as ProviderError).message).toContain("must be passed back to the API");
  });

  it("fails if the reasoning was altered", async () => {
    const model = "sim-reasoning:reasoning_field=details";
    const adapter = connect(replaying);
    const { message } = await adapter.complete(request(model));
    const content = (message?.content ?? []).map(
      (part): ContentPart =>
        part.providerState?.dataJson.includes("signature") === true
          ? {
              ...part,
              providerState: {
                ...part.providerState,
                dataJson: part.providerState.dataJson.replace(/(?<="signature":")../, "AA"),
              },
            }
          : part,
    );
    expect(content).not.toEqual(message?.content);
    const altered = create(RequestSchema, {
      model,
      messages: [userMessage(QUESTION), { role: Role.ASSISTANT, content }, userMessage("Go on")],
    });
    await expect(adapter.complete(altered)).rejects.toBeInstanceOf(InvalidRequestError);
  });
});

describe("structured output and limits", () => {
  const responseFormat = {
    type: ResponseFormat_Type.JSON_SCHEMA,
    name: "place",
    schemaJson:
      '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}',
    strict: true,
  };

  it("follow the schema", async () => {
    const { response } = await gather(connect().stream(request("sim-text", { responseFormat, tools: [] })));
    expect(JSON.parse(textOf(response))).toEqual({ city: "Paris" });
  });

  it("end at the limits of the request", async () => {
    const cut = await connect().complete(request("sim-text", { maxTokens: 5 }));
    expect(cut.finishReason).toMatchObject({ reason: Reason.LENGTH, raw: "length" });
    expect(cut.usage?.outputTokens).toBe(5);
    const stopped = await connect().complete(request("sim-text", { stopSequences: ["weather"] }));
    expect(textOf(stopped)).toBe("You asked: “How is the ");
  });

  it("mark a call that was cut off", async () => {
    const { response } = await gather(connect().stream(request("sim-tools", { maxTokens: 8 })));
    expect(response.finishReason?.reason).toBe(Reason.LENGTH);
    expect(toolCallsOf(response)).toMatchObject([{ argumentsInvalid: true }]);
  });
});

type ErrorClass = abstract new (...values: never[]) => SDKError;

async function toFailure(run: () => Promise<unknown>, kind: ErrorClass): Promise<SDKError> {
  const error: unknown = await run().then(
    () => new Error("nothing was thrown"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(kind);
  return error as SDKError;
}

describe("a failed answer", () => {
  it.each<[string, ErrorClass]>([
    ["status=400", InvalidRequestError],
    ["status=400,code=context_length_exceeded", ContextLengthError],
    ["status=400,code=context_length_exceeded,error_shape=message", ContextLengthError],
    ["status=400,code=content_filter", ContentFilterError],
    ["status=401", AuthenticationError],
    ["status=401,error_shape=numeric", AuthenticationError],
    ["status=402", QuotaExceededError],
    ["status=403", AccessDeniedError],
    ["status=404", NotFoundError],
    ["status=413,error_body=empty", ContextLengthError],
    ["status=422,error_shape=detail", InvalidRequestError],
    ["status=429", RateLimitError],
    ["status=429,error_shape=numeric", RateLimitError],
    ["status=429,error_shape=top_level", RateLimitError],
    ["status=429,error_body=html", RateLimitError],
    ["status=429,code=insufficient_quota", QuotaExceededError],
    ["status=429,code=insufficient_quota,error_shape=text", QuotaExceededError],
    ["status=500", ServerError],
    ["status=502,error_body=html", ServerError],
    ["status=503", ServerError],
    ["status=529,error_body=empty", ServerError],
  ])("with %s has the right error class, for a stream and for a whole answer", async (options, kind) => {
    const sent = request(`sim-text:${options}`);
    const whole = await toFailure(() => connect().complete(sent), kind);
    const streamed = await toFailure(() => gather(connect().stream(sent)), kind);
    expect(streamed).toMatchObject({ kind: whole.kind, message: whole.message, outputStarted: false });
    expect(whole).toMatchObject({
      provider: "compatible",
      httpStatusCode: Number(/status=(\d+)/.exec(options)?.[1]),
      requestId: expect.stringMatching(/^req_/) as string,
    });
  });

  it("has the delay before a retry", async () => {
    const error = await toFailure(
      () => connect().complete(request("sim-text:status=429,retry_after=7")),
      RateLimitError,
    );
    expect(error).toMatchObject({ retryable: true, retryAfter: 7 });
  });

  it("has its class for a refused key and for an unknown model", async () => {
    await toFailure(() => connect({ apiKey: "invalid" }).complete(request("sim-text")), AuthenticationError);
    await toFailure(() => connect().complete(request("gpt-nonexistent")), NotFoundError);
  });

  it("has the server's message for a refused request", async () => {
    const sent = request("sim-text", { providerOptionsJson: { compatible: '{"top_k":3}' } });
    const error = await toFailure(() => connect().complete(sent), InvalidRequestError);
    expect(error.message).toContain("Unknown parameter: 'top_k'.");
  });
});

describe("a failure within an answer", () => {
  it.each<[string, ErrorClass]>([
    ["error_after=3", ServerError],
    ["error_after=3,no_done=1", ServerError],
    ["error_after=3,error_style=failed", ServerError],
    ["error_after=3,error_style=failed,error_shape=numeric", ServerError],
    ["error_after=3,error_style=nested,error_shape=numeric", ServerError],
    ["error_after=3,error_code=rate_limit_exceeded", RateLimitError],
    ["error_after=3,error_code=rate_limit_exceeded,error_shape=numeric", RateLimitError],
    ["error_after=3,error_code=rate_limit_exceeded,error_shape=top_level", RateLimitError],
    ["error_after=3,error_code=context_length_exceeded", ContextLengthError],
    ["error_after=3,error_code=insufficient_quota,error_style=nested", QuotaExceededError],
    ["error_after=3,error_shape=message", ProviderError],
    ["end_without_terminal=1", StreamError],
    ["cut_events=3", StreamError],
    ["cut_bytes=900", StreamError],
    ["malformed_after=3", StreamError],
    ["no_finish=1", StreamError],
  ])("by %s ends a stream with an error event and throws it", async (options, kind) => {
    const seen: StreamEvent[] = [];
    const error = await toFailure(async () => {
      for await (const event of connect().stream(request(`sim-text:${options}`))) seen.push(event);
    }, kind);
    expect(seen.map(({ event }) => event.case).slice(0, 2)).toEqual(["streamStart", "textStart"]);
    expect(seen.at(-1)?.event).toMatchObject({
      case: "error",
      value: { kind: error.kind, outputStarted: true },
    });
    expect(seen.filter(({ event }) => event.case === "finish")).toEqual([]);
  });

  it.each<[string, ErrorClass]>([
    ["error_after=0", ServerError],
    ["error_after=0,error_style=failed", ServerError],
    ["error_after=0,error_style=nested,error_code=rate_limit_exceeded", RateLimitError],
    ["drop=1", NetworkError],
    ["cut_bytes=50", NetworkError],
    ["malformed_after=0", SDKError],
  ])("by %s fails a whole answer", async (options, kind) => {
    await toFailure(() => connect().complete(request(`sim-text:${options}`)), kind);
  });

  it("is tolerated if the profile allows it", async () => {
    const adapter = connect({ profile: { requireFinishReason: false } });
    const { response } = await gather(adapter.stream(request("sim-text:no_finish=1")));
    expect(response.finishReason?.reason).toBe(Reason.OTHER);
    const strict = connect({ profile: { requireDone: true } });
    await toFailure(() => gather(strict.stream(request("sim-text:no_done=1"))), StreamError);
  });

  it("by silence is a timeout between bytes, which keep-alives postpone", async () => {
    const timeouts = { betweenBytesMs: 1200 };
    const silent = request("sim-text:stall_after=3");
    await toFailure(() => gather(connect({ timeouts }).stream(silent)), RequestTimeoutError);
    const slow = "sim-long:tokens=2,rate=1,keepalive_ms=25";
    const alive = ["event", "comment"].map((style) =>
      gather(connect({ timeouts }).stream(request(`${slow},keepalive_style=${style}`))),
    );
    for (const { response } of await Promise.all(alive)) expect(response.usage?.outputTokens).toBe(2);
  });
});

describe("a caller that cancels", () => {
  const expectClosed = async (model: string, isEnough: (event: StreamEvent) => boolean): Promise<void> => {
    const abort = new AbortController();
    const error = await toFailure(async () => {
      for await (const event of connect().stream(request(model), { signal: abort.signal })) {
        if (isEnough(event)) abort.abort();
      }
    }, AbortError);
    expect(error.retryable).toBe(false);
    const seen = await simulator.waitForClose({
      where: ({ body }) => (body as { model: string }).model === model,
    });
    expect(seen).toMatchObject({ aborted: true, status: 200 });
  };

  it.each([
    ["before the first token", "sim-text:stall_after=1,delay_ms=1", "streamStart"],
    ["in the middle of a text", "sim-long:rate=20", "textDelta"],
    ["in the middle of reasoning", "sim-reasoning:parts=16,rate=20", "reasoningDelta"],
    ["in the middle of a tool call", "sim-tools:rate=20,frame_bytes=10", "toolCallDelta"],
  ])("%s closes the socket", async (_, model, phase) => {
    await expectClosed(model, ({ event }) => event.case === phase);
  });

  it("before the headers closes the socket", async () => {
    const model = "sim-text:delay_ms=60000";
    const abort = new AbortController();
    const answer = connect().complete(request(model), { signal: abort.signal });
    const where = ({ body }: { body: unknown }) => (body as { model: string }).model === model;
    await simulator.waitForRequest({ where });
    abort.abort();
    await toFailure(() => answer, AbortError);
    expect(await simulator.waitForClose({ where })).toMatchObject({ aborted: true, status: undefined });
  });

  it("by leaving the loop closes the socket", async () => {
    const model = "sim-long:rate=21";
    for await (const { event } of connect().stream(request(model))) if (event.case === "textDelta") break;
    const seen = await simulator.waitForClose({
      where: ({ body }) => (body as { model: string }).model === model,
    });
    expect(seen.aborted).toBe(true);
  });
});
