import { create } from "@bufbuild/protobuf";
import { Client, type ModelClient, textOf } from "outrigger";
import { afterEach, describe, expect, it, vi } from "vitest";
import { toResponseId } from "../../../src/endpoints/openai/ids.ts";
import { inputRoutes } from "../../../src/endpoints/responses/routes.ts";
import { CountTokensResponseSchema } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { FinishReason_Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { ScriptedModel, type Turn } from "../../generation/support/scripted-model.ts";
import { createTestEngine, run, runRequest } from "../../runs/support/test-engine.ts";
import { expectValid, expectValidOpenResponses } from "../schemas/validate.ts";
import { call } from "../support/call.ts";
import { createDirectory } from "../support/directory.ts";
import { toInput } from "./support/reading.ts";

let close: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(close.map((each) => each()));
  close = [];
});

async function open(...turns: Turn[]) {
  const { engine } = await createTestEngine(["the answer of the run"]);
  close.push(() => engine.close());
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model } });
  const models = createDirectory();
  return { engine, model, client, routes: inputRoutes({ engine, models }) };
}

const text = "word ".repeat(400);

describe("POST /v1/responses/input_tokens", () => {
  it("estimates the input with instructions and tools, and says that it is an estimate", async () => {
    const { routes } = await open();
    const target = "POST /v1/responses/input_tokens";
    const count = (body: object) => call(routes, target, { body: { model: "m", ...body } });
    const { headers, body } = await count({ input: text });
    expect(headers["outrigger-estimate"]).toBe("true");
    expect(body).toEqual({ object: "response.input_tokens", input_tokens: 500 });
    expectValid("TokenCountsResource", body);
    const more = await count({
      input: text,
      instructions: text,
      tools: [{ type: "function", name: "f", description: text }],
    });
    expect(more.body.input_tokens).toBe(1500);
  });

  it("counts the conversation that is continued", async () => {
    const { routes, engine } = await open();
    const { id } = await run(engine, runRequest(text));
    const body = { model: "m", input: "hi", previous_response_id: toResponseId(id) };
    const { body: answer } = await call(routes, "POST /v1/responses/input_tokens", { body });
    expect(answer.input_tokens).toBeGreaterThan(500);
  });

  it("counts the instructions, the conversation and the input in their order, by the client", async () => {
    const { routes, engine } = await open();
    const { id } = await run(engine, runRequest("before"));
    const seen: string[][] = [];
    const counting: ModelClient = {
      complete: () => expect.fail("was called"),
      stream: () => expect.fail("was called"),
      async countTokens({ messages }) {
        seen.push(messages.map((message) => textOf(message)));
        return create(CountTokensResponseSchema, { inputTokens: 7 });
      },
    };
    const body = { model: "m", input: "hi", instructions: "Count.", previous_response_id: toResponseId(id) };
    const answer = await call(routes, "POST /v1/responses/input_tokens", { body, client: counting });
    expect(answer.body.input_tokens).toBe(7);
    expect(answer.headers["outrigger-estimate"]).toBeUndefined();
    expect(seen).toEqual([["Count.", "before", "the answer of the run", "hi"]]);
  });

  it.each(["input_tokens", "compact"])("gives the memory of the conversation back after %s", async (path) => {
    const { routes, engine, client } = await open("A summary.");
    const { id } = await run(engine, runRequest("before"));
    const opened = engine.openConversation.bind(engine);
    const releases: { readonly mock: { readonly calls: readonly unknown[] } }[] = [];
    vi.spyOn(engine, "openConversation").mockImplementation(async (...args) => {
      const conversation = await opened(...args);
      releases.push(vi.spyOn(conversation.share, "release"));
      return conversation;
    });
    const body = { model: "m", input: "hi", previous_response_id: toResponseId(id) };
    expect(await call(routes, `POST /v1/responses/${path}`, { body, client })).toMatchObject({ status: 200 });
    expect(releases.map(({ mock }) => mock.calls.length)).toEqual([1]);
  });
});

describe("POST /v1/responses/compact", () => {
  const input = [
    { role: "user", content: "Please book a table." },
    { type: "function_call", call_id: "c", name: "book", arguments: '{"for":2}' },
    { type: "function_call_output", call_id: "c", output: "Booked for 8 pm." },
    { role: "assistant", content: "Done." },
    { role: "user", content: "And a taxi?" },
  ];

  it("keeps the user messages and replaces the rest by a summary that can be read back", async () => {
    const { routes, client, model } = await open("A table is booked for 8 pm.");
    const { status, body } = await call(routes, "POST /v1/responses/compact", {
      body: { model: "m", input, instructions: "You book." },
      client,
    });
    expect(status).toBe(200);
    expectValid("CompactResource", body);
    expectValidOpenResponses("CompactResource", body);
    expect(body).toMatchObject({
      object: "response.compaction",
      usage: { input_tokens: 10, output_tokens: 5 },
    });
    const output = body.output as { type: string }[];
    expect(output.map(({ type }) => type)).toEqual(["message", "message", "compaction"]);
    const messages = await toInput(output, "gemini/gemini-3-pro");
    const texts = messages.map((message) => message?.content[0]?.part.value);
    expect(texts).toEqual([
      "Please book a table.",
      "And a taxi?",
      expect.stringMatching(/\n\nA table is booked for 8 pm\.$/),
    ]);
    const [, asked] = model.requests[0]?.messages ?? [];
    expect(asked?.content[0]?.part.value).toBe(
      [
        "System: You book.",
        "User: Please book a table.",
        'Assistant: [calls book (c): {"for":2}]',
        "Tool: [result of c] Booked for 8 pm.",
        "Assistant: Done.",
        "User: And a taxi?",
      ].join("\n\n"),
    );
  });

  it("shortens a conversation that is kept, up to the response that it names", async () => {
    const { routes, client, model, engine } = await open("Summary.");
    const { id } = await run(engine, runRequest("first"));
    await run(engine, runRequest("second", { previousRunId: id }));
    await call(routes, "POST /v1/responses/compact", {
      body: { model: "m", previous_response_id: toResponseId(id) },
      client,
    });
    expect(model.requests[0]?.messages[1]?.content[0]?.part.value).toBe(
      "User: first\n\nAssistant: the answer of the run",
    );
  });

  it.each<[string, Turn]>([
    ["nothing", ""],
    ["a part of one", { calls: [], reason: FinishReason_Reason.LENGTH }],
  ])("fails if the model gives %s instead of a summary", async (_name, turn) => {
    const { routes, client } = await open(turn);
    const answer = await call(routes, "POST /v1/responses/compact", { body: { model: "m", input }, client });
    expect(answer).toMatchObject({
      status: 503,
      body: { error: { message: expect.stringContaining("summary") } },
    });
  });

  it("is refused if there is nothing to shorten", async () => {
    const answer = await call((await open()).routes, "POST /v1/responses/compact", { body: { model: "m" } });
    expect(answer).toMatchObject({ status: 400, body: { error: { param: "input" } } });
  });

  it("refuses a request that names no model, as OpenAI's API does", async () => {
    const answer = await call((await open()).routes, "POST /v1/responses/compact", {
      body: { input: "Hi." },
    });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: "missing_required_parameter", param: "model" } });
  });
});
