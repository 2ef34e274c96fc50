import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { ConfigurationError, ProviderError, SDKError, StreamError } from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import {
  imagePart,
  reasoningOf,
  systemMessage,
  textOf,
  textPart,
  toolCallsOf,
  toolResult,
  userMessage,
} from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import {
  ResponseFormat_Type as Format,
  LossPolicy,
  ToolChoice_Mode as Mode,
  type Request,
  RequestSchema,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { OpenAIAdapter, type OpenAIAdapterOptions } from "../../../src/providers/openai-responses/adapter.ts";
import { serveHttp } from "../../kit/http/servers.ts";
import { useSimulator } from "../../simulator/support.ts";
import { functionTool, hostedTool, type RequestInit } from "./build.ts";
import { message, PICTURE_OF_NOTHING } from "./streaming.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

/** An adapter of the simulator, closed after the test. */
function adapterOf(options: Partial<OpenAIAdapterOptions> = {}): OpenAIAdapter {
  const adapter = new OpenAIAdapter({ apiKey: "key-1", baseUrl: simulator().openaiBaseUrl, ...options });
  onTestFinished(() => adapter.close());
  return adapter;
}

function request(init: RequestInit): Request {
  return create(RequestSchema, { model: "sim-text", messages: [userMessage("hi")], ...init });
}

/** The events of a stream, held to the laws; throws what the stream throws. */
async function eventsOf(adapter: OpenAIAdapter, init: RequestInit = {}, into: StreamEvent[] = []) {
  const laws = new LawChecker();
  for await (const event of adapter.stream(request(init))) {
    laws.check(event);
    into.push(event);
  }
  laws.end();
  return into;
}

/** What a promise fails with. */
async function failureOf(promise: Promise<unknown>): Promise<SDKError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SDKError);
  return error as SDKError;
}

/** The only request that arrived. */
function arrived() {
  const { requests } = simulator();
  expect(requests).toHaveLength(1);
  const [only] = requests;
  if (only === undefined) throw new Error("nothing arrived");
  return only;
}

describe("what the adapter sends", () => {
  it("for a whole answer: path, key, headers, body", async () => {
    const response = await adapterOf().complete(request({}), { inferenceId: "inf_1" });
    const { method, path, headers, body } = arrived();
    expect({ method, path, body }).toEqual({
      method: "POST",
      path: "/v1/responses",
      body: {
        model: "sim-text",
        input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
        store: false,
        include: ["reasoning.encrypted_content"],
      },
    });
    expect(headers).toMatchObject({
      authorization: "Bearer key-1",
      "content-type": "application/json",
      accept: "application/json",
      "user-agent": "outrigger",
    });
    expect(Object.keys(headers).filter((name) => name.startsWith("openai-"))).toEqual([]);
    expect(response).toMatchObject({
      provider: "openai",
      model: "sim-text",
      inferenceId: "inf_1",
      providerRequestId: arrived().requestId,
      warnings: [],
    });
    expect(response.rateLimit?.requestsLimit).toBeGreaterThan(0);
    expect(response.usage?.outputTokens).toBeGreaterThan(0);
  });

  it("for a stream", async () => {
    await eventsOf(adapterOf());
    expect(arrived()).toMatchObject({
      headers: { accept: "text/event-stream" },
      body: { stream: true, stream_options: { include_obfuscation: false } },
    });
  });

  it("where a stream is asked for and never read: nothing", async () => {
    adapterOf().stream(request({}));
    await new Promise((resolve) => setImmediate(resolve));
    expect(simulator().requests).toEqual([]);
  });

  it("with an organization, a project, and headers that win over ours", async () => {
    const adapter = adapterOf({
      organization: "org-1",
      project: "proj-1",
      name: "azure",
      defaultHeaders: {
        "OpenAI-Project": "proj-2",
        Authorization: "Bearer key-2",
        "User-Agent": "mine",
        "x-team": "blue",
      },
    });
    expect((await adapter.complete(request({}))).provider).toBe("azure");
    expect(arrived().headers).toMatchObject({
      authorization: "Bearer key-2",
      "openai-organization": "org-1",
      "openai-project": "proj-2",
      "user-agent": "mine",
      "x-team": "blue",
    });
  });

  it.each(["/v1", "/v1/", "/v1//"])("below a base that ends in %s", async (base) => {
    await adapterOf({ baseUrl: `${simulator().url}${base}` }).complete(request({}));
    expect(arrived().path).toBe("/v1/responses");
  });

  it("never with the key in the address", async () => {
    await adapterOf({ apiKey: "sk-secret" }).complete(request({}));
    expect(arrived().path).not.toContain("secret");
  });

  it("to be kept, where the entry says so", async () => {
    const response = await adapterOf({ store: true }).complete(request({}));
    expect(arrived().body).toMatchObject({ store: true });
    const providerOptionsJson = { openai: JSON.stringify({ previous_response_id: response.id }) };
    const next = await adapterOf().complete(request({ providerOptionsJson }));
    expect(textOf(next)).not.toBe("");
  });

  it("not at all, where the request is strict and would lose something", async () => {
    const strict = request({ stopSequences: ["x"], lossPolicy: LossPolicy.REFUSE });
    await expect(adapterOf().complete(strict)).rejects.toMatchObject({
      kind: ErrorKind.INVALID_REQUEST,
      violations: [{ field: "stop_sequences" }],
    });
    await expect(
      eventsOf(adapterOf(), { stopSequences: ["x"], lossPolicy: LossPolicy.REFUSE }),
    ).rejects.toThrow("stop_sequences");
    expect(simulator().requests).toEqual([]);
  });
});

