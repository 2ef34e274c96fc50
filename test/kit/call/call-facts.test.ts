import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { textPart } from "../../../src/core/parts.ts";
import { ContentPartSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReasonSchema, RateLimitInfoSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { type Answer, createResponse } from "../../../src/kit/call/call-facts.ts";
import { warning } from "../../../src/kit/call/loss-report.ts";
import { factsFor } from "../../support/decode.ts";
import { shippedModels } from "../../support/shipped-models.ts";

const answer: Answer = {
  id: "resp_1",
  model: "reported",
  content: [textPart("hi")],
  finishReason: create(FinishReasonSchema, { reason: 1, raw: "stop" }),
  usage: create(UsageSchema, { inputTokens: 1, totalTokens: 1 }),
  rawJson: '{"id":"resp_1"}',
};

const facts = {
  ...factsFor("main", { model: "asked" }),
  warnings: [warning("top_p", "unsupported_setting", "left out")],
  rateLimit: create(RateLimitInfoSchema, { requestsRemaining: 0 }),
  providerRequestId: "req_1",
};

describe("createResponse()", () => {
  it("puts an answer and the facts of its call together", () => {
    expect(createResponse(facts, answer)).toMatchObject({
      id: "resp_1",
      model: "reported",
      provider: "main",
      message: { role: Role.ASSISTANT, content: answer.content },
      finishReason: answer.finishReason,
      usage: answer.usage,
      warnings: facts.warnings,
      rateLimit: facts.rateLimit,
      rawJson: '{"id":"resp_1"}',
      inferenceId: "inf_test",
      providerRequestId: "req_1",
    });
  });

  it("leaves facts unset that the provider did not report, and names the requested model", () => {
    const response = createResponse(
      { ...facts, rateLimit: undefined },
      { ...answer, model: "", usage: undefined },
    );
    expect([response.model, response.usage, response.rateLimit]).toEqual(["asked", undefined, undefined]);
  });

  it("replaces half surrogate pairs in the parts, which readers of JSON refuse", () => {
    const image = { case: "image", value: { mediaType: "image/\ud800" } } as const;
    const native = { case: "native", value: { kind: "kind\ud800" } } as const;
    const content = [
      create(ContentPartSchema, { part: image }),
      create(ContentPartSchema, { part: native, citations: [{ title: "title\ud800" }] }),
    ];
    expect(createResponse(facts, { ...answer, content }).message?.content).toMatchObject([
      { part: { value: { mediaType: "image/\ufffd" } } },
      { part: { value: { kind: "kind\ufffd" } }, citations: [{ title: "title\ufffd" }] },
    ]);
  });

  it("takes the id of the exchange from the body if the body has one", () => {
    expect(createResponse(facts, { ...answer, providerRequestId: "in_body" }).providerRequestId).toBe(
      "in_body",
    );
  });

  it.each([
    // gpt-5.2 costs 1.75 and 14 USD per million tokens: 1000 and 100 tokens cost 3.15 thousandths of a dollar.
    ["openai", "gpt-5.2", undefined, 3_150_000n],
    ["openai", "gpt-5.2-2025-12-11", undefined, 3_150_000n],
    ["openai", "nobody-knows-this", undefined, undefined],
    [undefined, "gpt-5.2", undefined, undefined],
    ["openai", "gpt-5.2", 7n, 7n],
  ])("prices %s %s, told %s, at %s billionths of a dollar", (catalogProvider, model, told, cost) => {
    const usage = create(UsageSchema, { inputTokens: 1000, outputTokens: 100, totalTokens: 1100 });
    const models = catalogProvider === undefined ? undefined : shippedModels(catalogProvider);
    if (told !== undefined) usage.costNanoUsd = told;
    expect(createResponse({ ...facts, models }, { ...answer, model, usage }).usage?.costNanoUsd).toBe(cost);
  });
});
