/** The checklist of the specification for tool calling: generate() and stream() with tools, over every wire API. */
import { type GenerateOptions, type GenerateResult, generate, stream } from "outrigger";
import { expect } from "vitest";
import { type Column, createFixture, type Fixture } from "../providers/support/columns.ts";
import { testTable } from "../providers/support/table.ts";
import { createWeather, optionsFor } from "./support/weather.ts";

const prompt = "What is the weather in Paris, Osaka and Lima?";

/** Runs a generation both ways, each on its own simulator. */
async function eachWay(
  column: Column,
  script: string,
  optionsOf: () => Partial<GenerateOptions>,
  verify: (result: GenerateResult, fixture: Fixture) => void | Promise<void>,
): Promise<void> {
  for (const run of [generate, (options: GenerateOptions) => stream(options).result()]) {
    await using fixture = await createFixture(script);
    await verify(await run(optionsFor(column, fixture, optionsOf())), fixture);
  }
}

testTable("Tool calling", [
  {
    title: "Tools with a function are executed, and the loop goes on until the model answers",
    async verify(column) {
      const weather = createWeather();
      await eachWay(
        column,
        "sim-tools",
        () => ({ prompt, tools: [weather.tool] }),
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
]);