describe("what the adapter cannot be made of", () => {
  it.each<[string, Partial<OpenAIAdapterOptions>, string]>([
    ["an empty key", { apiKey: "" }, 'provider "openai": expected an API key, found an empty one'],
    [
      "an empty key, under another name",
      { apiKey: "", name: "east" },
      'provider "east": expected an API key',
    ],
    ["an address that is none", { baseUrl: "api.openai.com" }, "expected an http: or https: URL"],
    ["an address of another kind", { baseUrl: "ftp://api.openai.com/v1" }, "expected an http: or https: URL"],
    [
      "an address with a password",
      { baseUrl: "https://ann:secret@api.openai.com/v1" },
      "user name or password",
    ],
  ])("%s", (_name, options, message) => {
    expect(() => new OpenAIAdapter({ apiKey: "k", ...options })).toThrow(ConfigurationError);
    expect(() => new OpenAIAdapter({ apiKey: "k", ...options })).toThrow(message);
  });

  it("a key that no header can hold, which is told without the key", async () => {
    const error = await failureOf(adapterOf({ apiKey: "sk-\nsecret" }).complete(request({})));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).not.toContain("secret");
    expect(simulator().requests).toEqual([]);
  });
});

describe("calls from one end to the other", () => {
  const weather = functionTool({
    name: "get_weather",
    description: "Tells the weather.",
    parametersJson: '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
  });

  /** The answer, whole and streamed: both have to say the same. */
  async function bothOf(init: RequestInit, options: Partial<OpenAIAdapterOptions> = {}): Promise<Response> {
    const adapter = adapterOf(options);
    const whole = await adapter.complete(request(init));
    const accumulator = new StreamAccumulator();
    for (const event of await eventsOf(adapter, init)) accumulator.process(event);
    const streamed = accumulator.response();
    expect(said(streamed)).toEqual(said(whole));
    expect(streamed.finishReason).toEqual(whole.finishReason);
    return whole;
  }

  /** The parts without the ids that a server counts up. */
  function said({ message: told }: Response): unknown {
    const parts = told?.content.map(({ part }) => part);
    return JSON.parse(JSON.stringify(parts).replace(/\b(ws|call|ig)_[0-9a-f]+/g, "$1"));
  }

  it("a text", async () => {
    const response = await bothOf({ messages: [systemMessage("Be brief."), userMessage("hi")] });
    expect(textOf(response)).not.toBe("");
  });

  it("tools: parallel calls, their results, an answer", async () => {
    const asked: RequestInit = {
      model: "sim-tools:calls=3",
      tools: [weather],
      messages: [userMessage("Paris?")],
    };
    const first = await bothOf(asked);
    const calls = toolCallsOf(first);
    expect(calls).toHaveLength(3);
    const results = calls.map(({ id }, index) =>
      toolResult({ toolCallId: id, content: `${index}°`, isError: index === 0 }),
    );
    const second = await bothOf({
      ...asked,
      messages: [userMessage("Paris?"), first.message ?? {}, ...results],
    });
    expect(textOf(second)).not.toBe("");
  });

  it.each([true, false])("reasoning that goes back as it came, a summary wanted: %j", async (summary) => {
    const providerOptionsJson = { openai: summary ? '{"reasoning":{"summary":"auto"}}' : "{}" };
    const asked: RequestInit = {
      model: "sim-reasoning",
      tools: [weather],
      reasoningEffort: "high",
      providerOptionsJson,
    };
    const opening = userMessage("Paris?");
    const first = await bothOf({ ...asked, messages: [opening] });
    expect(reasoningOf(first) !== "").toBe(summary);
    expect(first.message?.content[0]?.part).toMatchObject({
      case: "reasoning",
      value: { redacted: !summary },
    });
    const [call] = toolCallsOf(first);
    const messages = [
      opening,
      first.message ?? {},
      toolResult({ toolCallId: call?.id ?? "", content: "7°" }),
    ];
    const second = await bothOf({ ...asked, messages });
    // And a third time, with a picture in the result.
    const third = [
      ...messages,
      second.message ?? {},
      userMessage([textPart("And?"), imagePart(PICTURE_OF_NOTHING)]),
    ];
    expect((await bothOf({ ...asked, messages: third })).message?.content).not.toEqual([]);
  });

  it("hosted tools, whose blocks go back as they came", async () => {
    const tools = [
      hostedTool("openai", { type: "web_search" }),
      hostedTool("openai", { type: "image_generation" }),
    ];
    const opening = userMessage("What is new?");
    const first = await bothOf({ tools, messages: [opening] });
    const kinds = first.message?.content.map(({ part }) => part.case);
    expect(kinds).toContain("native");
    expect(first.message?.content.some(({ citations }) => citations.length > 0)).toBe(true);
    await bothOf({ tools, messages: [opening, first.message ?? {}, userMessage("More?")] });
  });

  it("answers in a shape", async () => {
    const schemaJson =
      '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}';
    const object = await bothOf({ responseFormat: { type: Format.JSON_SCHEMA, schemaJson, strict: true } });
    expect(Object.keys(JSON.parse(textOf(object)))).toEqual(["city"]);
    const json = await bothOf({ responseFormat: { type: Format.JSON } });
    expect(JSON.parse(textOf(json))).toBeTypeOf("object");
  });

  it("everything that a request can say is taken by a server that checks it", async () => {
    const response = await bothOf({
      model: "sim-tools",
      tools: [weather, functionTool({ name: "ping" }), functionTool({ name: "pong", strict: true })],
      toolChoice: { mode: Mode.NAMED, toolName: "ping", parallel: false },
      temperature: 0.5,
      topP: 0.5,
      maxTokens: 500,
      metadata: { a: "b" },
    });
    expect(toolCallsOf(response).map(({ name, input }) => [name, input.value])).toEqual([["ping", "{}"]]);
  });

  it("a limit that cuts", async () => {
    const response = await bothOf({ model: "sim-long:rate=100000", maxTokens: 20 });
    expect(response.finishReason?.raw).toBe("max_output_tokens");
  });
});

