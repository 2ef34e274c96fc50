/** The specification's checklist for tool calling: generate() and stream() with tools, over every wire API. */
import {
  type ActiveTool,
  argumentsOf,
  FinalResponse,
  FinishReason_Reason,
  functionTool,
  type GenerateOptions,
  type GenerateResult,
  generate,
  type ModelClient,
  StreamError,
  stream,
  type ToolChoiceInput,
  toolChoice,
} from "outrigger";
import { expect } from "vitest";
import * as z from "zod";
import { toFailure, weatherTool } from "../providers/support/calls.ts";
import { type Column, createFixture, type Fixture } from "../providers/support/columns.ts";
import { testTable } from "../providers/support/table.ts";
import { createWeather, optionsFor } from "./support/weather.ts";

const prompt = "What is the weather in Paris, Osaka and Lima?";

type Verify = (result: GenerateResult, fixture: Fixture) => void | Promise<void>;

/** Runs a generation by generate() and by stream(), each on a separate simulator. */
async function eachWay(
  column: Column,
  script: string,
  getErrorOptions: (fixture: Fixture) => Partial<GenerateOptions>,
  verify: Verify,
): Promise<void> {
  for (const run of [generate, (options: GenerateOptions) => stream(options).result()]) {
    await using fixture = await createFixture(script);
    await verify(await run(optionsFor(column, fixture, getErrorOptions(fixture))), fixture);
  }
}

/** The texts of the tool results that a request sends. OpenAI has no field for a failure, so the text says so. */
function sentResults(column: Column, fixture: Fixture, index: number): string[] {
  const { facts } = column.read(fixture.bodyAt(index));
  return facts.flatMap((fact) =>
    fact.kind === "result" ? [fact.text.replace(/^The tool failed: /, "")] : [],
  );
}

/** The client of a fixture, whose model calls a tool by another name in its first answer. */
function misnaming({ client }: Fixture): ModelClient {
  let isFirst = true;
  return {
    stream: (request, options) => client.stream(request, options),
    async complete(request, options) {
      const response = await client.complete(request, options);
      for (const { part } of isFirst ? response.message.content : [])
        if (part.case === "toolCall") part.value.name = "get_tides";
      isFirst = false;
      return response;
    },
  };
}

