/** The specification's checklist for generate() and stream(), over every wire API. */
import {
  AbortError,
  accumulate,
  FinishReason_Reason,
  type GenerationEvent,
  generate,
  generateObject,
  InvalidRequestError,
  NoObjectGeneratedError,
  RequestTimeoutError,
  type StreamEvent,
  stream,
  systemMessage,
  textOf,
  userMessage,
} from "outrigger";
import { expect } from "vitest";
import * as z from "zod";
import { toFailure } from "../providers/support/calls.ts";
import { createFixture } from "../providers/support/columns.ts";
import { testTable } from "../providers/support/table.ts";
import { createWeather, optionsFor } from "./support/weather.ts";

const prompt = "What is an outrigger?";
const asked = { kind: "text", author: "user", text: prompt };
const instructed = { kind: "text", author: "system", text: "Be brief." };

async function getEvents(result: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const events: GenerationEvent[] = [];
  for await (const event of result) events.push(event);
  return events;
}

function isModelEvent(event: GenerationEvent): event is StreamEvent {
  return event.event.case !== "stepFinish";
}

testTable("Generation", [
  {
    title: "generate() takes a prompt",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const result = await generate(optionsFor(column, fixture, { prompt, system: "Be brief." }));
      expect(column.read(fixture.bodyAt()).facts).toEqual([instructed, asked]);
      expect(result.text).toContain(`You asked: “${prompt}”`);
      expect(result.finishReason.reason).toBe(FinishReason_Reason.STOP);
      expect(result.response).toMatchObject({ provider: column.name, model: column.model });
      expect(result.totalUsage).toEqual(result.usage);
    },
  },
  {
    title: "generate() takes messages",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const messages = [systemMessage("Be brief."), userMessage(prompt)];
      const result = await generate(optionsFor(column, fixture, { messages }));
      expect(column.read(fixture.bodyAt()).facts).toEqual([instructed, asked]);
      const next = { messages: [...messages, ...result.messages, userMessage("And a canoe?")] };
      const { text } = await generate(optionsFor(column, fixture, next));
      expect(text).toContain("And a canoe?");
      expect(column.read(fixture.bodyAt()).facts).toHaveLength(4);
    },
  },
  {
    title: "generate() refuses prompt and messages together",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const both = optionsFor(column, fixture, { prompt, messages: [userMessage(prompt)] });
      for (const call of [() => generate(both), () => stream(both).result()]) {
        const failure = await toFailure(call);
        expect(failure).toBeInstanceOf(InvalidRequestError);
        expect(String(failure)).toContain("expected one of prompt and messages");
      }
      expect(fixture.requests).toEqual([]);
    },
  },
  {
    title: "The text deltas of stream() are the whole text",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const result = stream(optionsFor(column, fixture, { prompt }));
      let text = "";
      for await (const piece of result.textStream) text += piece;
      expect(text).toBe(textOf(await result.response()));
      expect(text).toContain(prompt);
    },
  },
  {
    title: "stream() begins with stream_start and ends with finish and step_finish",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const events = await getEvents(stream(optionsFor(column, fixture, { prompt })));
      expect(events[0]?.event).toMatchObject({ case: "streamStart", value: { provider: column.name } });
      const [finish, step] = events.slice(-2).map(({ event }) => event);
      expect(finish).toMatchObject({
        case: "finish",
        value: {
          finishReason: { reason: FinishReason_Reason.STOP },
          usage: { outputTokens: expect.any(Number) },
        },
      });
      expect(step).toMatchObject({
        case: "stepFinish",
        value: { step: 1, result: { text: expect.any(String) } },
      });
    },
  },
  {
    title: "A text is streamed as start, deltas and end",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const events = await getEvents(stream(optionsFor(column, fixture, { prompt })));
      const cases = events.map(({ event }) => event.case).filter((name) => name?.startsWith("text"));
      expect([cases[0], cases.at(-1)]).toEqual(["textStart", "textEnd"]);
      expect(new Set(cases.slice(1, -1))).toEqual(new Set(["textDelta"]));
    },
  },
  {
    title: "The events of several steps follow one another, each step as a separate stream",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:calls=2,rounds=2");
      const tools = [createWeather().tool];
      const options = { prompt: "What is the weather in Paris and Lima?", tools, maxToolRounds: 5 };
      const result = stream(optionsFor(column, fixture, options));
      const steps: StreamEvent[][] = [[]];
      for await (const event of result)
        if (isModelEvent(event)) steps.at(-1)?.push(event);
        else steps.push([]);
      const { steps: whole } = await result.result();
      expect(whole).toHaveLength(3);
      for (const [index, { response }] of whole.entries())
        expect(await accumulate(inTurn(steps[index] ?? []))).toEqual(response);
    },
  },
  {
    title: "generateObject() gives the parsed object, checked by its schema",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const schema = z.object({ city: z.string(), days: z.int() });
      const question = optionsFor(column, fixture, { prompt: "What is the weather in Paris?" });
      const { output } = await generateObject({ ...question, schema });
      expect(schema.parse(output)).toEqual(output);
    },
  },
  {
    title: "generateObject() throws NoObjectGeneratedError where the answer is not the object",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const schema = z.object({ city: z.string().refine(() => false, "is no port") });
      const question = optionsFor(column, fixture, { prompt: "What is the weather in Paris?" });
      const failure = await toFailure(() => generateObject({ ...question, schema }));
      expect(failure).toBeInstanceOf(NoObjectGeneratedError);
      expect(failure).toMatchObject({
        text: expect.stringContaining("{"),
        schemaViolations: [expect.stringContaining("is no port")],
        usage: { outputTokens: expect.any(Number) },
      });
      expect(fixture.requests).toHaveLength(1);
    },
  },
  {
    title: "The signal cancels generate() and stream()",
    async verify(column) {
      await using fixture = await createFixture("sim-long:rate=20");
      for (const run of [generate, (options: Parameters<typeof stream>[0]) => stream(options).result()]) {
        fixture.simulator.clearRequests();
        const controller = new AbortController();
        const running = run(optionsFor(column, fixture, { prompt, signal: controller.signal }));
        await fixture.simulator.waitForRequest();
        controller.abort();
        expect(await toFailure(() => running)).toBeInstanceOf(AbortError);
        expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
      }
      expect(fixture.requests).toHaveLength(1);
    },
  },
  {
    title: "The limits of the whole time and of a step end generate() and stream()",
    async verify(column) {
      await using fixture = await createFixture("sim-long:rate=20");
      for (const timeout of [50, { totalMs: 50 }, { perStepMs: 50 }])
        for (const run of [generate, (options: Parameters<typeof stream>[0]) => stream(options).result()]) {
          const failure = await toFailure(() => run(optionsFor(column, fixture, { prompt, timeout })));
          expect(failure).toBeInstanceOf(RequestTimeoutError);
          expect(String(failure)).toContain("exceeded its time limit of 50 ms");
        }
    },
  },
  {
    title: "What has arrived of a stream can be read at any time",
    async verify(column) {
      await using fixture = await createFixture("sim-text:rate=150");
      const result = stream(optionsFor(column, fixture, { prompt }));
      const lengths: number[] = [];
      let text = "";
      expect(result.partialResponse).toBeUndefined();
      for await (const { event } of result) {
        if (event.case === "textDelta") text += event.value.delta;
        const arrived = textOf(result.partialResponse);
        expect(arrived.startsWith(text)).toBe(true);
        lengths.push(arrived.length);
      }
      expect(new Set(lengths).size).toBeGreaterThan(2);
      expect(result.partialResponse).toEqual(await result.response());
    },
  },
]);

async function* inTurn<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
