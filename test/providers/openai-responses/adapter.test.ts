import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { ConfigurationError, ProviderError, SDKError, StreamError } from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { reasoningOf, systemMessage, textOf, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { imagePart, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
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
import { message, TRANSPARENT_PIXEL } from "./streaming.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

/** An adapter of the simulator, closed after the test. */
function getAdapter(options: Partial<OpenAIAdapterOptions> = {}): OpenAIAdapter {
  const adapter = new OpenAIAdapter({ apiKey: "key-1", baseUrl: simulator().openaiBaseUrl, ...options });
  onTestFinished(() => adapter.close());
  return adapter;
}

function request(init: RequestInit): Request {
  return create(RequestSchema, { model: "sim-text", messages: [userMessage("hi")], ...init });
}

/** Returns the events of a stream, checked against the laws. Throws the error of the stream. */
async function getEvents(adapter: OpenAIAdapter, init: RequestInit = {}, into: StreamEvent[] = []) {
  const laws = new LawChecker();
  for await (const event of adapter.stream(request(init))) {
    laws.check(event);
    into.push(event);
  }
  laws.end();
  return into;
}

/** Returns the error of a failed promise. */
async function toFailure(promise: Promise<unknown>): Promise<SDKError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SDKError);
  return error as SDKError;
}

/** The only request that the simulator received. */
function onlyRequest() {
  const { requests } = simulator();
  expect(requests).toHaveLength(1);
  const [only] = requests;
  if (only === undefined) throw new Error("no request was received");
  return only;
}

describe("requests of the adapter", () => {
  it("sends path, key, headers and body for a whole answer", async () => {
    const response = await getAdapter().complete(request({}), { inferenceId: "inf_1" });
    const { method, path, headers, body } = onlyRequest();
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
      providerRequestId: onlyRequest().requestId,
      warnings: [],
    });
    expect(response.rateLimit?.requestsLimit).toBeGreaterThan(0);
    expect(response.usage?.outputTokens).toBeGreaterThan(0);
  });

  it("sends the settings of a stream", async () => {
    await getEvents(getAdapter());
    expect(onlyRequest()).toMatchObject({
      headers: { accept: "text/event-stream" },
      body: { stream: true, stream_options: { include_obfuscation: false } },
    });
  });

  it("sends nothing for a stream that is never read", async () => {
    getAdapter().stream(request({}));
    await new Promise((resolve) => setImmediate(resolve));
    expect(simulator().requests).toEqual([]);
  });

  it("sends an organization, a project, and headers that replace the adapter's headers", async () => {
    const adapter = getAdapter({
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
    expect(onlyRequest().headers).toMatchObject({
      authorization: "Bearer key-2",
      "openai-organization": "org-1",
      "openai-project": "proj-2",
      "user-agent": "mine",
      "x-team": "blue",
    });
  });

  it.each(["/v1", "/v1/", "/v1//"])("appends the path to a base URL that ends in %s", async (base) => {
    await getAdapter({ baseUrl: `${simulator().url}${base}` }).complete(request({}));
    expect(onlyRequest().path).toBe("/v1/responses");
  });

  it("keeps the key out of the URL", async () => {
    await getAdapter({ apiKey: "sk-secret" }).complete(request({}));
    expect(onlyRequest().path).not.toContain("secret");
  });

  it("asks the API to store the answer if the provider entry sets it", async () => {
    const response = await getAdapter({ store: true }).complete(request({}));
    expect(onlyRequest().body).toMatchObject({ store: true });
    const providerOptionsJson = { openai: JSON.stringify({ previous_response_id: response.id }) };
    const next = await getAdapter().complete(request({ providerOptionsJson }));
    expect(textOf(next)).not.toBe("");
  });

  it("sends nothing under LOSS_POLICY_REFUSE if something would be lost", async () => {
    const strict = request({ stopSequences: ["x"], lossPolicy: LossPolicy.REFUSE });
    await expect(getAdapter().complete(strict)).rejects.toMatchObject({
      kind: ErrorKind.INVALID_REQUEST,
      violations: [{ field: "stop_sequences" }],
    });
    await expect(
      getEvents(getAdapter(), { stopSequences: ["x"], lossPolicy: LossPolicy.REFUSE }),
    ).rejects.toThrow("stop_sequences");
    expect(simulator().requests).toEqual([]);
  });
});

describe("invalid options of the adapter", () => {
  it.each<[string, Partial<OpenAIAdapterOptions>, string]>([
    ["an empty key", { apiKey: "" }, 'provider "openai": expected an API key, found an empty one'],
    [
      "an empty key, under another name",
      { apiKey: "", name: "east" },
      'provider "east": expected an API key',
    ],
    ["a URL without a scheme", { baseUrl: "api.openai.com" }, "expected an http: or https: URL"],
    ["a URL of another scheme", { baseUrl: "ftp://api.openai.com/v1" }, "expected an http: or https: URL"],
    ["a URL with a password", { baseUrl: "https://ann:secret@api.openai.com/v1" }, "user name or password"],
  ])("are rejected: %s", (_name, options, message) => {
    expect(() => new OpenAIAdapter({ apiKey: "k", ...options })).toThrow(ConfigurationError);
    expect(() => new OpenAIAdapter({ apiKey: "k", ...options })).toThrow(message);
  });

  it("rejects a key that no header can hold, without repeating the key", async () => {
    const error = await toFailure(getAdapter({ apiKey: "sk-\nsecret" }).complete(request({})));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).not.toContain("secret");
    expect(simulator().requests).toEqual([]);
  });
});

