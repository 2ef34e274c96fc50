/** Responses that are not stored and continue stored ones, if the configuration allows it. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ListRunsRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";

const servers = useTestServers();

const tools = [
  { type: "function" as const, name: "get_weather", parameters: { type: "object" }, strict: false },
];

describe("A response with store: false that continues another one", () => {
  it.each(["previous_response_id", "conversation"])(
    "is refused with %s, naming the setting",
    async (name) => {
      const { openai } = await startApi(servers);
      const first = await openai.responses.create({ model: "openai/sim-text", input: "One" });
      const body = { model: "openai/sim-text", input: "Two", store: false, [name]: first.id };
      await expect(openai.responses.create(body)).rejects.toMatchObject({
        status: 400,
        param: name,
        message: expect.stringContaining("runs.allow_unstored_continuation"),
      });
    },
  );

  it.each(["openai", "anthropic", "gemini", "compatible"])(
    "sends %s the conversation and the tools, and stores nothing",
    async (provider) => {
      const api = await startApi(servers, { allowsUnstoredContinuation: true });
      const { openai, simulator } = api;
      const model = `${provider}/sim-reasoning`;
      const first = await openai.responses.create({ model, tools, input: "Weather in Oslo?" });
      const call = first.output.find(({ type }) => type === "function_call");
      const call_id = call?.type === "function_call" ? call.call_id : "";
      const input = [{ type: "function_call_output" as const, call_id, output: "Rain." }];
      const unstored = { model, input, previous_response_id: first.id, store: false };
      const second = await openai.responses.create(unstored);
      const sent = simulator.requests.at(-1)?.body;
      expect(second).toMatchObject({ status: "completed", store: false, previous_response_id: first.id });
      await openai.responses.create({ ...unstored, store: true });
      expect(sent).toEqual(simulator.requests.at(-1)?.body);
      await expect(openai.responses.retrieve(second.id)).rejects.toMatchObject({ status: 404 });
      const runs = await api.engine.listRuns("", create(ListRunsRequestSchema));
      expect(runs.runs).toHaveLength(2);
    },
  );

  it("reads a conversation and adds nothing to it", async () => {
    const { openai, simulator } = await startApi(servers, { allowsUnstoredContinuation: true });
    const model = "openai/sim-text";
    const { id } = await openai.conversations.create({ items: [{ role: "user", content: "One" }] });
    await openai.responses.create({ model, input: "Two", conversation: id, store: false });
    expect(JSON.stringify(simulator.requests.at(-1)?.body)).toMatch(/One.*Two/);
    expect((await openai.conversations.items.list(id)).data).toHaveLength(1);
    const unknown = `conv_${"0".repeat(32)}`;
    await expect(
      openai.responses.create({ model, input: "Two", conversation: unknown, store: false }),
    ).rejects.toMatchObject({ status: 404 });
  });

  it("is refused while that one is in progress", async () => {
    const { openai } = await startApi(servers, { allowsUnstoredContinuation: true });
    const model = "openai/sim-text:delay_ms=600000";
    const first = await openai.responses.create({ model, input: "One", background: true });
    const body = { model: "openai/sim-text", input: "Two", store: false, previous_response_id: first.id };
    await expect(openai.responses.create(body)).rejects.toMatchObject({
      status: 400,
      param: "previous_response_id",
      message: expect.stringContaining("is in progress"),
    });
    await openai.responses.cancel(first.id);
  });

  it("answers a call that never got an output, as stored responses do", async () => {
    const { openai, simulator } = await startApi(servers, { allowsUnstoredContinuation: true });
    const model = "anthropic/sim-tools";
    const first = await openai.responses.create({ model, tools, input: "Weather in Oslo?" });
    await openai.responses.create({
      model,
      input: "Never mind.",
      previous_response_id: first.id,
      store: false,
    });
    expect(JSON.stringify(simulator.requests.at(-1)?.body)).toContain("tool_result");
  });
});