testTable("Tool calling", [
  {
    title: "Tools with a function trigger the loop",
    async verify(column) {
      const weather = createWeather();
      const options = { prompt, tools: [weather.tool] };
      await eachWay(
        column,
        "sim-tools",
        () => options,
        (result, { requests }) => {
          expect(result.steps).toHaveLength(2);
          expect(result.text).toContain("`get_weather` said “Sunny in Paris, 21 °C.”");
          expect(result.stopReason).toBe("COMPLETED");
          expect(requests).toHaveLength(2);
        },
      );
      expect(weather.asked).toEqual(["Paris", "Paris"]);
    },
  },
  {
    title: "Calls of tools without a function are returned",
    verify: (column) =>
      eachWay(
        column,
        "sim-tools:calls=2",
        () => ({ prompt, tools: [weatherTool], maxToolRounds: 5 }),
        (result, { requests }) => {
          expect(result.toolCalls.map(({ name }) => name)).toEqual(["get_weather", "get_weather"]);
          expect([result.stopReason, result.toolResults]).toEqual(["TOOL_CALLS", []]);
          expect(requests).toHaveLength(1);
        },
      ),
  },
  {
    title: "maxToolRounds ends the loop after so many rounds",
    verify: (column) =>
      eachWay(
        column,
        "sim-tools:rounds=9",
        () => ({ prompt, tools: [createWeather().tool], maxToolRounds: 3 }),
        (result, { requests }) => {
          expect(requests).toHaveLength(4);
          expect(result.steps.map(({ toolResults }) => toolResults.length)).toEqual([1, 1, 1, 0]);
          expect(result.toolCalls).toHaveLength(1);
          expect(result.stopReason).toBe("MAX_TOOL_ROUNDS");
        },
      ),
  },
  {
    title: "maxToolRounds 0 executes nothing",
    async verify(column) {
      const weather = createWeather();
      await eachWay(
        column,
        "sim-tools",
        () => ({ prompt, tools: [weather.tool], maxToolRounds: 0 }),
        (result, { requests }) => {
          expect([result.toolCalls.length, result.toolResults.length]).toEqual([1, 0]);
          expect(result.stopReason).toBe("TOOL_CALLS");
          expect(requests).toHaveLength(1);
        },
      );
      expect(weather.asked).toEqual([]);
    },
  },
  {
    title: "All calls of an answer are executed at the same time",
    async verify(column) {
      const weather = createWeather(20);
      await eachWay(
        column,
        "sim-tools:calls=3",
        () => ({ prompt, tools: [weather.tool] }),
        () => expect(weather.mostAtOnce).toBe(3),
      );
    },
  },
  {
    title: "All results are sent in one request, in the order of the calls",
    verify: (column) =>
      eachWay(
        column,
        "sim-tools:calls=3",
        () => ({ prompt, tools: [answeringInReverse()] }),
        (_result, fixture) => {
          expect(fixture.requests).toHaveLength(2);
          expect(sentResults(column, fixture, 1)).toEqual(["Paris", "Osaka", "Lima"]);
        },
      ),
  },
  {
    title: "A failure of a tool is sent to the model as an error result",
    verify: (column) =>
      eachWay(
        column,
        "sim-tools:calls=2",
        () => ({ prompt, tools: [failingFor("Paris")] }),
        (result, fixture) => {
          const [first] = result.steps;
          expect(first?.toolResults.map(({ failed }) => failed)).toEqual([true, false]);
          expect(sentResults(column, fixture, 1)).toEqual([
            "the station in Paris is closed",
            "Sunny in Osaka",
          ]);
          expect(result.stopReason).toBe("COMPLETED");
        },
      ),
  },
  {
    title: "A call of an unknown tool gets an error result",
    async verify(column) {
      await using fixture = await createFixture("sim-tools");
      const { tool, asked } = createWeather();
      const options = { prompt, tools: [tool], client: misnaming(fixture) };
      const result = await generate(optionsFor(column, fixture, options));
      expect(result.steps[0]?.toolResults).toMatchObject([{ failed: true }]);
      const problem = 'there is no tool "get_tides"; expected one of get_weather';
      expect(sentResults(column, fixture, 1)).toEqual([problem]);
      expect([result.stopReason, asked]).toEqual(["COMPLETED", []]);
    },
  },
  {
    title: "The modes of a tool choice are sent as the provider has them",
    async verify(column) {
      const choices: ToolChoiceInput[] = ["auto", "required", { name: "get_weather" }];
      for (const choice of choices) {
        await using fixture = await createFixture("sim-tools");
        const options = { prompt, tools: [weatherTool], toolChoice: toolChoice(choice) };
        const result = await generate(optionsFor(column, fixture, options));
        const want = typeof choice === "string" ? choice : choice.name;
        expect(column.read(fixture.bodyAt()).toolChoice ?? "auto").toBe(want);
        expect([result.stopReason, result.toolCalls.length]).toEqual(["TOOL_CALLS", 1]);
      }
      await using fixture = await createFixture("sim-tools");
      const options = { prompt, tools: [createWeather().tool], toolChoice: toolChoice("none") };
      const result = await generate(optionsFor(column, fixture, options));
      expect([result.toolCalls, result.stopReason]).toEqual([[], "COMPLETED"]);
    },
  },
  {
    title: "Arguments are parsed and checked before the tool is executed",
    async verify(column) {
      const executed: unknown[] = [];
      const tool = functionTool({
        name: "get_weather",
        description: "Returns the weather of a city.",
        parameters: z.object({
          city: z.string().refine((city) => city !== "Paris", "is no port"),
          days: z.int(),
        }),
        execute: (args) => executed.push(args),
      });
      await eachWay(
        column,
        "sim-tools:calls=2",
        () => ({ prompt, tools: [tool] }),
        (_result, fixture) => {
          const problem = 'the arguments of the call to "get_weather" are not valid for the schema';
          expect(sentResults(column, fixture, 1)[0]).toBe(`${problem}: city: is no port`);
          expect(executed.splice(0)).toEqual([{ city: "Osaka", days: expect.any(Number) }]);
        },
      );
    },
  },
  {
    title: "Each step has its calls, results and usage",
    verify: (column) =>
      eachWay(
        column,
        "sim-tools:calls=2,rounds=2",
        () => ({ prompt, tools: [createWeather().tool], maxToolRounds: 3 }),
        (result) => {
          expect(result.steps.map(({ toolCalls }) => toolCalls.length)).toEqual([2, 2, 0]);
          for (const { toolCalls, toolResults, usage } of result.steps) {
            expect(toolResults.map(({ toolCallId }) => toolCallId)).toEqual(toolCalls.map(({ id }) => id));
            expect(usage?.outputTokens).toBeGreaterThan(0);
          }
          const total = result.steps.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
          expect(result.totalUsage?.totalTokens).toBe(total);
          expect(result.usage).toEqual(result.steps.at(-1)?.usage);
        },
      ),
  },
  {
    title: "Call ids that the provider repeats or leaves out do not mix up results",
    async verify(column) {
      for (const fault of ["repeat_ids=1", "no_ids=1"])
        await eachWay(
          column,
          `sim-tools:calls=3,rounds=2,${fault}`,
          () => ({ prompt, tools: [answeringInReverse()], maxToolRounds: 2 }),
          ({ steps, stopReason }) => {
            const ids = steps.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id));
            expect([new Set(ids).size, stopReason]).toEqual([6, "COMPLETED"]);
            for (const { toolCalls, toolResults } of steps) {
              const places = toolCalls.map((call) => argumentsOf(call, z.object({ city: z.string() })));
              expect(toolResults.map(textIn)).toEqual(places.map((place) => place.ok && place.value.city));
            }
          },
        );
    },
  },
  {
    title: "Calls of an answer that was cut at its token limit are not executed",
    async verify(column) {
      const weather = createWeather();
      await eachWay(
        column,
        "sim-tools:calls=2,stop=length",
        () => ({ prompt, tools: [weather.tool] }),
        (result, { requests }) => {
          expect(result.finishReason.reason).toBe(FinishReason_Reason.LENGTH);
          expect([result.stopReason, requests.length]).toEqual(["COMPLETED", 1]);
        },
      );
      expect(weather.asked).toEqual([]);
    },
  },
  {
    title: "A stream that breaks in a later step fails with the usage of all, and executes nothing twice",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:calls=2");
      const { tool, asked } = createWeather();
      const client: ModelClient = {
        complete: (request, options) => fixture.client.complete(request, options),
        stream(request, options) {
          const model = asked.length === 0 ? request.model : "sim-text:cut_events=6";
          return fixture.client.stream({ ...request, model }, options);
        },
      };
      const result = stream(optionsFor(column, fixture, { prompt, tools: [tool], client }));
      const failure = await toFailure(() => result.result());
      expect(failure).toBeInstanceOf(StreamError);
      expect(failure).toMatchObject({ outputStarted: true, usage: { outputTokens: expect.any(Number) } });
      expect(asked).toEqual(["Paris", "Osaka"]);
      expect(fixture.requests).toHaveLength(2);
    },
  },
  {
    title: "Streams that carry the content once give the same result",
    async verify(column) {
      const results: GenerateResult[] = [];
      for (const finalResponse of [FinalResponse.FULL, FinalResponse.WITHOUT_CONTENT]) {
        await using fixture = await createFixture("sim-tools:calls=2,preamble=1");
        const options = { prompt, tools: [createWeather().tool], finalResponse };
        results.push(await stream(optionsFor(column, fixture, options)).result());
      }
      const [full, once] = results;
      expect(once?.text).toBe(full?.text);
      expect(once?.steps.map(({ text }) => text)).toEqual(full?.steps.map(({ text }) => text));
      expect(once?.steps[0]?.toolCalls).toHaveLength(2);
    },
  },
]);

/** A tool that answers later calls sooner. */
function answeringInReverse(): ActiveTool {
  let began = 0;
  return functionTool({
    name: "get_weather",
    description: "Returns the weather of a city.",
    parameters: z.object({ city: z.string() }),
    async execute({ city }) {
      began += 1;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 60 - 20 * began)));
      return city;
    },
  });
}

function textIn({ content }: GenerateResult["toolResults"][number]): string {
  return content.map(({ part }) => (part.case === "text" ? part.value : "")).join("");
}

function failingFor(place: string): ActiveTool {
  return functionTool({
    name: "get_weather",
    description: "Returns the weather of a city.",
    parameters: z.object({ city: z.string() }),
    execute({ city }) {
      if (city === place) throw new Error(`the station in ${city} is closed`);
      return `Sunny in ${city}`;
    },
  });
}
