/** OpenAI's official SDK against Chat Completions over real sockets, with a simulator of each provider behind it. */
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import type {
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions/completions";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Column, columns } from "../../providers/support/columns.ts";
import type { Fact } from "../../providers/support/facts.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

const tools: ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city",
      parameters: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      },
      strict: true,
    },
  },
];

const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function user(content: string): ChatCompletionMessageParam {
  return { role: "user", content };
}

/** The facts of the latest request that the provider got, read by code that shares nothing with the adapters. */
function getFacts({ simulator }: ApiServer, { read }: Column): readonly Fact[] {
  return read(simulator.requests.at(-1)?.body as never).facts;
}

/** A piece of a call of a custom tool, for which the SDK has no type. */
interface CustomPiece {
  readonly type: string;
  readonly custom: { readonly name: string; readonly input: string };
}

describe.each(columns)("With $title behind it, Chat Completions", (column) => {
  const model = (sim: string) => `${column.name}/${sim}`;

  it("answers a text with its usage", async () => {
    const { openai } = await startApi(servers);
    const completion = await openai.chat.completions.create({
      model: model("sim-echo"),
      messages: [{ role: "system", content: "Repeat." }, user("Grüße 👋")],
    });
    const [choice] = completion.choices;
    expect(choice).toMatchObject({ index: 0, finish_reason: "stop", logprobs: null });
    expect(choice?.message).toMatchObject({ role: "assistant", content: "Grüße 👋", refusal: null });
    expect(completion).toMatchObject({ object: "chat.completion", model: "sim-echo" });
    // A provider that speaks this API chooses the id itself.
    expect(completion.id).toMatch(/^chatcmpl-(inf_[0-9a-f]{32}|[0-9a-f]{24})$/);
    const { usage } = completion;
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(usage?.completion_tokens).toBeGreaterThan(0);
  });

  it("streams what a whole answer holds", async () => {
    const { openai } = await startApi(servers);
    const request = {
      model: model("sim-tools"),
      messages: [user("Weather in Paris and Oslo?")],
      tools,
      stream_options: { include_usage: true },
    };
    const stream = openai.chat.completions.stream(request);
    const streamed = await stream.finalChatCompletion();
    const { stream_options: _, ...whole } = request;
    const completion = await openai.chat.completions.create(whole);
    const [calls, others] = [streamed, completion].map(({ choices }) =>
      choices[0]?.message.tool_calls?.map((call) => (call.type === "function" ? call.function : call)),
    );
    expect(calls?.map((call) => JSON.parse("arguments" in call ? call.arguments : "{}"))).toEqual(
      others?.map((call) => JSON.parse("arguments" in call ? call.arguments : "{}")),
    );
    expect(calls).toMatchObject([{ name: "get_weather" }]);
    expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
    expect(streamed.usage).toEqual(completion.usage);
  });

  it("sends back what the provider needs of its answer when a client returns the message unchanged", async () => {
    const api = await startApi(servers);
    const request = { model: model("sim-reasoning"), tools, reasoning_effort: "high" as const };
    const messages: ChatCompletionMessageParam[] = [user("Weather in Paris?")];
    const first = await api.openai.chat.completions.create({ ...request, messages });
    const message = first.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    if (message === undefined || call === undefined) throw new Error("expected a tool call");
    messages.push(message, { role: "tool", tool_call_id: call.id, content: "18 degrees" });
    const second = await api.openai.chat.completions.create({ ...request, messages });
    expect(second.choices[0]?.message.content).toContain("18 degrees");
    const facts = getFacts(api, column);
    expect(facts).toContainEqual(expect.objectContaining({ kind: "call", name: "get_weather" }));
    expect(facts.filter(({ kind }) => kind === "state")).not.toEqual([]);
  });

  it("does the same for a message that a client put together from the chunks", async () => {
    const api = await startApi(servers);
    const request = { model: model("sim-reasoning"), tools, reasoning_effort: "high" as const };
    const messages = [user("Weather in Paris?")];
    const message = await collectMessage(api, { ...request, messages, stream: true });
    const call = message.tool_calls[0];
    const result = { role: "tool", tool_call_id: call?.id ?? "", content: "18 degrees" } as const;
    const next = [...messages, message as unknown as ChatCompletionMessageParam, result];
    await api.openai.chat.completions.create({ ...request, messages: next });
    expect(getFacts(api, column).filter(({ kind }) => kind === "state")).not.toEqual([]);
  });

  it("finds it by the ids of the calls when a client returns only text and calls", async () => {
    const api = await startApi(servers);
    const request = { model: model("sim-reasoning"), tools, reasoning_effort: "high" as const };
    const messages: ChatCompletionMessageParam[] = [user("Weather in Paris?")];
    const first = await api.openai.chat.completions.create({ ...request, messages });
    const [call] = first.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== "function") throw new Error("expected a tool call");
    const { id, function: called } = call;
    // Many clients parse the arguments, and write them anew.
    const again = { name: called.name, arguments: JSON.stringify(JSON.parse(called.arguments), null, 1) };
    messages.push(
      { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: again }] },
      { role: "tool", tool_call_id: id, content: "18 degrees" },
    );
    await api.openai.chat.completions.create({ ...request, messages });
    expect(getFacts(api, column).filter(({ kind }) => kind === "state")).not.toEqual([]);
  });

  it("returns calls of custom tools as such, also if they are functions for the provider", async () => {
    const api = await startApi(servers);
    const messages: ChatCompletionMessageParam[] = [user("Run Paris.")];
    const request = {
      model: model("sim-reasoning"),
      tools: [{ type: "custom" as const, custom: { name: "run" } }],
      reasoning_effort: "high" as const,
    };
    const first = await api.openai.chat.completions.create({ ...request, messages });
    const [call] = first.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== "custom") throw new Error(`expected a custom call, got ${JSON.stringify(call)}`);
    expect(call.custom).toEqual({ name: "run", input: expect.stringMatching(/^[^{]*Paris/) });
    const pieces: CustomPiece[] = [];
    for await (const { choices } of await api.openai.chat.completions.create({
      ...request,
      messages,
      stream: true,
    }))
      pieces.push(...((choices[0]?.delta.tool_calls ?? []) as unknown as CustomPiece[]));
    expect(pieces[0]).toMatchObject({ type: "custom", custom: { name: "run" } });
    expect(pieces.map(({ custom }) => custom.input).join("")).toBe(call.custom.input);
    messages.push(
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "18 degrees" },
    );
    const second = await api.openai.chat.completions.create({ ...request, messages });
    expect(second.choices[0]?.message.content).toContain("18 degrees");
    expect(getFacts(api, column).filter(({ kind }) => kind === "state")).not.toEqual([]);
  });

  it("returns an object that matches the caller's schema", async () => {
    const { openai } = await startApi(servers);
    const schema = z.object({ city: z.string(), population: z.number() });
    const { choices } = await openai.chat.completions.parse({
      model: model("sim-text"),
      messages: [user("Describe Oslo.")],
      response_format: zodResponseFormat(schema, "city"),
    });
    expect(schema.parse(choices[0]?.message.parsed)).toEqual(choices[0]?.message.parsed);
  });

  it("passes on images and settings", async () => {
    const api = await startApi(servers);
    await api.openai.chat.completions.create({
      model: model("sim-text"),
      max_completion_tokens: 300,
      temperature: 0.5,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Which colour?" },
            { type: "image_url", image_url: { url: PIXEL } },
          ],
        },
      ],
    });
    expect(getFacts(api, column)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: "text", text: "Which colour?" }),
        expect.objectContaining({ kind: "image" }),
      ]),
    );
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body)).toMatch(/300.*0\.5|0\.5.*300/);
  });

  it("throws the SDK's typed errors", async () => {
    const { openai } = await startApi(servers);
    const call = (sim: string) =>
      openai.chat.completions.create({ model: model(sim), messages: [user("Hello")] });
    await expect(call("sim-text:status=429,retry_after=2")).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    await expect(call("sim-text:status=429,retry_after=2")).rejects.toMatchObject({ status: 429 });
    await expect(call("sim-text:status=500")).rejects.toBeInstanceOf(OpenAI.InternalServerError);
    const streamed = openai.chat.completions.create({
      model: model("sim-text:status=404"),
      messages: [user("Hello")],
      stream: true,
    });
    await expect(streamed).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it("ends a stream that was cut with an error and without [DONE]", async () => {
    const api = await startApi(servers);
    const request = { model: model("sim-long:tokens=50,cut_events=20"), messages: [user("Hello")] };
    const stream = await api.openai.chat.completions.create({ ...request, stream: true });
    const reading = async () => {
      for await (const _ of stream);
    };
    await expect(reading()).rejects.toBeInstanceOf(OpenAI.APIError);
    const body = await (await post(api, { ...request, stream: true })).text();
    expect(body).not.toContain("[DONE]");
    expect(JSON.parse(body.trim().split("\n\n").at(-1)?.slice("data: ".length) ?? "")).toMatchObject({
      error: { type: "server_error", message: expect.any(String) },
    });
  });

  it("aborts the provider's call when the caller disconnects", async () => {
    const api = await startApi(servers);
    const controller = new AbortController();
    const stream = await api.openai.chat.completions.create(
      { model: model("sim-long:tokens=1000,rate=50"), messages: [user("Hello")], stream: true },
      { signal: controller.signal },
    );
    for await (const _ of stream) break;
    controller.abort();
    expect(await api.simulator.waitForClose({})).toMatchObject({ aborted: true });
  });
});

