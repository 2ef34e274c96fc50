import { Client, functionTool, generate } from "outrigger-client";
import * as z from "zod";

const getWeather = functionTool({
  name: "get_weather",
  description: "The weather in a city",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, degrees: 21 }),
});

await using client = new Client();
const prompt = "What is the weather in Paris?";
const result = await generate({ client, model: "sim-tools", prompt, tools: [getWeather], maxToolRounds: 5 });
console.log(`${result.steps.length} steps, ${result.steps[0]?.toolResults.length} tool result`);
console.log(result.text);
