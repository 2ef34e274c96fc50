/** Requests and answers of so many elements that they cannot be the arguments of one call of a function in V8. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ProviderAdapter } from "../../src/core/adapter.ts";
import { assistantMessage, userMessage } from "../../src/core/message.ts";
import { textPart } from "../../src/core/parts.ts";
import { toolResult } from "../../src/core/tools.ts";
import { type Request, RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { AnthropicAdapter } from "../../src/providers/anthropic-messages/adapter.ts";
import { GeminiAdapter } from "../../src/providers/gemini/adapter.ts";
import { OpenAIChatAdapter } from "../../src/providers/openai-chat/adapter.ts";
import { OpenAIAdapter } from "../../src/providers/openai-responses/adapter.ts";
import { serveHttp } from "../kit/http/servers.ts";

/** More than V8 takes as arguments with the stack of Node. */
const MANY = 130_000;

type Api = "anthropic" | "gemini" | "openai" | "chat";

const APIS: readonly Api[] = ["anthropic", "gemini", "openai", "chat"];

/** An adapter of a server that answers each request with the same body, or with the body as the only event. */
async function open(api: Api, body: unknown, isEvent = false): Promise<ProviderAdapter> {
  const json = JSON.stringify(body);
  const type = isEvent ? "text/event-stream" : "application/json";
  const text = isEvent ? `data: ${json}\n\n` : json;
  const server = await serveHttp((request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", type).end(text));
  });
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const options = { apiKey: "test-key-0123456789", baseUrl };
  const create = {
    anthropic: () => new AnthropicAdapter(options),
    gemini: () => new GeminiAdapter(options),
    openai: () => new OpenAIAdapter(options),
    chat: () => new OpenAIChatAdapter({ ...options, profile: { replayReasoning: true } }),
  };
  const adapter = create[api]();
  onTestFinished(() => adapter.close());
  return adapter;
}

function ask(more: MessageInitShape<typeof RequestSchema> = {}): Request {
  return create(RequestSchema, { model: "m", messages: [userMessage("hi")], ...more });
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

function repeat<Item>(toItem: (index: number) => Item): Item[] {
  return Array.from({ length: MANY }, (_, index) => toItem(index));
}

const ANSWERS: Readonly<Record<Api, object>> = {
  anthropic: {
    type: "message",
    model: "m",
    content: [{ type: "text", text: "hi" }],
    stop_reason: "end_turn",
  },
  gemini: { candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }] },
  openai: {
    status: "completed",
    output: [{ type: "message", content: [{ type: "output_text", text: "hi" }] }],
  },
  chat: { choices: [{ index: 0, message: { content: "hi" }, finish_reason: "stop" }] },
};

describe("a request with a tool result of very many parts", () => {
  it.each(APIS)("is sent to a server of %s", async (api) => {
    const adapter = await open(api, ANSWERS[api]);
    const input = { case: "argumentsJson", value: "{}" } as const;
    const call = { part: { case: "toolCall", value: { id: "c", name: "f", input } } as const };
    const part = textPart("r");
    const messages = [
      userMessage("hi"),
      assistantMessage([call]),
      toolResult(
        "c",
        repeat(() => part),
      ),
    ];
    await expect(adapter.complete(ask({ messages }))).resolves.toMatchObject({ model: "m" });
  });
});

it("sends very many details of reasoning back", async () => {
  const adapter = await open("chat", ANSWERS.chat);
  const dataJson = JSON.stringify({ details: repeat(() => ({})) });
  const state = { provider: "compatible", model: "m", dataJson };
  const reasoning = { part: { case: "reasoning", value: { text: "r" } } as const, providerState: state };
  const messages = [userMessage("hi"), assistantMessage([reasoning, textPart("hi")]), userMessage("on")];
  await expect(adapter.complete(ask({ messages }))).resolves.toMatchObject({ model: "m" });
});

describe("an answer", () => {
  it.each([
    ["openai", { input_transformations: repeat((index) => ({ reason: `changed ${index}` })) }],
    ["anthropic", { context_management: { applied_edits: repeat((index) => ({ type: `edit_${index}` })) } }],
  ] as const)("of %s has a limited number of warnings about changes of the input", async (api, changes) => {
    const adapter = await open(api, { ...ANSWERS[api], ...changes });
    const { warnings } = await adapter.complete(ask());
    expect(warnings.map(({ code }) => code)).toEqual(Array(16).fill("input_transformed"));
  });

  it("is refused for very many parts of one event before any of them is read", async () => {
    const parts = repeat(() => ({ functionCall: { name: "f", args: {} } })).slice(0, 50_000);
    const answer = { candidates: [{ content: { parts }, finishReason: "STOP" }] };
    const adapter = await open("gemini", answer, true);
    const cases: (string | undefined)[] = [];
    const read = async () => {
      for await (const { event } of adapter.stream(ask())) cases.push(event.case);
    };
    await expect(read()).rejects.toThrow("more than 10000 parts, the limit max_answer_parts");
    expect(cases.filter((each) => each === "toolCallStart")).toEqual([]);
  });

  // Elements that are no parts count too: only then can the others be refused before they are read.
  it.each([
    ["anthropic", { ...ANSWERS.anthropic, content: repeat(() => null) }, false],
    ["anthropic", { type: "message_start", message: { model: "m", content: repeat(() => null) } }, true],
    ["openai", { ...ANSWERS.openai, output: repeat(() => null) }, false],
    ["gemini", { candidates: [{ content: { parts: repeat(() => null) }, finishReason: "STOP" }] }, false],
  ] as const)("of %s is refused for very many elements", async (api, answer, isEvent) => {
    const adapter = await open(api, answer, isEvent);
    const read = isEvent ? collect(adapter.stream(ask())) : adapter.complete(ask());
    await expect(read).rejects.toThrow("more than 10000 parts, the limit max_answer_parts");
  });

  it("keeps the log probabilities of very many tokens", async () => {
    const [choice] = (ANSWERS.chat as { choices: object[] }).choices;
    const logprobs = { content: repeat(() => ({})) };
    const adapter = await open("chat", { choices: [{ ...choice, logprobs }] });
    const { message } = await adapter.complete(ask());
    const state = JSON.parse(message?.content[0]?.providerState?.dataJson ?? "{}");
    expect(state.logprobs).toHaveLength(MANY);
  });

  it("is refused if it lists very many sources", async () => {
    const adapter = await open("chat", { ...ANSWERS.chat, citations: repeat(() => "https://a.example") });
    await expect(adapter.complete(ask())).rejects.toThrow(
      "more than 10000 parts, the limit max_answer_parts",
    );
  });
});
