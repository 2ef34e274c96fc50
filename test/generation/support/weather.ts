/** A tool of the program, for the simulator's scripts, which ask it for the weather of the places in the question. */
import { type ActiveTool, functionTool, type GenerateOptions } from "outrigger";
import * as z from "zod";
import type { Column, Fixture } from "../../providers/support/columns.ts";

/** A tool, and a record of its calls. */
export interface Weather {
  readonly tool: ActiveTool;
  /** The places of all calls, in the order in which they began. */
  readonly asked: string[];
  /** The most calls that ran at the same time. */
  mostAtOnce: number;
}

/** Creates the tool. @param delayMs How long each call takes. */
export function createWeather(delayMs = 0): Weather {
  const asked: string[] = [];
  let running = 0;
  const weather: Weather = {
    asked,
    mostAtOnce: 0,
    tool: functionTool({
      name: "get_weather",
      description: "Returns the weather of a city.",
      parameters: z.object({ city: z.string(), days: z.int() }),
      async execute({ city }) {
        asked.push(city);
        running += 1;
        weather.mostAtOnce = Math.max(weather.mostAtOnce, running);
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        running -= 1;
        return `Sunny in ${city}, 21 °C.`;
      },
    }),
  };
  return weather;
}

/** Options for a column of a table, with the client of its fixture. */
export function optionsFor(
  { name, model }: Column,
  { client }: Fixture,
  options: Partial<GenerateOptions>,
): GenerateOptions {
  return { provider: name, model, client, ...options };
}
