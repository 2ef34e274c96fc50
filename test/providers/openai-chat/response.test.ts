import { describe, expect, it } from "vitest";
import { ServerError } from "../../../src/core/errors.ts";
import { textOf } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { chunk, decodeEvents, getFinal, respond } from "./support.ts";

const answer = (usage: object | null) => ({
  choices: [{ message: { content: "hi" }, finish_reason: "stop" }],
  usage,
});

describe("the token counts of an answer", () => {
  it.each<[string, object, object]>([
    [
      "OpenAI",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
      {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 15,
        cacheReadTokens: 4,
        cacheWriteTokens: 3,
        reasoningTokens: 2,
      },
    ],
    [
      "xAI, which counts reasoning separately",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 22,
        completion_tokens_details: { reasoning_tokens: 7 },
      },
      { inputTokens: 10, outputTokens: 12, totalTokens: 22, reasoningTokens: 7 },
    ],
    [
      "xAI, with one token of reasoning",
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 16, reasoning_tokens: 1 },
      { inputTokens: 10, outputTokens: 6, totalTokens: 16, reasoningTokens: 1 },
    ],
    [
      "a prompt that is all cached, and an answer that is all reasoning",
      { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cached_tokens: 3, reasoning_tokens: 2 },
      { inputTokens: 3, outputTokens: 2, cacheReadTokens: 3, reasoningTokens: 2 },
    ],
    [
      "DeepSeek",
      { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 },
      { inputTokens: 10, outputTokens: 5, cacheReadTokens: 8 },
    ],
    ["Moonshot", { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 8 }, { cacheReadTokens: 8 }],
    ["Mistral", { prompt_tokens: 10, completion_tokens: 5, num_cached_tokens: 8 }, { cacheReadTokens: 8 }],
    [
      "Anthropic's names",
      { prompt_tokens: 10, completion_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 3 },
      { cacheReadTokens: 2, cacheWriteTokens: 3 },
    ],
    [
      "Alibaba",
      { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cache_creation_input_tokens: 3 } },
      { cacheWriteTokens: 3 },
    ],
    [
      "reasoning at the top",
      { prompt_tokens: 1, completion_tokens: 5, reasoning_tokens: 3 },
      { reasoningTokens: 3 },
    ],
    [
      "the names of Responses",
      {
        input_tokens: 3,
        output_tokens: 4,
        input_tokens_details: { cached_tokens: 1, cache_write_tokens: 2 },
        output_tokens_details: { reasoning_tokens: 2 },
      },
      { inputTokens: 3, outputTokens: 4, cacheReadTokens: 1, cacheWriteTokens: 2, reasoningTokens: 2 },
    ],
    [
      "zeros",
      { prompt_tokens: 1, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } },
      { cacheReadTokens: 0 },
    ],
    [
      "OpenRouter's cost",
      { prompt_tokens: 1, completion_tokens: 1, cost: 0.001149 },
      { costNanoUsd: 1149000n },
    ],
    [
      "Perplexity's cost",
      { prompt_tokens: 1, completion_tokens: 1, cost: { total_cost: 0.005 } },
      { costNanoUsd: 5000000n },
    ],
    [
      "xAI's cost",
      { prompt_tokens: 1, completion_tokens: 1, cost_in_usd_ticks: 1330500 },
      { costNanoUsd: 133050n },
    ],
  ])("are read from the fields of %s", (_, usage, expected) => {
    const response = respond(answer(usage));
    expect(response.usage).toMatchObject(expected);
    expect(response.warnings).toEqual([]);
  });

  it("stay unset if the server does not report them", () => {
    const { usage } = respond(answer({ prompt_tokens: 1, completion_tokens: 2 }));
    expect([
      usage?.reasoningTokens,
      usage?.cacheReadTokens,
      usage?.cacheWriteTokens,
      usage?.costNanoUsd,
    ]).toEqual([undefined, undefined, undefined, undefined]);
    for (const counts of [null, {}, { prompt_tokens: null }, { total_tokens: 3 }, { prompt_tokens: "1" }])
      expect(respond(answer(counts)).usage).toBeUndefined();
  });

  it.each([
    ["another total", { prompt_tokens: 1, completion_tokens: 2, total_tokens: 9 }],
    ["more cached tokens than the prompt has", { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 64 }],
    ["more reasoning than text", { prompt_tokens: 1, completion_tokens: 2, reasoning_tokens: 3 }],
  ])("are passed on unchanged, with a warning, if they have %s", (_, usage) => {
    const response = respond(answer(usage));
    expect(response.usage).toMatchObject({ inputTokens: 1, outputTokens: 2, totalTokens: 3 });
    expect(response.warnings.map(({ field, code }) => [field, code])).toEqual([["usage", "count_mismatch"]]);
  });

  it("are kept verbatim with include_raw", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, queue_time: 0.5 };
    const response = respond(answer(usage), {}, { model: "m", includeRaw: true });
    expect(JSON.parse(response.usage?.rawJson ?? "")).toEqual(usage);
  });
});

