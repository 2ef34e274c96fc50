/** Answers that a provider ended before they were finished, or with an error as the reason. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { expectValid } from "../schemas/validate.ts";
import { startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";
import { expectWholeStream } from "../support/expect-whole-stream.ts";

const servers = useTestServers();

type Provider = "gemini" | "compatible" | "anthropic";

/** The answers of the providers: half a text, and the reason for its end. */
const answers: Readonly<Record<Provider, (reason: string, streams: boolean) => string>> = {
  gemini: (finishReason, streams) => {
    const content = { role: "model", parts: [{ text: "Half" }] };
    const body = JSON.stringify({ candidates: [{ content, finishReason }], modelVersion: "m" });
    return streams ? `data: ${body}\n\n` : body;
  },
  compatible: (finish_reason, streams) => {
    const head = { id: "c", created: 1, model: "m" };
    const message = { role: "assistant", content: "Half" };
    if (!streams)
      return JSON.stringify({
        ...head,
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason }],
      });
    const chunk = { ...head, object: "chat.completion.chunk" };
    const first = { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] };
    const last = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] };
    return `${[first, last].map((data) => `data: ${JSON.stringify(data)}\n\n`).join("")}data: [DONE]\n\n`;
  },
  anthropic: (stop_reason, streams) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "msg_1", type: "message", role: "assistant", model: "m", usage };
    const text = { type: "text", text: "Half" };
    if (!streams) return JSON.stringify({ ...message, content: [text], stop_reason, stop_sequence: null });
    return [
      { type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Half" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ]
      .map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
      .join("");
  },
};

/** The API with a provider that ends its answers for these reasons, in turn. */
async function startWith(provider: Provider, ...reasons: readonly [string, ...string[]]): Promise<Create> {
  let calls = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const streams = /stream":\s*true|streamGenerate/.test(`${request.url} ${Buffer.concat(chunks)}`);
      response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
      const reason = reasons[calls % reasons.length] ?? reasons[0];
      calls += 1;
      response.end(answers[provider](reason, streams));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  servers.onEnd(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { fetch } = await startApi(servers, { providerUrl: `http://127.0.0.1:${port}` });
  const headers = { "content-type": "application/json" };
  const request = { model: `${provider}/m`, input: "Begin." };
  return {
    create: (body = {}) =>
      fetch("/v1/responses", { method: "POST", headers, body: JSON.stringify({ ...request, ...body }) }),
    retrieve: async (id) => (await fetch(`/v1/responses/${id}`)).json(),
  };
}

/** Creates and retrieves responses. */
interface Create {
  create(body?: object): Promise<Response>;
  retrieve(id: unknown): Promise<unknown>;
}

const failed: readonly (readonly [Provider, string])[] = [
  ["gemini", "MALFORMED_FUNCTION_CALL"],
  ["gemini", "MALFORMED_RESPONSE"],
  ["gemini", "UNEXPECTED_TOOL_CALL"],
  ["gemini", "TOO_MANY_TOOL_CALLS"],
  ["compatible", "error"],
  ["compatible", "network_error"],
  ["compatible", "insufficient_system_resource"],
  ["compatible", "abort"],
];

const unfinished: readonly (readonly [Provider, string, string])[] = [
  ["gemini", "OTHER", "max_output_tokens"],
  ["gemini", "LANGUAGE", "max_output_tokens"],
  ["gemini", "NO_IMAGE", "max_output_tokens"],
  ["gemini", "MAX_TOKENS", "max_output_tokens"],
  ["anthropic", "compaction", "max_output_tokens"],
  ["compatible", "length", "max_output_tokens"],
  ["compatible", "content_filter", "content_filter"],
];

/** Members that differ between two responses with the same answer. */
const different = {
  id: expect.any(String),
  created_at: expect.any(Number),
  store: false,
  output: [{ content: [{ text: "Half" }] }],
};

describe("An answer", () => {
  it.each(failed)("of %s that ends with %s has failed", async (provider, reason) => {
    const { create, retrieve } = await startWith(provider, reason);
    const whole = await create();
    expect(whole.status).toBe(502);
    expect(await whole.json()).toMatchObject({ error: { message: expect.stringContaining(reason) } });
    const events = eventsIn(await (await create({ stream: true })).text());
    const last = expectWholeStream(
      events
        .filter(({ type }) => type !== "error")
        .map((event, index) => ({ ...event, sequence_number: index })),
    );
    expect(events.at(-2)).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining(reason) },
    });
    expect(last).toMatchObject({
      status: "failed",
      error: { code: "server_error", message: expect.stringContaining(reason) },
      output: [{ content: [{ text: "Half" }] }],
    });
    const stored = await retrieve(last.id);
    expectValid("Response", stored);
    expect(stored).toEqual(last);
    expect((await create({ store: false })).status).toBe(502);
    const unstored = eventsIn(await (await create({ store: false, stream: true })).text());
    expect(unstored.map(({ type }) => type)).toEqual(events.map(({ type }) => type));
    expect(unstored.at(-1)?.response).toMatchObject({ ...last, ...different });
  });

  it.each(unfinished)("of %s that ends with %s is incomplete for %s", async (provider, reason, told) => {
    const { create, retrieve } = await startWith(provider, reason);
    const whole = await create();
    const incomplete = {
      status: "incomplete",
      incomplete_details: { reason: told },
      output: [{ status: "incomplete", content: [{ text: "Half" }] }],
    };
    expect(await whole.json()).toMatchObject(incomplete);
    const events = eventsIn(await (await create({ stream: true })).text());
    expect(events.at(-1)?.type).toBe("response.incomplete");
    const last = expectWholeStream(events);
    expect(last).toMatchObject(incomplete);
    expect(await retrieve(last.id)).toEqual(last);
    const unstored = expectWholeStream(eventsIn(await (await create({ store: false, stream: true })).text()));
    expect(unstored).toMatchObject(incomplete);
  });

  it("that the provider paused and resumed is complete, and so are its items", async () => {
    const { create, retrieve } = await startWith("anthropic", "pause_turn", "end_turn");
    const half = { status: "completed", content: [{ text: "Half" }] };
    const complete = { status: "completed", incomplete_details: null, output: [half, half] };
    expect(await (await create()).json()).toMatchObject(complete);
    const last = expectWholeStream(eventsIn(await (await create({ stream: true })).text()));
    expect(last).toMatchObject(complete);
    expect(await retrieve(last.id)).toEqual(last);
  });

  it("that the provider pauses again and again is incomplete, and its items are not", async () => {
    const { create, retrieve } = await startWith("anthropic", "pause_turn");
    const half = { status: "completed", content: [{ text: "Half" }] };
    const incomplete = {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: Array.from({ length: 11 }, () => half),
    };
    expect(await (await create()).json()).toMatchObject(incomplete);
    const last = expectWholeStream(eventsIn(await (await create({ stream: true })).text()));
    expect(last).toMatchObject(incomplete);
    expect(await retrieve(last.id)).toEqual(last);
  });
});