describe("failures from one end to the other", () => {
  it("are told before the first event, with what the headers say", async () => {
    const init = { model: "sim-text:status=429,code=rate_limit_exceeded,retry_after_ms=1500" };
    const limited = {
      kind: ErrorKind.RATE_LIMIT,
      httpStatusCode: 429,
      errorCode: "rate_limit_exceeded",
      retryAfter: 1.5,
      retryable: true,
    };
    const events: StreamEvent[] = [];
    await expect(adapterOf().complete(request(init))).rejects.toMatchObject(limited);
    await expect(eventsOf(adapterOf(), init, events)).rejects.toMatchObject(limited);
    expect(events).toEqual([]);
  });

  it("name the exchange", async () => {
    const error = await failureOf(adapterOf().complete(request({ model: "sim-text:status=500" })));
    expect(error).toMatchObject({ requestId: arrived().requestId });
  });

  it.each([
    ["sim-text:status=401", ErrorKind.AUTHENTICATION],
    ["sim-text:status=404", ErrorKind.NOT_FOUND],
    ["sim-text:status=429,code=insufficient_quota", ErrorKind.QUOTA_EXCEEDED],
    ["sim-text:status=503,error_body=html", ErrorKind.SERVER],
    ["sim-text:status=500,error_body=empty", ErrorKind.SERVER],
    ["no-such-model", ErrorKind.NOT_FOUND],
  ])("%s", async (model, kind) => {
    await expect(adapterOf().complete(request({ model }))).rejects.toMatchObject({ kind });
    await expect(eventsOf(adapterOf(), { model })).rejects.toMatchObject({ kind });
  });

  it("of a key that the provider does not know", async () => {
    const error = await failureOf(adapterOf({ apiKey: "invalid" }).complete(request({})));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: ErrorKind.AUTHENTICATION, httpStatusCode: 401, retryable: false });
  });

  it.each(["event", "failed", "nested"])("inside a stream, told in the form %s", async (style) => {
    const model = `sim-text:error_after=6,error_style=${style},error_code=rate_limit_exceeded`;
    const events: StreamEvent[] = [];
    const thrown = await failureOf(eventsOf(adapterOf(), { model }, events));
    expect(thrown).toMatchObject({
      kind: ErrorKind.RATE_LIMIT,
      errorCode: "rate_limit_exceeded",
      outputStarted: true,
    });
    expect(events.at(-1)?.event.case).toBe("error");
  });

  it.each(["cut_events=6", "cut_bytes=1500", "end_without_terminal=1", "malformed_after=5"])(
    "of a stream that breaks: %s",
    async (fault) => {
      const events: StreamEvent[] = [];
      const thrown = await failureOf(eventsOf(adapterOf(), { model: `sim-text:${fault}` }, events));
      expect(thrown).toBeInstanceOf(StreamError);
      expect(events.at(-1)?.event.case).toBe("error");
    },
  );

  it("of a caller who leaves: the provider's socket closes", async () => {
    for await (const { event } of adapterOf().stream(request({ model: "sim-long:rate=50" }))) {
      if (event.case === "textDelta") break;
    }
    expect((await simulator().waitForClose()).aborted).toBe(true);
  });

  it("of a caller who cancels: the provider's socket closes", async () => {
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const answer = failureOf(adapterOf().complete(request({ model: "sim-text:delay_ms=60000" }), options));
    await simulator().waitForRequest();
    controller.abort();
    expect(await answer).toMatchObject({ kind: ErrorKind.ABORT, retryable: false });
    expect((await simulator().waitForClose()).aborted).toBe(true);
  });

  it.each([
    "repeat_start=1",
    "repeat_ids=1,calls=3",
    "no_ids=1,calls=3",
    "half_surrogates=1",
    "keepalive_ms=1,delay_ms=5",
    "trickle_ms=1,trickle_bytes=300",
  ])("that are none: %s", async (fault) => {
    const tools = [functionTool({ name: "look" })];
    const events = await eventsOf(adapterOf(), { model: `sim-tools:${fault}`, tools });
    expect(events.at(-1)?.event.case).toBe("finish");
  });
});

