/**
 * Cross-provider parity: the same request works at every provider when only its provider and model
 * change. Each cell asserts what the provider received and what the caller got back.
 */
import {
  AuthenticationError,
  imagePart,
  RateLimitError,
  FinishReason_Reason as Reason,
  type Response,
  ResponseFormat_Type,
  retry,
  type StreamEvent,
  systemMessage,
  textOf,
  textPart,
  toolCallsOf,
  userMessage,
} from "outrigger";
import { create, UsageSchema } from "outrigger/proto";
import { expect } from "vitest";
import {
  callModel,
  collect,
  getReason,
  imageBytes,
  imageDataUrl,
  type RequestFields,
  requestTo,
  responseIn,
  runTools,
  toFailure,
  toMessage,
  weatherFor,
  weatherSchema,
  weatherTool,
} from "./support/calls.ts";
import { type Column, createFixture, type Fixture } from "./support/columns.ts";
import type { Fact, Reading } from "./support/facts.ts";
import { testTable } from "./support/table.ts";

const SYSTEM = "Be brief.";
const greeting = [systemMessage(SYSTEM), userMessage("Say hello to Ada.")];
const greetingFacts: Fact[] = [
  { kind: "text", author: "system", text: SYSTEM },
  { kind: "text", author: "user", text: "Say hello to Ada." },
];
const weatherQuestion = {
  messages: [userMessage("What is the weather in Paris, Osaka and Lima?")],
  tools: [weatherTool],
} satisfies RequestFields;

