/** Answers of a provider that never stops, or sends far more than any answer needs. */
import { describe, expect, it, onTestFinished } from "vitest";
import { type SDKError, StreamError } from "../../../src/core/errors.ts";
import { createSourceForm } from "../../../src/core/source-form.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import type { HttpAdapter } from "../../../src/kit/adapter/http-adapter.ts";
import type { AnswerLimits } from "../../../src/kit/call/answer-limits.ts";
import { AnthropicAdapter } from "../../../src/providers/anthropic-messages/adapter.ts";
import { GeminiAdapter } from "../../../src/providers/gemini/adapter.ts";
import { OpenAIChatAdapter } from "../../../src/providers/openai-chat/adapter.ts";
import { OpenAIAdapter } from "../../../src/providers/openai-responses/adapter.ts";
import { serveHttp, type TestServer, waitUntil } from "../http/servers.ts";
import { ask, getCases, KEY, openAdapter, read } from "./adapter-calls.ts";

const CREATED = 'data: {"type":"response.created","response":{"model":"m"}}\n\n';

function delta(index: number, text: string): string {
  const event = { type: "response.output_text.delta", output_index: index, content_index: 0, delta: text };
  return `data: ${JSON.stringify(event)}\n\n`;
}

/** A server that writes a beginning and then pieces without end, as far as they are read. */
function endless(type: string, head: string, piece: (index: number) => string): Promise<TestServer> {
  return serveHttp((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": type }).write(head);
    let index = 0;
    const write = () => {
      while (!response.destroyed) {
        const pieces = Array.from({ length: 100 }, () => piece(index++));
        if (!response.write(pieces.join(""))) return;
      }
    };
    response.on("drain", write);
    write();
  });
}

interface Row {
  readonly what: string;
  readonly piece: (index: number) => string;
  readonly limits: Partial<AnswerLimits>;
  readonly message: string;
  /** Events that come before the limit, at least. */
  readonly before: number;
}

const ROWS: readonly Row[] = [
  {
    what: "bytes",
    piece: () => delta(0, "x".repeat(1000)),
    limits: { maxBytes: 100_000 },
    message: "more than 100000 bytes, the limit max_answer_bytes",
    before: 3,
  },
  {
    what: "bytes of comments, which are no events",
    piece: () => ": keepalive\n",
    limits: { maxBytes: 100_000 },
    message: "more than 100000 bytes, the limit max_answer_bytes",
    before: 1,
  },
  {
    what: "characters of one line",
    piece: (index) => (index === 0 ? `${delta(0, "said")}data: ` : "x".repeat(1000)),
    limits: { maxEventChars: 50_000 },
    message: "more than 50000 characters in one event, the limit max_answer_event_bytes",
    before: 3,
  },
  {
    what: "characters of one event",
    piece: (index) => (index === 0 ? delta(0, "said") : "data: xxxxxxxxxxxx\n"),
    limits: { maxEventChars: 50_000 },
    message: "more than 50000 characters in one event, the limit max_answer_event_bytes",
    before: 3,
  },
  {
    what: "events",
    piece: () => delta(0, "a"),
    limits: { maxEvents: 500 },
    message: "more than 500 events, the limit max_answer_events",
    before: 499,
  },
  {
    what: "parts",
    piece: (index) => delta(index, "a"),
    limits: { maxParts: 50 },
    message: "more than 50 parts, the limit max_answer_parts",
    before: 101,
  },
  {
    what: "citations",
    piece: (index) => {
      const event = { type: "response.output_text.annotation.added", output_index: 0, content_index: 0 };
      return index === 0
        ? delta(0, "cited")
        : `data: ${JSON.stringify({ ...event, annotation: { type: "url_citation", url: `u${index}` } })}\n\n`;
    },
    limits: { maxParts: 50 },
    message: "more than 50 parts, the limit max_answer_parts",
    before: 3,
  },
  {
    what: "JSON values",
    piece: () => `data: {"type":"x","list":[${"{},".repeat(3000)}{}]}\n\n`,
    limits: { maxJsonValues: 12_500 },
    message: "more than 50000 JSON values, the limit max_answer_json_values",
    before: 10,
  },
];

