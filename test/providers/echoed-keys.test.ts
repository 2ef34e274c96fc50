/** Providers that send the key of a request back in their answers. */
import { accumulate, OpenAIChatAdapter, type Request } from "outrigger";
import { expect, it, onTestFinished } from "vitest";
import { toRequest } from "../../src/client/request-input.ts";
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
