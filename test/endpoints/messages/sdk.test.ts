/** Anthropic's official SDK against the Messages API over real sockets, with a simulator of each provider behind it. */
import Anthropic from "@anthropic-ai/sdk";
import type { BetaTool } from "@anthropic-ai/sdk/resources/beta/messages/messages";
import type { MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages";
import { describe, expect, it } from "vitest";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { type Column, columns } from "../../providers/support/columns.ts";
import type { Fact } from "../../providers/support/facts.ts";
import { accessKey } from "../../server/support/access-keys.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

const tools: Tool[] = [
  {
    name: "get_weather",
    description: "The weather in a city",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A server with the API, and Anthropic's SDK as its client. */
async function start(): Promise<ApiServer & { readonly anthropic: Anthropic }> {
  const api = await startApi(servers);
  const anthropic = new Anthropic({ apiKey: "any", baseURL: api.server.url, maxRetries: 0 });
  return { ...api, anthropic };
}

/** The facts of the latest request that the provider got, read by code that shares nothing with the adapters. */
function getFacts({ simulator }: ApiServer, { read }: Column): readonly Fact[] {
  return read(simulator.requests.at(-1)?.body as never).facts;
}

const user = (content: string): MessageParam => ({ role: "user", content });

describe.each(columns)("With $title behind it, the Messages API", (column) => {
  const model = (sim: string) => `${column.name}/${sim}`;

  it("answers a text with its usage", async () => {
    const { anthropic } = await start();
    const message = await anthropic.messages.create({
      model: model("sim-echo"),
      max_tokens: 500,
      system: [{ type: "text", text: "Repeat.", cache_control: { type: "ephemeral" } }],
      messages: [user("Grüße 👋")],
    });
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      model: "sim-echo",
      content: [{ type: "text", text: "Grüße 👋" }],
      stop_reason: "end_turn",
      stop_sequence: null,
    });
    // A provider that speaks this API chooses the id itself.
    expect(message.id).toMatch(/^msg_([0-9a-f]{32}|[0-9a-f]{24})$/);
    expect(message.usage.output_tokens).toBeGreaterThan(0);
    expect(message.usage.input_tokens).toBeGreaterThan(0);
  });

  it("streams what a whole answer holds", async () => {
    const { anthropic } = await start();
    const request = {
      model: model("sim-tools:preamble=1"),
      max_tokens: 500,
      messages: [user("Weather in Paris?")],
      tools,
    };
    const streamed = await anthropic.messages.stream(request).finalMessage();
    const whole = await anthropic.messages.create(request);
    const comparable = ({ content, stop_reason, usage }: Anthropic.Message) => ({
      // The simulator gives each call a new id.
      content: content.map((block) => ({ ...block, id: "", caller: undefined })),
      stop_reason,
      usage: { input: usage.input_tokens, output: usage.output_tokens },
    });
    expect(comparable(streamed)).toEqual(comparable(whole));
    expect(whole.stop_reason).toBe("tool_use");
  });

  it.each([false, true])(
    "sends back what the provider needs of its answer in a tool loop (streamed: %s)",
    async (isStreamed) => {
      const api = await start();
      const request = {
        model: model("sim-reasoning"),
        max_tokens: 20_000,
        thinking: { type: "enabled" as const, budget_tokens: 4000 },
        tools,
      };
      const messages = [user("Weather in Paris?")];
      const first = isStreamed
        ? await api.anthropic.messages.stream({ ...request, messages }).finalMessage()
        : await api.anthropic.messages.create({ ...request, messages });
      const call = first.content.find((block) => block.type === "tool_use");
      if (call === undefined) throw new Error("expected a tool call");
      const result = { type: "tool_result" as const, tool_use_id: call.id, content: "18 degrees" };
      messages.push(
        { role: "assistant", content: first.content as never },
        { role: "user", content: [result] },
      );
      const second = await api.anthropic.messages.create({ ...request, messages });
      expect(JSON.stringify(second.content)).toContain("18 degrees");
      const facts = getFacts(api, column);
      expect(facts).toContainEqual(expect.objectContaining({ kind: "call", name: "get_weather" }));
      expect(facts.filter(({ kind }) => kind === "state")).not.toEqual([]);
    },
  );

  it("returns the signature at the end of a streamed text, and no text block without characters", async () => {
    const api = await start();
    const request = { model: model("sim-reasoning"), max_tokens: 20_000 };
    const messages = [user("Hello")];
    const { content } = await api.anthropic.messages.stream({ ...request, messages }).finalMessage();
    const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    expect(texts).toEqual([expect.stringMatching(/./)]);
    messages.push({ role: "assistant", content: content as never }, user("And now?"));
    await api.anthropic.messages.create({ ...request, messages });
    const sent = JSON.stringify(api.simulator.requests.at(-1)?.body);
    if (column.name === "gemini") expect(sent).toContain("thoughtSignature");
  });

  it.each([false, true])("serves the SDK's tool runner (streamed: %s)", async (stream) => {
    const { anthropic } = await start();
    const cities: unknown[] = [];
    const runner = anthropic.beta.messages.toolRunner({
      model: model("sim-reasoning:rounds=2"),
      max_tokens: 20_000,
      messages: [user("Weather in Paris?")],
      tools: [
        {
          ...(tools[0] as BetaTool),
          parse: (input) => input as { city: string },
          run: ({ city }) => {
            cities.push(city);
            return "18 degrees";
          },
        },
      ],
      stream,
    });
    expect(JSON.stringify((await runner.runUntilDone()).content)).toContain("18 degrees");
    expect(cities).toEqual(["Paris", "Paris"]);
  });

  it("passes on images, results with images, and errors of tools", async () => {
    const api = await start();
    const image = {
      type: "image" as const,
      source: { type: "base64" as const, media_type: "image/png" as const, data: PIXEL },
    };
    const messages: MessageParam[] = [
      { role: "user", content: [{ type: "text", text: "Which colour?" }, image] },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_01", name: "get_weather", input: { city: "Oslo" } }],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_01",
            is_error: true,
            content: [{ type: "text", text: "It rains." }, image],
          },
          { type: "text", text: "And now?" },
        ],
      },
    ];
    await api.anthropic.messages.create({ model: model("sim-text"), max_tokens: 300, messages, tools });
    const facts = getFacts(api, column);
    for (const text of ["Which colour?", "And now?"]) expect(JSON.stringify(facts)).toContain(text);
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body).split(PIXEL)).toHaveLength(3);
    expect(JSON.stringify(facts)).toContain("It rains.");
  });

  it("returns JSON that matches the caller's schema", async () => {
    const { anthropic } = await start();
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const { content } = await anthropic.messages.create({
      model: model("sim-text"),
      max_tokens: 300,
      messages: [user("Describe Oslo.")],
      output_config: { format: { type: "json_schema", schema } },
    });
    const text = content.find((block) => block.type === "text")?.text ?? "";
    expect(JSON.parse(text)).toEqual({ city: expect.any(String) });
  });

  it("throws the SDK's typed errors", async () => {
    const { anthropic } = await start();
    const call = (sim: string) =>
      anthropic.messages.create({ model: model(sim), max_tokens: 300, messages: [user("Hello")] });
    await expect(call("sim-text:status=429,retry_after=2")).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    await expect(call("sim-text:status=500")).rejects.toBeInstanceOf(Anthropic.InternalServerError);
    await expect(call("sim-text:status=404")).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    await expect(call("sim-text:status=404")).rejects.toMatchObject({
      error: { type: "error", error: { type: "not_found_error", message: expect.any(String) } },
    });
  });

  it("gives the SDK the id of each request, also of one that fails", async () => {
    const { anthropic } = await start();
    const call = (sim: string) =>
      anthropic.messages.create({ model: model(sim), max_tokens: 300, messages: [user("Hello")] });
    expect(await call("sim-text")).toHaveProperty("_request_id", expect.stringMatching(/./));
    await expect(call("sim-text:status=500")).rejects.toHaveProperty("requestID", expect.stringMatching(/./));
    await expect(anthropic.models.retrieve("unheard-of")).rejects.toMatchObject({
      requestID: expect.stringMatching(/./),
      type: "not_found_error",
    });
  });

  it("ends a stream that was cut with an error and without message_stop", async () => {
    const api = await start();
    const request = {
      model: model("sim-long:tokens=50,cut_events=20"),
      max_tokens: 500,
      messages: [user("Hello")],
    };
    await expect(api.anthropic.messages.stream(request).finalMessage()).rejects.toBeInstanceOf(
      Anthropic.APIError,
    );
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ ...request, stream: true });
    const text = await (await api.fetch("/v1/messages", { method: "POST", headers, body })).text();
    expect(text).not.toContain("message_stop");
    expect(text.trim().split("\n\n").at(-1)).toMatch(/^event: error\ndata: {"type":"error"/);
  });

  it("refuses a caller without an access key in the form of the API, and takes the header of the SDK", async () => {
    const access = new AccessControl({ current: () => [accessKey("a", ["a-key"])] });
    const { server } = await startApi(servers, { access });
    const call = (apiKey: string) =>
      new Anthropic({ apiKey, baseURL: server.url, maxRetries: 0 }).messages.create({
        model: model("sim-text"),
        max_tokens: 300,
        messages: [user("Hello")],
      });
    expect((await call("a-key")).type).toBe("message");
    await expect(call("wrong")).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
    await expect(call("wrong")).rejects.toMatchObject({
      error: { type: "error", error: { type: "authentication_error" } },
    });
  });

  it("counts what a call sends, also if the client drops the reasoning of a turn", async () => {
    const { anthropic } = await start();
    const request = { model: model("sim-reasoning"), tools };
    const question = user("How is the weather in Oslo?");
    const { content } = await anthropic.messages.create({
      ...request,
      max_tokens: 900,
      messages: [question],
    });
    const calls = content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
    const results = calls.map(({ id }) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: "Rain",
    }));
    const messages: MessageParam[] = [
      question,
      { role: "assistant", content: calls },
      { role: "user", content: results },
    ];
    const { usage } = await anthropic.messages.create({ ...request, max_tokens: 900, messages });
    const count = await anthropic.messages.countTokens({ ...request, messages });
    // The count for other servers is an estimate.
    if (column.name !== "compatible") expect(count.input_tokens).toBe(usage.input_tokens);
  });

  it("answers paths that it does not have with an error in the form of the API", async () => {
    const { anthropic } = await start();
    await expect(anthropic.beta.files.list().then()).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error" } },
    });
  });

  it("counts tokens, and aborts the provider's call when the caller disconnects", async () => {
    const api = await start();
    const messages = [user("Hello ".repeat(100))];
    const count = await api.anthropic.messages.countTokens({ model: model("sim-text"), messages, tools });
    expect(count.input_tokens).toBeGreaterThan(50);
    // The provider's count, if it has one.
    expect(api.simulator.requests).toHaveLength(column.name === "compatible" ? 0 : 1);
    api.simulator.clearRequests();
    const request = { model: model("sim-long:tokens=1000,rate=50"), max_tokens: 5000, messages };
    const stream = await api.anthropic.messages.create({ ...request, stream: true });
    for await (const _ of stream) break;
    stream.controller.abort();
    expect(await api.simulator.waitForClose({})).toMatchObject({ aborted: true });
  });
});