describe("the tokens of Gemini's reasoning", () => {
  // Written by hand after Gemini's API for OpenAI clients.
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 42 };

  it("are what the total has alongside the counts", () => {
    const { usage, warnings } = respond(answer(counts), "gemini");
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 32, totalTokens: 42, reasoningTokens: 27 });
    expect(warnings).toEqual([]);
    for (const total_tokens of [14, 15]) {
      const other = respond(answer({ ...counts, total_tokens }), "gemini").usage;
      expect([other?.outputTokens, other?.reasoningTokens]).toEqual([5, undefined]);
    }
  });

  it("are not guessed at other servers, whose total is a contradiction", () => {
    const { usage, warnings } = respond(answer(counts));
    expect([usage?.outputTokens, usage?.reasoningTokens]).toEqual([5, undefined]);
    expect(warnings).toMatchObject([{ code: "count_mismatch" }]);
  });
});

describe("a whole answer", () => {
  it("is kept verbatim with include_raw", () => {
    const body = '{"choices":[{"message":{"content":"hi"}}], "created": 12345678901234567890}';
    expect(respond(body, {}, { model: "m", includeRaw: true }).rawJson).toBe(body);
    expect(respond(body).rawJson).toBe("");
  });

  it("has a warning about further answers", () => {
    const message = (content: string) => ({ message: { content } });
    const response = respond({
      choices: [
        { index: 0, ...message("a") },
        { index: 1, ...message("b") },
      ],
    });
    expect(textOf(response)).toBe("a");
    expect(response.warnings.map(({ code }) => code)).toEqual(["further_candidates"]);
  });

  it.each([
    ["is not JSON", "<html>"],
    ["is not an object", "[]"],
    ["has no choices", '{"id":"1"}'],
    ["has an empty list of choices", '{"choices":[]}'],
  ])("is a ServerError if it %s", (_, body) => {
    expect(() => respond(body)).toThrow(ServerError);
  });

  it("may report a failure instead of an answer", () => {
    const failure = { error: { message: "no", code: 402 } };
    expect(() => respond(failure)).toThrow(expect.objectContaining({ kind: ErrorKind.QUOTA_EXCEEDED }));
    const balance = { choices: null, base_resp: { status_code: 1008, status_msg: "insufficient balance" } };
    expect(() => respond(balance)).toThrow(
      expect.objectContaining({ kind: ErrorKind.QUOTA_EXCEEDED, retryable: false }),
    );
    const inChoice = { choices: [{ message: { content: "" }, error: { message: "no", code: 503 } }] };
    expect(() => respond(inChoice)).toThrow(expect.objectContaining({ kind: ErrorKind.SERVER }));
  });
});

describe("the stop sequence that ended an answer", () => {
  const request = { model: "model-1", stopSequences: ["END", "\n\n"] };
  it.each<[string, object, string]>([
    ["in vLLM's field", { stop_reason: "END" }, "END"],
    ["in SGLang's field", { matched_stop: "\n\n" }, "\n\n"],
    ["not in the id of a token", { stop_reason: 128009, matched_stop: 128009 }, ""],
    ["not in a text that is no stop sequence of the request", { matched_stop: "<|eot_id|>" }, ""],
    ["not in fields of null", { stop_reason: null, matched_stop: null }, ""],
  ])("is read whole and streamed %s", async (_, fields, stopSequence) => {
    const choice = { index: 0, message: { content: "hi" }, finish_reason: "stop", ...fields };
    expect(respond({ choices: [choice] }, {}, request).finishReason).toMatchObject({ stopSequence });

    const last = { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop", ...fields }] };
    const streamed = getFinal(await decodeEvents([chunk({ content: "hi" }), last, "[DONE]"], {}, request));
    expect(streamed.finishReason).toMatchObject({ raw: "stop", stopSequence });
  });
});
