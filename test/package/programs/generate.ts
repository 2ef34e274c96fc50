import { functionTool, generate, getDefaultClient } from "outrigger";
import * as z from "zod";

const getWeather = functionTool({
  name: "get_weather",
  description: "Weather of a city",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, degrees: 21, sky: "clear" }),
});

const result = await generate({
  model: "gpt-5.2",
  system: "Answer in one sentence.",
  prompt: "What is the weather in Paris?",
  tools: [getWeather],
  maxToolRounds: 5,
});
console.log(result.text);
console.log(`${result.steps.length} steps, ${result.totalUsage?.totalTokens} tokens`);
await getDefaultClient().close();