testTable("Parity matrix", [
  {
    title: "Simple text generation",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const response = await fixture.client.complete(requestTo(column, { messages: greeting }));
      expect(readingAt(fixture, column).facts).toEqual(greetingFacts);
      expect(textOf(response)).toContain("You asked: “Say hello to Ada.”");
      expect(response).toMatchObject({ provider: column.name, model: column.model });
      expect(response.id).not.toBe("");
      expect(getReason(response)).toBe(Reason.STOP);
    },
  },
  {
    title: "Streaming text generation",
    async verify(column) {
      await using streaming = await createFixture("sim-text");
      await using whole = await createFixture("sim-text");
      const request = requestTo(column, { messages: greeting });
      const events = await collect(streaming.client.stream(request));
      const response = await whole.client.complete(request);
      expect(readingAt(streaming, column)).toEqual(readingAt(whole, column));
      expect(casesIn(events)).toEqual([
        "streamStart",
        "textStart",
        ...deltasIn(events, "textDelta").map(() => "textDelta"),
        "textEnd",
        "finish",
      ]);
      expect(deltasIn(events, "textDelta").length).toBeGreaterThan(10);
      expect(deltasIn(events, "textDelta").join("")).toBe(textOf(response));
      expect(withoutCallFacts(responseIn(events))).toEqual(withoutCallFacts(response));
    },
  },
  {
    title: "Image input (base64)",
    verify: (column) => verifyImage(column, imageBytes, imageDataUrl),
  },
  {
    title: "Image input (URL)",
    verify: (column) => verifyImage(column, "https://example.com/cat.png", "https://example.com/cat.png"),
  },
  {
    title: "Single tool call + execution",
    verify: (column) => verifyToolLoop(column, { calls: 1, rounds: 1 }),
  },
  {
    title: "Multiple parallel tool calls",
    verify: (column) => verifyToolLoop(column, { calls: 3, rounds: 1 }),
  },
  {
    title: "Multi-step tool loop (3+ rounds)",
    verify: (column) => verifyToolLoop(column, { calls: 2, rounds: 3 }),
  },
  {
    title: "Streaming with tool calls",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:calls=2");
      const events = await collect(fixture.client.stream(requestTo(column, weatherQuestion)));
      const calls = toolCallsOf(responseIn(events));
      expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_weather"]);
      for (const [index, call] of calls.entries()) {
        expect(callStepsAt(events, index)).toEqual({
          start: { id: call.id, name: call.name },
          deltas: call.input.value,
          end: call.input.value,
        });
      }
      expect(getReason(responseIn(events))).toBe(Reason.TOOL_CALLS);
      await verifyToolLoop(column, { calls: 2, rounds: 1 }, "stream");
    },
  },
  {
    title: "Structured output (generate_object)",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const responseFormat = {
        type: ResponseFormat_Type.JSON_SCHEMA,
        name: "forecast",
        schemaJson: JSON.stringify(weatherSchema),
        strict: true,
      };
      const messages = [userMessage("What is the weather in Paris?")];
      const response = await fixture.client.complete(requestTo(column, { messages, responseFormat }));
      expect(readingAt(fixture, column).answerSchema).toEqual(weatherSchema);
      expect(JSON.parse(textOf(response))).toEqual({ city: "Paris", days: expect.any(Number) });
      expect(response.warnings).toEqual([]);
    },
  },
  {
    title: "Reasoning/thinking token reporting",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const request = requestTo(column, { messages: greeting, reasoningEffort: "high", includeRaw: true });
      const response = await fixture.client.complete(request);
      const { reasoning, output } = column.count(JSON.parse(response.rawJson));
      expect(readingAt(fixture, column).effort).toBe("high");
      expect(reasoning).toBeGreaterThan(0);
      expect(response.usage).toMatchObject({ reasoningTokens: reasoning, outputTokens: output });
      expect(output).toBeGreaterThan(reasoning);
    },
  },
  {
    title: "Error handling (invalid API key -> 401)",
    async verify(column) {
      await using fixture = await createFixture("sim-text", { apiKey: "invalid" });
      const error = await toFailure(() => fixture.client.complete(requestTo(column, { messages: greeting })));
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(error).toMatchObject({ provider: column.name, retryable: false });
      expect(fixture.requests).toHaveLength(1);
    },
  },
  {
    title: "Error handling (rate limit -> 429)",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=429,retry_after=7,times=1");
      const failures: unknown[] = [];
      const waits: number[] = [];
      const response = await retry(
        () => fixture.client.complete(requestTo(column, { messages: greeting })),
        { onRetry: (error) => failures.push(error) },
        { wait: async (milliseconds) => void waits.push(milliseconds) },
      );
      expect(failures).toEqual([expect.any(RateLimitError)]);
      expect(failures[0]).toMatchObject({
        provider: column.name,
        httpStatusCode: 429,
        retryable: true,
        retryAfter: 7,
      });
      expect(waits).toEqual([7000]);
      expect(getReason(response)).toBe(Reason.STOP);
      expect(fixture.requests).toHaveLength(2);
    },
  },
  {
    title: "Usage token counts are accurate",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const request = requestTo(column, { messages: greeting, reasoningEffort: "low", includeRaw: true });
      const whole = await fixture.client.complete(request);
      const streamed = await callModel(fixture.client, request, "stream");
      const { input, output, reasoning } = column.count(JSON.parse(whole.rawJson));
      expect(input).toBeGreaterThan(0);
      expect(output).toBeGreaterThan(0);
      for (const { usage } of [whole, streamed]) {
        expect(usage).toMatchObject({
          inputTokens: input,
          outputTokens: output,
          totalTokens: input + output,
          reasoningTokens: reasoning,
        });
      }
    },
  },
  {
    title: "Prompt caching (cache_read_tokens > 0 on turn 2+)",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const instructions = systemMessage("Mind the tide tables of every harbour on the way. ".repeat(500));
      const first = [instructions, userMessage("Where are we?")];
      const one = await fixture.client.complete(requestTo(column, { messages: first }));
      const messages = [...first, toMessage(one), userMessage("And now?")];
      const two = await fixture.client.complete(requestTo(column, { messages, includeRaw: true }));
      const { cacheRead } = column.count(JSON.parse(two.rawJson));
      expect(one.usage?.cacheReadTokens ?? 0).toBe(0);
      expect(two.usage?.cacheReadTokens).toBeGreaterThan(5000);
      expect(two.usage?.cacheReadTokens).toBe(cacheRead);
    },
  },
  {
    title: "Provider-specific options pass through",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const options = Object.entries(OPTIONS).map(([name, option]) => [name, JSON.stringify(option)]);
      const providerOptionsJson = Object.fromEntries(options);
      await fixture.client.complete(requestTo(column, { messages: greeting, providerOptionsJson }));
      const mine = Object.entries(OPTIONS).filter(([name]) => name === column.name);
      const others = Object.entries(OPTIONS).filter(([name]) => name !== column.name);
      for (const [, option] of mine) expect(fixture.bodyAt()).toMatchObject(option);
      for (const key of others.flatMap(([, option]) => Object.keys(option)))
        expect(fixture.bodyAt()).not.toHaveProperty(key);
    },
  },
]);

/** For each provider, a setting that no other provider has. */
const OPTIONS: Readonly<Record<string, object>> = {
  openai: { prompt_cache_key: "harbour" },
  anthropic: { metadata: { user_id: "ada" } },
  gemini: { safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }] },
  compatible: { seed: 7 },
};