/** An assistant message as clients put it together that know the fields of other servers. */
interface Collected {
  readonly role: "assistant";
  content: string;
  reasoning_content: string;
  readonly tool_calls: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  reasoning_details?: unknown[];
}

async function collectMessage(api: ApiServer, body: object): Promise<Collected> {
  const message: Collected = {
    role: "assistant",
    content: "",
    reasoning_content: "",
    tool_calls: [],
    reasoning_details: [],
  };
  const text = await (await post(api, body)).text();
  for (const line of text.split("\n\n")) {
    if (!line.startsWith("data: {")) continue;
    const delta = JSON.parse(line.slice("data: ".length)).choices[0]?.delta ?? {};
    message.content += delta.content ?? "";
    message.reasoning_content += delta.reasoning_content ?? "";
    message.reasoning_details?.push(...(delta.reasoning_details ?? []));
    for (const { index, id, function: called, ...rest } of delta.tool_calls ?? []) {
      const call = { id: "", type: "function" as const, function: { name: "", arguments: "" } };
      message.tool_calls[index] ??= call;
      const known = message.tool_calls[index];
      known.id ||= id ?? "";
      known.function.name ||= called?.name ?? "";
      known.function.arguments += called?.arguments ?? "";
      Object.assign(known, rest);
    }
  }
  if (message.reasoning_details?.length === 0) delete message.reasoning_details;
  return message;
}

function post({ fetch }: ApiServer, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch("/v1/chat/completions", { method: "POST", headers, body: JSON.stringify(body) });
}
