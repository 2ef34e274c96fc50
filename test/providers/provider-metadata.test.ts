/** What providers other than those of Chat Completions report alongside their answers. */
import { describe, expect, it } from "vitest";
import { decode, factsFor } from "../support/decode.ts";
import { type Reader, readers } from "./support/recorded-answers.ts";

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

function readWhole({ whole }: Reader, body: object): unknown {
  return JSON.parse(whole(JSON.stringify(body), factsFor("p", { model: "m" })).providerMetadataJson || "{}");
}

async function readStream({ decoder }: Reader, events: readonly object[]) {
  const bytes = Buffer.from(events.map(event).join(""));
  const { events: decoded } = await decode([bytes], factsFor("p", { model: "m" }), decoder);
  const last = decoded.at(-1)?.event;
  if (last?.case !== "finish") throw new Error("the stream did not finish");
  return last.value.response;
}

async function readStreamed(reader: Reader, events: readonly object[]): Promise<unknown> {
  return JSON.parse((await readStream(reader, events))?.providerMetadataJson || "{}");
}

describe("The metadata of an answer", () => {
  it("has safety ratings, feedback on the prompt and details of the counts of Gemini", async () => {
    const content = { role: "model", parts: [{ text: "a" }] };
    const ratings = [{ category: "HARM_CATEGORY_HARASSMENT", probability: "NEGLIGIBLE" }];
    const candidate = { safetyRatings: ratings, avgLogprobs: -0.5, finishMessage: "done" };
    const promptFeedback = { safetyRatings: ratings };
    const counts = { promptTokenCount: 3, candidatesTokenCount: 7, totalTokenCount: 10 };
    const usageMetadata = { ...counts, trafficType: "ON_DEMAND" };
    const body = { modelVersion: "m", responseId: "r" };
    const end = { finishReason: "STOP", ...candidate };
    const expected = { candidate, promptFeedback, usageMetadata };
    const whole = { ...body, promptFeedback, candidates: [{ content, ...end }], usageMetadata };
    expect(readWhole(readers.gemini, whole)).toEqual(expected);
    const events = [
      { ...body, promptFeedback, candidates: [{ content, safetyRatings: ratings }], usageMetadata: counts },
      { ...body, candidates: [end], usageMetadata },
    ];
    expect(await readStreamed(readers.gemini, events)).toEqual(expected);
  });

  it("has the service tier and further counts of Anthropic, and why the model stopped", async () => {
    const usage = { input_tokens: 3, output_tokens: 7, service_tier: "standard", inference_geo: "us" };
    const facts = { stop_details: { type: "refusal", category: "cyber" } };
    const message = { type: "message", id: "a", role: "assistant", model: "m" };
    const content = [{ type: "text", text: "a" }];
    const whole = { ...message, content, stop_reason: "refusal", usage, ...facts };
    expect(readWhole(readers.anthropic, whole)).toEqual({ usage, ...facts });
    const events = [
      { type: "message_start", message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: content[0] },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "refusal", ...facts }, usage: { output_tokens: 7 } },
      { type: "message_stop" },
    ];
    expect(await readStreamed(readers.anthropic, events)).toEqual({ usage, ...facts });
  });

  it("has the service tier of Responses, and nothing that repeats the request", async () => {
    const facts = { service_tier: "priority", content_filters: [{ blocked: false }] };
    const output = [
      { type: "message", id: "i", role: "assistant", content: [{ type: "output_text", text: "a" }] },
    ];
    const usage = { input_tokens: 3, output_tokens: 7, total_tokens: 10 };
    const echoed = { temperature: 1, tools: [], instructions: "x", metadata: { a: "b" } };
    const response = { id: "r", model: "m", status: "completed", output, usage, ...echoed, ...facts };
    expect(readWhole(readers.openai, response)).toEqual(facts);
    const events = [
      { type: "response.created", response: { id: "r", model: "m" } },
      { type: "response.completed", response },
    ];
    expect(await readStreamed(readers.openai, events)).toEqual(facts);
  });
});

it("The metadata of an answer is the same text whatever the order of its members", () => {
  const read = (text: string) =>
    readers.compatible.whole(text, factsFor("p", { model: "m" })).providerMetadataJson;
  const choices = '"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]';
  const one = read(`{${choices},"timings":{"b":[{"d":1,"c":2}],"a":1.0},"service_tier":"flex"}`);
  expect(read(`{"service_tier":"flex","timings":{"a":1.0,"b":[{"c":2,"d":1}]},${choices}}`)).toBe(one);
});

it("The metadata of an answer has no empty members, but keeps those of objects inside its members", async () => {
  const group = { blank: "", none: null, list: [], inner: { none: null } };
  const expected = { group: { inner: { none: null } } };
  const output = [
    { type: "message", id: "i", role: "assistant", content: [{ type: "output_text", text: "a" }] },
  ];
  const response = { id: "r", model: "m", status: "completed", output, blank: "", group };
  expect(readWhole(readers.openai, response)).toEqual(expected);
  const choices = [{ delta: { content: "a" }, finish_reason: "stop" }];
  expect(await readStreamed(readers.compatible, [{ choices, blank: "", group }])).toEqual(expected);
});

it("A text of Gemini is one part although its pieces have all fields, null if they have no value", async () => {
  const part = (text: string) => ({ text, thought: null, thoughtSignature: null, functionCall: null });
  const chunk = (text: string) => ({ candidates: [{ content: { parts: [part(text)] } }] });
  const end = { candidates: [{ content: { parts: [part("c")] }, finishReason: "STOP" }] };
  const response = await readStream(readers.gemini, [chunk("a"), chunk("b"), end]);
  expect(response?.message?.content.map(({ part, providerState }) => [part.value, providerState])).toEqual([
    ["abc", undefined],
  ]);
});