async function verifyImage(column: Column, source: string | Uint8Array, sentSource: string): Promise<void> {
  await using fixture = await createFixture("sim-text");
  const messages = [userMessage([textPart("What is in the image?"), imagePart(source)])];
  const response = await fixture.client.complete(requestTo(column, { messages }));
  expect(readingAt(fixture, column).facts).toEqual([
    { kind: "text", author: "user", text: "What is in the image?" },
    { kind: "image", author: "user", source: sentSource },
  ]);
  expect(textOf(response)).toContain("The request has 1 attachment(s): image");
}

/** Runs a tool loop, and compares each request with the conversation so far. */
async function verifyToolLoop(
  column: Column,
  { calls, rounds }: { calls: number; rounds: number },
  mode: "complete" | "stream" = "complete",
): Promise<void> {
  await using fixture = await createFixture(`sim-tools:calls=${calls},rounds=${rounds}`);
  const { steps } = await runTools(fixture.client, column, weatherQuestion, mode);
  const [answer] = steps.slice(-1);
  expect(steps.map(getReason)).toEqual([...Array(rounds).fill(Reason.TOOL_CALLS), Reason.STOP]);
  expect(readingAt(fixture, column, 0).tools).toEqual([
    { name: "get_weather", description: "Returns the weather of a city.", schema: weatherSchema },
  ]);
  const expected: Fact[] = [
    { kind: "text", author: "user", text: "What is the weather in Paris, Osaka and Lima?" },
  ];
  for (const [index, step] of steps.entries()) {
    expect(factsAt(fixture, column, index)).toEqual(expected);
    expect(toolCallsOf(step)).toHaveLength(index < rounds ? calls : 0);
    expected.push(...toFacts(step, expected.length));
  }
  expect(textOf(answer)).toContain("`get_weather` said “Sunny in");
}

/** The calls of a step and their results, as the next request contains them; ids are compared by their pairing. */
function toFacts(step: Response, before: number): Fact[] {
  const calls = toolCallsOf(step);
  return [
    ...calls.map((call, index): Fact => {
      const given = JSON.parse(call.input.value ?? "");
      return { kind: "call", id: String(before + index), name: call.name, arguments: given };
    }),
    ...calls.map((call, index): Fact => {
      return { kind: "result", id: String(before + index), text: weatherFor(call), media: [] };
    }),
  ];
}

/** The facts of a request, without state; the id of a call is its index. */
function factsAt(fixture: Fixture, column: Column, index: number): Fact[] {
  const facts = readingAt(fixture, column, index).facts.filter(({ kind }) => kind !== "state");
  const places = new Map<string, string>();
  return facts.map((fact, place) => {
    if (fact.kind === "call") places.set(fact.id, String(place));
    return fact.kind === "call" || fact.kind === "result"
      ? { ...fact, id: places.get(fact.id) ?? "unknown call" }
      : fact;
  });
}

function readingAt(fixture: Fixture, column: Column, index = -1): Reading {
  return column.read(fixture.bodyAt(index));
}

/** A response without the facts that differ between two calls: ids and times. */
function withoutCallFacts({ message, finishReason, usage, model, provider, warnings }: Response) {
  const counts = usage && { ...create(UsageSchema, usage), rawJson: "" };
  return { message, finishReason, usage: counts, model, provider, warnings };
}

function casesIn(events: readonly StreamEvent[]): (string | undefined)[] {
  return events.map(({ event }) => event.case);
}

function deltasIn(events: readonly StreamEvent[], kind: "textDelta" | "toolCallDelta"): string[] {
  return events.flatMap(({ event }) => (event.case === kind ? [event.value.delta] : []));
}

/** The events of one tool call of a stream, by the index of the call. */
function callStepsAt(events: readonly StreamEvent[], place: number) {
  const starts = events.flatMap(({ event }) => (event.case === "toolCallStart" ? [event.value] : []));
  const { partIndex, id, name } = starts[place] ?? { partIndex: -1 };
  const callEvents = events.flatMap(({ event }) =>
    (event.case === "toolCallDelta" || event.case === "toolCallEnd") && event.value.partIndex === partIndex
      ? [event]
      : [],
  );
  return {
    start: { id, name },
    deltas: callEvents
      .flatMap(({ case: kind, value }) => (kind === "toolCallDelta" ? [value.delta] : []))
      .join(""),
    end: callEvents.flatMap(({ case: kind, value }) =>
      kind === "toolCallEnd" ? [value.toolCall?.input.value] : [],
    )[0],
  };
}
