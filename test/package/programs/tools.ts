import { argumentsOf, Client, functionTool, textOf, toolCallsOf, toolResult, userMessage } from "outrigger";
import * as z from "zod";

const Place = z.object({ city: z.string() });
const getWeather = async (city: string) => ({ city, degrees: 21, sky: "clear" });

const client = Client.fromEnv();
const messages = [userMessage("What is the weather in Paris?")];
const tools = [functionTool({ name: "get_weather", description: "Weather of a city", parameters: Place })];

for (let round = 0; round < 5; round += 1) {
  const response = await client.complete({ model: "gpt-5.2", messages, tools });
  messages.push(response.message);
  console.log(textOf(response));
  const calls = toolCallsOf(response);
  if (calls.length === 0) break;
  for (const call of calls) {
    const place = argumentsOf(call, Place);
    messages.push(toolResult(call, place.ok ? await getWeather(place.value.city) : place.error));
  }
}
await client.close();
