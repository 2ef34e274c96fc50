/** Fields that a provider refuses: errors name them as the caller's request has them. */
import { create } from "@bufbuild/protobuf";
import { OpenAIAdapter } from "outrigger";
import { describe, expect, it } from "vitest";
import { ErrorKind, InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";
import { startWireServer } from "../support/wire-server.ts";
import { createRunEvents } from "./support/run-events.ts";
import { runWith, written } from "./support/written.ts";

const servers = useTestServers();

const badTool = { type: "function", name: "f", parameters: { type: "text" }, strict: false };
const goodTool = { type: "function", name: "g", parameters: { type: "object" }, strict: false };

/** Some servers take no documents by URL. */
const withFile = {
  role: "user",
  content: [
    { type: "input_text", text: "Summarize." },
    { type: "input_file", file_url: "https://example.com/a.pdf" },
  ],
};

describe("An error of a provider that names a field", () => {
  it.each<[string, string, object]>([
    ["max_output_tokens", "openai/sim-text", { max_output_tokens: 1 }],
    ["service_tier", "openai/sim-text", { service_tier: "bogus" }],
    ["reasoning.summary", "openai/sim-text", { reasoning: { summary: "bogus" } }],
    ["tools[1]", "openai/sim-text", { tools: [goodTool, badTool] }],
    ["tools[1]", "anthropic/sim-text", { tools: [goodTool, badTool] }],
    ["tools[1]", "compatible/sim-text", { tools: [goodTool, badTool] }],
    ["model", "openai/no-such-model", {}],
    ["input[1].content[1]", "compatible/sim-text", { input: [{ role: "user", content: "Hi" }, withFile] }],
  ])("names it in param: %s of %s", async (param, model, fields) => {
    const { fetch } = await startApi(servers);
    const answers = [false, true].map(async (stream) => {
      const body = JSON.stringify({ model, input: "Hello.", stream, ...fields });
      const init = { method: "POST", headers: { "content-type": "application/json" }, body };
      const response = await fetch("/v1/responses", init);
      return { status: response.status, ...((await response.json()) as { error: object }) };
    });
    for (const { status, error } of await Promise.all(answers)) {
      expect(status).toBe(model.includes("no-such") ? 404 : 400);
      expect(error).toMatchObject({ param });
    }
  });
});

describe("An error of OpenAI that names an item of its input", () => {
  const [system, user] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ];
  const call = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
  const loop = [
    system,
    user,
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA=" },
    { ...call, id: "fc_1" },
    { type: "function_call_output", call_id: "call_1", output: "done" },
  ];

  // The leading system message is not among the items that OpenAI gets.
  it.each([
    ["/v1/responses", { input: loop }, "input[0].content", "input[1]"],
    ["/v1/responses", { input: loop }, "input[2].arguments", "input[3]"],
    ["/v1/responses", { input: loop }, "input[3].output", "input[4]"],
    ["/v1/responses", { input: loop }, "input[9].output", "input"],
    ["/v1/responses", { input: loop, store: false }, "input[2].arguments", "input[2].arguments"],
    ["/v1/chat/completions", { messages: [system, user, user] }, "input[1].content", "messages[2]"],
  ])("names the item of %s, %j: %s is %s", async (path, body, reported, param) => {
    const provider = await startWireServer(servers);
    const error = { message: "no", type: "invalid_request_error", code: "invalid_value", param: reported };
    const headers = { "content-type": "application/json" };
    provider.answers = [{ status: 400, body: [JSON.stringify({ error })], headers }];
    const adapters = [new OpenAIAdapter({ apiKey: "any", baseUrl: provider.url })];
    const { fetch } = await startApi(servers, { adapters });
    const init = { method: "POST", headers, body: JSON.stringify({ model: "openai/m", ...body }) };
    expect(await (await fetch(path, init)).json()).toMatchObject({ error: { param } });
  });
});

describe("A provider that refuses a field after the stream began", () => {
  it.each([
    ["options.request.max_tokens", "max_output_tokens"],
    ["options.request.tools[1]", "tools[0].tools[1]"],
    ["options.request.messages", "input"],
  ])("with %s names it in the error event as %s", (field, param) => {
    const tools = [{ type: "namespace", name: "n", tools: [goodTool, badTool] }];
    const error = create(InferenceErrorSchema, {
      kind: ErrorKind.INVALID_REQUEST,
      message: "openai reported a failure",
      providerFailure: { provider: "openai", field },
    });
    const story = createRunEvents({
      calls: [[create(StreamEventSchema, { event: { case: "error", value: error } })]],
    });
    const events = written(story.events, runWith({ tools }));
    expect(events.find(({ type }) => type === "error")).toMatchObject({ param, error: { param } });
  });
});

describe("text.verbosity", () => {
  it.each(["openai", "anthropic"])(
    "with an unknown value is refused before %s is called",
    async (provider) => {
      const { openai, simulator } = await startApi(servers);
      const text = { verbosity: "loud" as "high" };
      const refused = openai.responses.create({ model: `${provider}/sim-text`, input: "Hello.", text });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        param: "text.verbosity",
        message: expect.stringMatching(/expected "low", "medium" or "high", found "loud"/),
      });
      expect(simulator.requests).toEqual([]);
    },
  );
});