describe("a server that answers a stream with a whole answer", () => {
  it("is taken at its word", async () => {
    const { port } = await serveHttp((_asked, answer) => {
      answer.setHeader("content-type", "application/json; charset=utf-8");
      answer.end(JSON.stringify({ id: "resp_1", model: "m", status: "completed", output: [message("Hey")] }));
    });
    const events = await eventsOf(adapterOf({ baseUrl: `http://127.0.0.1:${port}` }));
    expect(events.map(({ event }) => event.case)).toEqual([
      "streamStart",
      "textStart",
      "textDelta",
      "textEnd",
      "finish",
    ]);
  });
});

describe("files on this machine", () => {
  it("are read only under the folders of the entry", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outrigger-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "a.gif");
    await writeFile(path, "GIF89a");
    const shown = request({ messages: [userMessage(imagePart(path))] });
    await expect(adapterOf().complete(shown)).rejects.toThrow("messages[0].content[0].image.url");
    await adapterOf({ allowFilesUnder: [folder] }).complete(shown);
    expect(arrived().body).toMatchObject({
      input: [{ content: [{ type: "input_image", image_url: "data:image/gif;base64,R0lGODlh" }] }],
    });
  });
});

it("knows no tool choice that the API does not have", () => {
  const adapter = adapterOf();
  const modes = [Mode.AUTO, Mode.NONE, Mode.REQUIRED, Mode.NAMED];
  expect(modes.map((mode) => adapter.supportsToolChoice(mode, "gpt-5"))).toEqual([true, true, true, true]);
});
