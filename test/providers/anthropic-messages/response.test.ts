import { describe, expect, it } from "vitest";
import { costOf } from "../../../src/catalog/catalog.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { toResponse } from "../../../src/providers/anthropic-messages/response.ts";
import { toUsage } from "../../../src/providers/anthropic-messages/usage.ts";
import { factsFor } from "../../support/decode.ts";
import { shippedModels } from "../../support/shipped-models.ts";

function respond(body: unknown, includeRaw = false) {
  const facts = factsFor("anthropic", { model: "claude-opus-5", includeRaw });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return toResponse(text, facts);
}

const answer = (more: object) => ({ id: "msg_1", model: "claude-opus-5", content: [], ...more });

describe("toResponse()", () => {
  const reasons = [
    ["end_turn", Reason.STOP],
    ["stop_sequence", Reason.STOP],
    ["max_tokens", Reason.LENGTH],
    ["model_context_window_exceeded", Reason.LENGTH],
    ["tool_use", Reason.TOOL_CALLS],
    ["refusal", Reason.CONTENT_FILTER],
    ["pause_turn", Reason.OTHER],
    ["compaction", Reason.OTHER],
    ["something_new", Reason.OTHER],
  ] as const;
  it.each(reasons)("maps the stop reason %s", (raw, reason) => {
    expect(respond(answer({ stop_reason: raw })).finishReason).toMatchObject({ reason, raw });
  });

  it("takes an ordinary end after a call for the end of a turn with calls", () => {
    const call = { type: "tool_use", id: "a", name: "look", input: {} };
    const text = { type: "text", text: "Done." };
    const reasonFor = (content: object[], stop_reason: string) =>
      respond(answer({ content, stop_reason })).finishReason;
    expect(reasonFor([text, call], "end_turn")).toMatchObject({
      reason: Reason.TOOL_CALLS,
      raw: "end_turn",
    });
    // The call was answered before the model continued, in code of the provider.
    expect(reasonFor([call, text], "end_turn")?.reason).toBe(Reason.STOP);
    expect(reasonFor([call], "max_tokens")?.reason).toBe(Reason.LENGTH);
  });

  it("keeps blocks and arguments exactly as written", () => {
    const native = '{"type":"web_search_tool_result","content":[{"score":1.0}],"2":1,"1":2}';
    const call = '{"type":"tool_use","id":"a","name":"look","input":{"2":1.0, "1":[]}}';
    const { message } = respond(
      `{"id":"m","content":[${native}, ${call},{"type":"tool_use","id":"b","input":null}]}`,
    );
    expect(message?.content.map(({ part }) => part)).toMatchObject([
      { value: { dataJson: native, provider: "anthropic", kind: "web_search_tool_result" } },
      { value: { input: { value: '{"2":1.0, "1":[]}' } } },
      { value: { input: { value: "{}" }, argumentsInvalid: false } },
    ]);
  });

  it("reads citations of all five types", () => {
    const citations = [
      { type: "char_location", document_title: "T", file_id: "f", cited_text: "c", start_char_index: 1 },
      { type: "page_location", document_title: null, cited_text: "c" },
      { type: "content_block_location", document_title: "T" },
      { type: "search_result_location", title: "S", source: "https://s.example" },
      { type: "web_search_result_location", title: "W", url: "https://w.example" },
    ];
    const { message } = respond(answer({ content: [{ type: "text", text: "x", citations }] }));
    expect(message?.content[0]?.citations).toMatchObject([
      {
        type: "char_location",
        title: "T",
        sourceId: "f",
        citedText: "c",
        rawJson: JSON.stringify(citations[0]),
      },
      { type: "page_location", title: "", citedText: "c" },
      { type: "content_block_location", title: "T" },
      { type: "search_result_location", title: "S", sourceId: "https://s.example" },
      { type: "web_search_result_location", title: "W", url: "https://w.example" },
    ]);
    expect(message?.content[0]?.providerState).toBeUndefined();
  });

  it("keeps the requested model in the state if the provider reports another", () => {
    const content = [{ type: "thinking", thinking: "", signature: "s" }];
    const { message, model } = respond(answer({ model: "deployment-1", content }));
    expect(model).toBe("deployment-1");
    expect(message?.content[0]?.providerState).toMatchObject({
      model: "deployment-1",
      dataJson: '{"block":{"type":"thinking","signature":"s"},"model":"claude-opus-5"}',
    });
  });

  it("keeps the body as raw_json if include_raw asks for it", () => {
    const body = '{"id":"m","content":[] }';
    expect(respond(body, true).rawJson).toBe(body);
    expect(respond(body).rawJson).toBe("");
  });

  it("throws the failure that the body reports", () => {
    const failure = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(() => respond(failure)).toThrow(expect.objectContaining({ kind: ErrorKind.SERVER }));
    expect(() => respond("<html>")).toThrow("an HTML page");
    expect(() => respond({ id: "m" })).toThrow(expect.objectContaining({ kind: ErrorKind.SERVER }));
  });
});

const models = shippedModels("anthropic");

describe("toUsage()", () => {
  it("includes cached tokens in the input, and prices cache writes of an hour separately", () => {
    const counts = {
      input_tokens: 100,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 200,
      cache_creation: { ephemeral_5m_input_tokens: 150, ephemeral_1h_input_tokens: 50 },
      output_tokens: 10,
      iterations: [{ type: "compaction", input_tokens: 9999 }],
    };
    const usage = toUsage(counts, "claude-opus-5", true, models);
    expect(usage).toMatchObject({
      inputTokens: 1300,
      outputTokens: 10,
      totalTokens: 1310,
      cacheReadTokens: 1000,
      cacheWriteTokens: 200,
      rawJson: JSON.stringify(counts),
    });
    expect(usage?.reasoningTokens).toBeUndefined();
    if (usage === undefined) throw new Error("there are counts");
    const long = costOf(usage, "claude-opus-5", "anthropic", { longCacheWriteTokens: 50 });
    expect(usage.costNanoUsd).toBe(long);
    expect(usage.costNanoUsd).not.toBe(costOf(usage, "claude-opus-5", "anthropic"));
  });

  it("is undefined without usage, and has no cost for an unknown model", () => {
    expect(toUsage(undefined, "claude-opus-5", false, models)).toBeUndefined();
    const usage = toUsage({ input_tokens: 1, output_tokens: 2 }, "somebody-elses", false, models);
    expect(usage).toMatchObject({ totalTokens: 3, rawJson: "" });
    expect(usage?.costNanoUsd).toBeUndefined();
  });
});