describe("calls against the simulator", () => {
  const weather = functionTool({
    name: "get_weather",
    description: "Tells the weather.",
    parametersJson: '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
  });

  /** The whole answer, after checking that the streamed one is the same. */
  async function completeBoth(
    init: RequestInit,
    options: Partial<OpenAIAdapterOptions> = {},
  ): Promise<Response> {
    const adapter = getAdapter(options);
    const whole = await adapter.complete(request(init));
    const accumulator = new StreamAccumulator();
    for (const event of await getEvents(adapter, init)) accumulator.process(event);
    const streamed = accumulator.response();
    expect(getParts(streamed)).toEqual(getParts(whole));
    expect(streamed.finishReason).toEqual(whole.finishReason);
    return whole;
  }

  /** The parts without the ids that differ from call to call. */
  function getParts({ message: answer }: Response): unknown {
    const parts = answer?.content.map(({ part }) => part);
    return JSON.parse(JSON.stringify(parts).replace(/\b(ws|call|ig)_[0-9a-f]+/g, "$1"));
  }

  it("returns a text", async () => {
    const response = await completeBoth({ messages: [systemMessage("Be brief."), userMessage("hi")] });
    expect(textOf(response)).not.toBe("");
  });

  it("completes a round of parallel tool calls and their results", async () => {
    const base: RequestInit = {
      model: "sim-tools:calls=3",
      tools: [weather],
      messages: [userMessage("Paris?")],
    };
    const first = await completeBoth(base);
    const calls = toolCallsOf(first);
    expect(calls).toHaveLength(3);
    const results = calls.map(({ id }, index) => toolResult(id, `${index}°`, { failed: index === 0 }));
    const second = await completeBoth({
      ...base,
      messages: [userMessage("Paris?"), first.message ?? {}, ...results],
    });
    expect(textOf(second)).not.toBe("");
  });

  it.each([true, false])("sends reasoning back unchanged, with a requested summary: %j", async (summary) => {
    const providerOptionsJson = { openai: summary ? '{"reasoning":{"summary":"auto"}}' : "{}" };
    const base: RequestInit = {
      model: "sim-reasoning",
      tools: [weather],
      reasoningEffort: "high",
      providerOptionsJson,
    };
    const opening = userMessage("Paris?");
    const first = await completeBoth({ ...base, messages: [opening] });
    expect(reasoningOf(first) !== "").toBe(summary);
    expect(first.message?.content[0]?.part).toMatchObject({
      case: "reasoning",
      value: { redacted: !summary },
    });
    const [call] = toolCallsOf(first);
    const messages = [opening, first.message ?? {}, toolResult(call?.id ?? "", "7°")];
    const second = await completeBoth({ ...base, messages });
    // And a third time, with a picture in the result.
    const third = [
      ...messages,
      second.message ?? {},
      userMessage([textPart("And?"), imagePart(TRANSPARENT_PIXEL)]),
    ];
    expect((await completeBoth({ ...base, messages: third })).message?.content).not.toEqual([]);
  });

  it("sends the blocks of hosted tools back unchanged", async () => {
    const tools = [
      hostedTool("openai", { type: "web_search" }),
      hostedTool("openai", { type: "image_generation" }),
    ];
    const opening = userMessage("What is new?");
    const first = await completeBoth({ tools, messages: [opening] });
    const kinds = first.message?.content.map(({ part }) => part.case);
    expect(kinds).toContain("native");
    expect(first.message?.content.some(({ citations }) => citations.length > 0)).toBe(true);
    await completeBoth({ tools, messages: [opening, first.message ?? {}, userMessage("More?")] });
  });

  it("returns an answer in the requested format", async () => {
    const schemaJson =
      '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}';
    const object = await completeBoth({
      responseFormat: { type: Format.JSON_SCHEMA, schemaJson, strict: true },
    });
    expect(Object.keys(JSON.parse(textOf(object)))).toEqual(["city"]);
    const json = await completeBoth({ responseFormat: { type: Format.JSON } });
    expect(JSON.parse(textOf(json))).toBeTypeOf("object");
  });

  it("sends a request with every field that passes the server's validation", async () => {
    const response = await completeBoth({
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

  it("reports an answer that the token limit truncated", async () => {
    const response = await completeBoth({ model: "sim-long:rate=100000", maxTokens: 20 });
    expect(response.finishReason?.raw).toBe("max_output_tokens");
  });
});

describe("failures against the simulator", () => {
  it("are thrown before the first event, with the facts of the headers", async () => {
    const init = { model: "sim-text:status=429,code=rate_limit_exceeded,retry_after_ms=1500" };
    const limited = {
      kind: ErrorKind.RATE_LIMIT,
      httpStatusCode: 429,
      errorCode: "rate_limit_exceeded",
      retryAfter: 1.5,
      retryable: true,
    };
    const events: StreamEvent[] = [];
    await expect(getAdapter().complete(request(init))).rejects.toMatchObject(limited);
    await expect(getEvents(getAdapter(), init, events)).rejects.toMatchObject(limited);
    expect(events).toEqual([]);
  });

  it("carry the request id", async () => {
    const error = await toFailure(getAdapter().complete(request({ model: "sim-text:status=500" })));
    expect(error).toMatchObject({ requestId: onlyRequest().requestId });
  });

  it.each([
    ["sim-text:status=401", ErrorKind.AUTHENTICATION],
    ["sim-text:status=404", ErrorKind.NOT_FOUND],
    ["sim-text:status=429,code=insufficient_quota", ErrorKind.QUOTA_EXCEEDED],
    ["sim-text:status=503,error_body=html", ErrorKind.SERVER],
    ["sim-text:status=500,error_body=empty", ErrorKind.SERVER],
    ["no-such-model", ErrorKind.NOT_FOUND],
  ])("have the kind of their status: %s", async (model, kind) => {
    await expect(getAdapter().complete(request({ model }))).rejects.toMatchObject({ kind });
    await expect(getEvents(getAdapter(), { model })).rejects.toMatchObject({ kind });
  });

  it("are an authentication error if the provider rejects the key", async () => {
    const error = await toFailure(getAdapter({ apiKey: "invalid" }).complete(request({})));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: ErrorKind.AUTHENTICATION, httpStatusCode: 401, retryable: false });
  });

  it.each(["event", "failed", "nested"])("are reported inside a stream in the form %s", async (style) => {
    const model = `sim-text:error_after=6,error_style=${style},error_code=rate_limit_exceeded`;
    const events: StreamEvent[] = [];
    const thrown = await toFailure(getEvents(getAdapter(), { model }, events));
    expect(thrown).toMatchObject({
      kind: ErrorKind.RATE_LIMIT,
      errorCode: "rate_limit_exceeded",
      outputStarted: true,
    });
    expect(events.at(-1)?.event.case).toBe("error");
  });

  it.each(["cut_events=6", "cut_bytes=1500", "end_without_terminal=1", "malformed_after=5"])(
    "are a stream error if the stream breaks: %s",
    async (fault) => {
      const events: StreamEvent[] = [];
      const thrown = await toFailure(getEvents(getAdapter(), { model: `sim-text:${fault}` }, events));
      expect(thrown).toBeInstanceOf(StreamError);
      expect(events.at(-1)?.event.case).toBe("error");
    },
  );

  it("close the provider's socket when the caller stops reading", async () => {
    for await (const { event } of getAdapter().stream(request({ model: "sim-long:rate=50" }))) {
      if (event.case === "textDelta") break;
    }
    expect((await simulator().waitForClose()).aborted).toBe(true);
  });

  it("close the provider's socket when the caller cancels", async () => {
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const answer = toFailure(getAdapter().complete(request({ model: "sim-text:delay_ms=60000" }), options));
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
  ])("do not arise from harmless irregularities: %s", async (fault) => {
    const tools = [functionTool({ name: "look" })];
    const events = await getEvents(getAdapter(), { model: `sim-tools:${fault}`, tools });
    expect(events.at(-1)?.event.case).toBe("finish");
  });
});

describe("a server that answers a stream with a whole answer", () => {
  it("is read as the answer", async () => {
    const { port } = await serveHttp((_asked, answer) => {
      answer.setHeader("content-type", "application/json; charset=utf-8");
      answer.end(JSON.stringify({ id: "resp_1", model: "m", status: "completed", output: [message("Hey")] }));
    });
    const events = await getEvents(getAdapter({ baseUrl: `http://127.0.0.1:${port}` }));
    expect(events.map(({ event }) => event.case)).toEqual([
      "streamStart",
      "textStart",
      "textDelta",
      "textEnd",
      "finish",
    ]);
  });
});

describe("local files", () => {
  it("are read only under the folders that the provider entry allows", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outrigger-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "a.gif");
    await writeFile(path, "GIF89a");
    const shown = request({ messages: [userMessage(imagePart(path))] });
    await expect(getAdapter().complete(shown)).rejects.toThrow("messages[0].content[0].image.url");
    await getAdapter({ allowFilesUnder: [folder] }).complete(shown);
    expect(onlyRequest().body).toMatchObject({
      input: [{ content: [{ type: "input_image", image_url: "data:image/gif;base64,R0lGODlh" }] }],
    });
  });
});

it("supports every tool choice", () => {
  const adapter = getAdapter();
  const modes = [Mode.AUTO, Mode.NONE, Mode.REQUIRED, Mode.NAMED];
  expect(modes.map((mode) => adapter.supportsToolChoice(mode, "gpt-5"))).toEqual([true, true, true, true]);
});
