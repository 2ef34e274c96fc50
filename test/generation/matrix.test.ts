/**
 * The specification's parity matrix: the same generation works at every provider when only provider and model change.
 */
import {
  AuthenticationError,
  FinishReason_Reason,
  type GenerateOptions,
  generate,
  generateObject,
  imagePart,
  RateLimitError,
  stream,
  textPart,
  userMessage,
} from "outrigger";
import { expect } from "vitest";
import { imageBytes, imageDataUrl, toFailure, weatherSchema } from "../providers/support/calls.ts";
import { type Column, createFixture } from "../providers/support/columns.ts";
import { testTable } from "../providers/support/table.ts";
import { createWeather, optionsFor } from "./support/weather.ts";

const prompt = "Say hello to Ada.";
const weatherPrompt = "What is the weather in Paris, Osaka and Lima?";

/** Runs a tool loop and returns its steps, with the places of the tool's calls. */
async function verifyTools(column: Column, calls: number, rounds: number): Promise<void> {
  await using fixture = await createFixture(`sim-tools:calls=${calls},rounds=${rounds}`);
  const { tool, asked } = createWeather();
  const options = { prompt: weatherPrompt, tools: [tool], maxToolRounds: rounds };
  const { steps, text } = await generate(optionsFor(column, fixture, options));
  expect(steps.map(({ toolResults }) => toolResults.length)).toEqual([...Array(rounds).fill(calls), 0]);
  expect(asked).toHaveLength(calls * rounds);
  expect(text).toContain("Sunny in Paris");
  expect(fixture.requests).toHaveLength(rounds + 1);
}

async function verifyImage(column: Column, source: string | Uint8Array, sent: string): Promise<void> {
  await using fixture = await createFixture("sim-text");
  const messages = [userMessage([textPart("What is in the image?"), imagePart(source)])];
  const { text } = await generate(optionsFor(column, fixture, { messages }));
  expect(column.read(fixture.bodyAt()).facts).toContainEqual({ kind: "image", author: "user", source: sent });
  expect(text).toContain("The request has 1 attachment(s): image");
}

testTable("Parity of generations", [
  {
    title: "Simple text generation",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const { text, finishReason } = await generate(optionsFor(column, fixture, { prompt }));
      expect(text).toContain(`You asked: “${prompt}”`);
      expect(finishReason.reason).toBe(FinishReason_Reason.STOP);
    },
  },
  {
    title: "Streaming text generation",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const pieces: string[] = [];
      const result = stream(optionsFor(column, fixture, { prompt }));
      for await (const piece of result.textStream) pieces.push(piece);
      expect(pieces.length).toBeGreaterThan(10);
      expect(pieces.join("")).toBe((await result.result()).text);
    },
  },
  { title: "Image input (base64)", verify: (column) => verifyImage(column, imageBytes, imageDataUrl) },
  {
    title: "Image input (URL)",
    verify: (column) => verifyImage(column, "https://example.com/cat.png", "https://example.com/cat.png"),
  },
  { title: "Single tool call + execution", verify: (column) => verifyTools(column, 1, 1) },
  { title: "Multiple parallel tool calls", verify: (column) => verifyTools(column, 3, 1) },
  { title: "Multi-step tool loop (3+ rounds)", verify: (column) => verifyTools(column, 2, 3) },
  {
    title: "Streaming with tool calls",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:calls=2");
      const options = { prompt: weatherPrompt, tools: [createWeather().tool] };
      const cases: (string | undefined)[] = [];
      for await (const { event } of stream(optionsFor(column, fixture, options))) cases.push(event.case);
      const marks = cases.filter(
        (name) => name === "toolCallEnd" || name === "finish" || name === "stepFinish",
      );
      expect(marks).toEqual(["toolCallEnd", "toolCallEnd", "finish", "stepFinish", "finish", "stepFinish"]);
      expect(cases.lastIndexOf("textDelta")).toBeGreaterThan(cases.indexOf("stepFinish"));
    },
  },
  {
    title: "Structured output (generate_object)",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const question = optionsFor(column, fixture, { prompt: "What is the weather in Paris?" });
      const { output } = await generateObject({ ...question, schema: weatherSchema });
      expect(output).toEqual({ city: "Paris", days: expect.any(Number) });
    },
  },
  {
    title: "Reasoning/thinking token reporting",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const { usage } = await generate(optionsFor(column, fixture, { prompt, reasoningEffort: "high" }));
      expect(usage?.reasoningTokens).toBeGreaterThan(0);
      expect(usage?.outputTokens).toBeGreaterThan(usage?.reasoningTokens ?? Infinity);
    },
  },
  {
    title: "Error handling (invalid API key -> 401)",
    async verify(column) {
      await using fixture = await createFixture("sim-text", { apiKey: "invalid" });
      const failure = await toFailure(() => generate(optionsFor(column, fixture, { prompt })));
      expect(failure).toBeInstanceOf(AuthenticationError);
      expect(fixture.requests).toHaveLength(1);
    },
  },
  {
    title: "Error handling (rate limit -> 429)",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=429,retry_after_ms=3,times=1");
      const failures: unknown[] = [];
      const onRetry: GenerateOptions["onRetry"] = (error) => failures.push(error);
      await generate(optionsFor(column, fixture, { prompt, onRetry }));
      expect(failures).toEqual([expect.any(RateLimitError)]);
      expect(fixture.requests).toHaveLength(2);
    },
  },
  {
    title: "Usage token counts are accurate",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const result = await generate(optionsFor(column, fixture, { prompt, includeRaw: true }));
      const { input, output } = column.count(JSON.parse(result.response.rawJson));
      const counts = { inputTokens: input, outputTokens: output, totalTokens: input + output };
      expect(result.totalUsage).toMatchObject(counts);
    },
  },
  {
    title: "Prompt caching (cache_read_tokens > 0 on turn 2+)",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const system = "Mind the tide tables of every harbour on the way. ".repeat(500);
      const question = userMessage("Where are we?");
      const first = await generate(optionsFor(column, fixture, { system, messages: [question] }));
      const messages = [question, ...first.messages, userMessage("And now?")];
      const second = await generate(optionsFor(column, fixture, { system, messages }));
      expect(first.usage?.cacheReadTokens ?? 0).toBe(0);
      expect(second.usage?.cacheReadTokens).toBeGreaterThan(5000);
    },
  },
  {
    title: "Provider-specific options pass through",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const nativeOptions = OPTIONS[column.name];
      await generate(
        optionsFor(column, fixture, { prompt, providerOptions: { [column.name]: nativeOptions } }),
      );
      expect(fixture.bodyAt()).toMatchObject(nativeOptions);
    },
  },
]);

/** For each provider, a setting that no other provider has. */
const OPTIONS = {
  openai: { prompt_cache_key: "harbour" },
  anthropic: { metadata: { user_id: "ada" } },
  gemini: { safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }] },
  compatible: { seed: 7 },
};