describe("a stream without end", () => {
  it.each(ROWS)("ends at the limit of its $what", async ({ piece, limits, message, before }) => {
    const server = await endless("text/event-stream", CREATED, piece);
    const adapter = openAdapter(server, { answerLimits: limits });
    const { events, error } = await read(adapter.stream(ask("m")));
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({
      kind: ErrorKind.STREAM,
      retryable: false,
      outputStarted: before > 1 && before !== 10,
    });
    expect((error as SDKError).message).toBe(`the provider's answer has ${message}`);
    // The caller has got the events before the limit.
    expect(getCases(events).at(-1)).toBe("error");
    expect(events.length).toBeGreaterThan(before);
    await waitUntil(() => server.sockets.every(({ destroyed }) => destroyed));
  });

  it.each(ROWS)("ends there also if it is relayed: $what", async ({ piece, limits, message }) => {
    const server = await endless("text/event-stream", CREATED, piece);
    const adapter = openAdapter(server, { answerLimits: limits });
    const members = new Map([["stream", "true"]]);
    const source = createSourceForm({
      api: "openai-responses",
      request: ask("m"),
      headers: {},
      getMembers: () => members,
      restored: { hasReasoning: false, hasCallState: false },
    });
    const { error } = await read(adapter.stream(source.request, { source }));
    expect(source.relay.head?.status).toBe(200);
    expect((error as SDKError).message).toBe(`the provider's answer has ${message}`);
    await waitUntil(() => server.sockets.every(({ destroyed }) => destroyed));
  });
});

const cited = Array.from({ length: 51 }, (_, index) => ({ type: "url_citation", url: `u${index}` }));

/** For each protocol a whole answer of 51 parts, and one of 51 citations. */
const LARGE_ANSWERS: readonly [what: string, Adapter: AdapterClass, answer: object][] = [
  [
    "parts of the Responses API",
    OpenAIAdapter,
    { output: [{ type: "message", content: cited.map(() => ({ type: "output_text", text: "a" })) }] },
  ],
  [
    "citations of the Responses API",
    OpenAIAdapter,
    { output: [{ type: "message", content: [{ type: "output_text", text: "a", annotations: cited }] }] },
  ],
  [
    "parts of the Messages API",
    AnthropicAdapter,
    { type: "message", content: cited.map(() => ({ type: "text", text: "a" })) },
  ],
  [
    "citations of the Messages API",
    AnthropicAdapter,
    { type: "message", content: [{ type: "text", text: "a", citations: cited }] },
  ],
  [
    "parts of Gemini",
    GeminiAdapter,
    { candidates: [{ content: { parts: cited.map(() => ({ functionCall: { name: "f" } })) } }] },
  ],
  [
    "citations of Gemini",
    GeminiAdapter,
    {
      candidates: [
        {
          content: { parts: [{ text: "a" }] },
          groundingMetadata: { groundingChunks: cited.map((web) => ({ web })) },
        },
      ],
    },
  ],
  [
    "parts of Chat Completions",
    OpenAIChatAdapter,
    { choices: [{ message: { tool_calls: cited.map(() => ({ function: { name: "f" } })) } }] },
  ],
  [
    "citations of Chat Completions",
    OpenAIChatAdapter,
    { choices: [{ message: { content: "a" } }], citations: cited.map(({ url }) => url) },
  ],
];

type AdapterClass = new (options: {
  name: string;
  apiKey: string;
  baseUrl: string;
  answerLimits: Partial<AnswerLimits>;
}) => HttpAdapter;

describe("a whole answer", () => {
  it.each(LARGE_ANSWERS)("with too many %s is refused", async (_what, Adapter, answer) => {
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    const settings = { name: "p", apiKey: KEY, baseUrl: `http://127.0.0.1:${server.port}` };
    const outcomes = [50, 51].map(async (maxParts) => {
      const adapter = new Adapter({ ...settings, answerLimits: { maxParts } });
      onTestFinished(() => adapter.close());
      return adapter.complete(ask("m")).then(
        ({ message }) => message?.content.flatMap((part) => [part, ...part.citations]).length,
        (error: SDKError) => error.message,
      );
    });
    expect(await Promise.all(outcomes)).toEqual([
      "the provider's answer has more than 50 parts, the limit max_answer_parts",
      expect.toSatisfy((count: number) => count >= 51),
    ]);
  });

  it.each(["complete", "stream"] as const)("of many small values is not parsed (%s)", async (mode) => {
    const body = `{"output":[${"{},".repeat(5000)}{}]}`;
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
    const adapter = openAdapter(server, { answerLimits: { maxJsonValues: 5000 } });
    const call = mode === "complete" ? adapter.complete(ask("m")) : read(adapter.stream(ask("m")));
    const error: unknown = await call.then(
      (outcome) => ("error" in outcome ? outcome.error : undefined),
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({
      kind: ErrorKind.STREAM,
      retryable: false,
      message: "the provider's answer has more than 5000 JSON values, the limit max_answer_json_values",
    });
  });

  it("ends at the limit of its bytes, whatever its content encoding", async () => {
    const server = await endless("application/json", "[", () => "0,".repeat(100));
    const adapter = openAdapter(server, { answerLimits: { maxBytes: 100_000 } });
    await expect(adapter.complete(ask("m"))).rejects.toThrow(
      "is larger than 100000 bytes, the limit max_answer_bytes",
    );
    await waitUntil(() => server.sockets.every(({ destroyed }) => destroyed));
  });
});
