import { Client, functionTool, stream } from "outrigger-client";
import * as z from "zod";

const getWeather = functionTool({
  name: "get_weather",
  description: "The weather in a city",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, degrees: 21 }),
});

await using client = new Client();
const prompt = "What is the weather in Paris and in Rome?";
const result = stream({ client, model: "sim-tools:calls=2", prompt, tools: [getWeather] });
for await (const { event } of result) {
  if (event.case === "textDelta") process.stdout.write(event.value.delta);
  if (event.case === "toolCallEnd") console.log(`call of ${event.value.toolCall?.name}`);
  if (event.case === "stepFinish") console.log(`step ${event.value.step} is complete`);
}
