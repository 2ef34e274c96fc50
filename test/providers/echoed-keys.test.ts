/** Providers that send the key of a request back in their answers. */
import { toJsonString } from "@bufbuild/protobuf";
import { accumulate, GeminiAdapter, OpenAIAdapter, OpenAIChatAdapter, type Request } from "outrigger";
import { expect, it, onTestFinished } from "vitest";
import { createAdapter, wireApis } from "../../src/client/providers.ts";
import { toRequest } from "../../src/client/request-input.ts";
import { userMessage } from "../../src/core/message.ts";
import { ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";
import { serveHttp } from "../kit/http/servers.ts";

const KEY = "sk-the-key-of/the-sidecar";
const ESCAPED = KEY.replace("/", "\\/");

const CHUNK = {
  id: "1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, note: KEY },
  debug: { authorization: `Bearer ${KEY}` },
};
const { delta, ...choice } = CHUNK.choices[0] ?? { delta: {} };
const WHOLE = { ...CHUNK, object: "chat.completion", choices: [{ ...choice, message: delta }] };

async function startAdapter(): Promise<{ adapter: OpenAIChatAdapter; request: Request }> {
  const server = await serveHttp((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const isStream = JSON.parse(body).stream === true;
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      const text = JSON.stringify(isStream ? CHUNK : WHOLE).replace(KEY, ESCAPED);
      response.end(isStream ? `data: ${text}\n\ndata: [DONE]\n\n` : text);
    });
  });
  const adapter = new OpenAIChatAdapter({ apiKey: KEY, baseUrl: `http://127.0.0.1:${server.port}/v1` });
  onTestFinished(() => adapter.close());
  const request = toRequest({
    model: "m",
    messages: [{ role: 2, content: [{ part: { case: "text", value: "hi" } }] }],
    includeRaw: true,
  });
  return { adapter, request };
}

it("does not return the key in the raw JSON of a whole answer", async () => {
  const { adapter, request } = await startAdapter();
  const { rawJson, usage } = await adapter.complete(request);
  expect(JSON.parse(rawJson)).toMatchObject({
    usage: { note: "(key)" },
    debug: { authorization: "Bearer (key)" },
  });
  expect(JSON.parse(usage?.rawJson ?? "")).toMatchObject({ note: "(key)" });
});

it("does not return the key in the raw JSON and the provider's events of a stream", async () => {
  const { adapter, request } = await startAdapter();
  const events: unknown[] = [];
  for await (const { event } of adapter.stream(request)) {
    if (event.case === "providerEvent") events.push(JSON.parse(event.value.dataJson));
  }
  expect(events).toContainEqual(expect.objectContaining({ debug: { authorization: "Bearer (key)" } }));
  const response = await accumulate(adapter.stream(request));
  expect(JSON.parse(response.usage?.rawJson ?? "")).toMatchObject({ note: "(key)" });
  expect(response.rawJson).not.toContain("the-key-of");
});

/** An answer of Gemini with the key in everything that is not the model's. */
const GEMINI = {
  responseId: KEY,
  modelVersion: `models/${KEY}`,
  candidates: [
    {
      content: {
        role: "model",
        parts: [{ functionCall: { name: "f", args: {} }, thoughtSignature: "c2ln" }],
      },
      finishReason: `OTHER ${KEY}`,
      finishMessage: `stopped by ${KEY}`,
    },
  ],
};

it.each(["application/json", "text/event-stream"])(
  "does not return the key in finish reasons, warnings and provider state of %s",
  async (type) => {
    const body = JSON.stringify(GEMINI);
    const server = await serveHttp((request, response) => {
      request.resume();
      response
        .writeHead(200, { "content-type": type })
        .end(type.includes("json") ? body : `data: ${body}\n\n`);
    });
    const adapter = new GeminiAdapter({ apiKey: KEY, baseUrl: `http://127.0.0.1:${server.port}` });
    onTestFinished(() => adapter.close());
    const response = await accumulate(
      adapter.stream(toRequest({ model: "m", messages: [userMessage("hi")] })),
    );
    expect(response.finishReason?.raw).toBe("OTHER (key)");
    expect(response.warnings.map(({ message }) => message)).toContain("stopped by (key)");
    expect(response.message?.content[0]?.providerState?.model).toContain("(key)");
    expect(toJsonString(ResponseSchema, response)).not.toContain(KEY);
  },
);

it("does not return the key in the type of a provider's event", async () => {
  const server = await serveHttp((request, response) => {
    request.resume();
    const events = [
      { type: "response.created", response: { id: "r", model: "m", status: "in_progress", output: [] } },
      { type: `response.${KEY}` },
      { type: "response.completed", response: { id: "r", model: "m", status: "completed", output: [] } },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  const adapter = new OpenAIAdapter({ apiKey: KEY, baseUrl: `http://127.0.0.1:${server.port}/v1` });
  onTestFinished(() => adapter.close());
  const types: string[] = [];
  for await (const { event } of adapter.stream(toRequest({ model: "m", messages: [userMessage("hi")] })))
    if (event.case === "providerEvent") types.push(event.value.type);
  expect(types).toEqual(["response.(key)"]);
});

it.each(wireApis)("does not return a part of the key in the failure of a stream of %s", async (api) => {
  const failure = { type: "error", error: { type: "odd", code: "odd", message: `not with ${KEY}, ever` } };
  const server = await serveHttp((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`event: error\ndata: ${JSON.stringify(failure)}\n\n`);
  });
  const baseUrl = `http://127.0.0.1:${server.port}${api.startsWith("openai") ? "/v1" : ""}`;
  const adapter = createAdapter("p", { api, apiKey: KEY, baseUrl });
  onTestFinished(() => adapter.close?.());
  const request = toRequest({ model: "m", maxTokens: 9, messages: [userMessage("hi")] });
  await expect(accumulate(adapter.stream(request))).rejects.toThrow(/: not with \(key\), ever$/);
});
