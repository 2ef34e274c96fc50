/** EmbeddingService and InferenceService.CountTokens over gRPC, with a simulator of each provider behind it. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { systemMessage, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { EmbeddingService } from "../../../src/gen/outrigger/v1/embedding_service_pb.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { type ApiServerOptions, startApi } from "../../endpoints/support/api-server.ts";
import { columns } from "../../providers/support/columns.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

async function start(options: ApiServerOptions = {}) {
  const api = await startApi(servers, options);
  const transport = createGrpcTransport({ baseUrl: api.server.url });
  return {
    ...api,
    embeddings: createClient(EmbeddingService, transport),
    inference: createClient(InferenceService, transport),
  };
}

async function getFailure(call: Promise<unknown>): Promise<ConnectError> {
  return ConnectError.from(
    await call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    ),
  );
}

const fieldsIn = (error: ConnectError) =>
  error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field));

describe("EmbeddingService.Embed", () => {
  it.each(["openai", "gemini", "compatible"])(
    "embeds texts in order with a model of %s",
    async (provider) => {
      const { embeddings } = await start();
      const request = { provider, model: "sim-text", texts: ["a", "b"], dimensions: 8 };
      const response = await embeddings.embed({ ...request, taskType: "clustering" });
      expect(response).toMatchObject({ provider, model: "sim-text" });
      expect(response.inferenceId).toMatch(/^inf_/);
      expect(response.embeddings.map(({ values }) => values.length)).toEqual([8, 8]);
      const second = await embeddings.embed({ ...request, texts: ["b"] });
      expect(second.embeddings[0]).toEqual(response.embeddings[1]);
      expect(response.warnings.map(({ field }) => field)).toEqual(provider === "gemini" ? [] : ["task_type"]);
      if (provider !== "gemini")
        expect(response.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: 0 });
    },
  );

  it("says what the call of a model costs", async () => {
    const { embeddings } = await start({ aliases: { "text-embedding-3-small": "sim-text" } });
    const { usage } = await embeddings.embed({ model: "text-embedding-3-small", texts: ["a text"] });
    // 0.02 dollars per million tokens.
    expect(usage?.costNanoUsd).toBe(BigInt(usage?.inputTokens ?? 0) * 20n);
    expect(usage?.inputTokens).toBeGreaterThan(0);
  });

  it("reports invalid fields, and providers without embeddings", async () => {
    const { embeddings, simulator } = await start();
    for (const [request, fields] of [
      [{ model: "", texts: [] }, ["model", "texts"]],
      [{ model: "m", texts: [""], dimensions: 0 }, ["texts[0]", "dimensions"]],
      [{ model: "m", texts: ["a"], tokenSequences: [{}] }, ["token_sequences", "token_sequences[0].ids"]],
      [
        { model: "m", texts: ["a"], providerOptionsJson: { openai: '{"model":"x"}' } },
        ['provider_options_json["openai"].model'],
      ],
      [{ provider: "anthropic", model: "m", texts: ["a"] }, ["model"]],
      [{ provider: "gemini", model: "m", tokenSequences: [{ ids: [1] }] }, ["token_sequences"]],
      [{ provider: "gemini", model: "m", texts: new Array(101).fill("a") }, ["texts"]],
    ] as const) {
      const error = await getFailure(embeddings.embed(request as object));
      expect([error.code, fieldsIn(error)]).toEqual([Code.InvalidArgument, fields]);
    }
    expect(simulator.requests).toEqual([]);
  });

  it("ends with the status of the provider's failure", async () => {
    const { embeddings } = await start();
    const error = await getFailure(embeddings.embed({ model: "sim-text:status=429", texts: ["a"] }));
    expect(error.code).toBe(Code.ResourceExhausted);
  });
});

describe("InferenceService.CountTokens", () => {
  it.each(columns)("counts with $title, whose adapter sends what a call would send", async ({ name }) => {
    const { inference, simulator } = await start();
    const request = create(RequestSchema, {
      provider: name,
      model: "sim-text",
      messages: [systemMessage("Be brief."), userMessage("Hello ".repeat(100))],
      tools: [{ tool: { case: "function", value: { name: "f", description: "A tool" } } }],
      maxTokens: 500,
      temperature: 0.5,
      reasoningEffort: "low",
    });
    const count = await inference.countTokens(request);
    expect(count).toMatchObject({ provider: name, model: "sim-text", estimated: name === "compatible" });
    expect(count.inputTokens).toBeGreaterThan(50);
    expect(simulator.requests).toHaveLength(name === "compatible" ? 0 : 1);
    const { usage } = await inference.complete(request);
    const { inputTokens = 0 } = usage ?? {};
    if (name !== "compatible") expect(count.inputTokens).toBe(inputTokens);
  });

  it("estimates if a server has no such method, and reports other failures", async () => {
    const { inference } = await start();
    const messages = [userMessage("Hello")];
    const count = (model: string) => inference.countTokens({ provider: "openai", model, messages });
    expect(await count("sim-text:status=404")).toMatchObject({ estimated: true });
    expect((await getFailure(count("sim-text:status=429"))).code).toBe(Code.ResourceExhausted);
    expect(fieldsIn(await getFailure(inference.countTokens({ model: "m" })))).toEqual(["messages"]);
  });
});
