/** LangChain for JavaScript: its agent, and `ChatOpenAI` over the Responses API or, with the argument `chat`, Chat Completions. */
import { ChatOpenAI } from "@langchain/openai";
import { AIMessageChunk, createAgent, tool } from "langchain";
import { z } from "zod";
import {
  apiKey,
  baseURL,
  checkAnswer,
  checkCity,
  checkDeltas,
  checkFailure,
  createWeather,
  main,
  nextQuestion,
  question,
} from "../support/harness.js";

const citySchema = z.object({ name: z.string(), people: z.number() });

const useResponsesApi = process.argv[2] !== "chat";

function createChat(model) {
  return new ChatOpenAI({ model, apiKey, configuration: { baseURL }, useResponsesApi });
}

function createAssistant(model, weather) {
  const getWeather = tool(weather.getWeather, {
    name: "get_weather",
    description: "Returns the weather of a city.",
    schema: z.object({ city: z.string() }),
  });
  return createAgent({ model: createChat(model), tools: [getWeather], systemPrompt: "Be brief." });
}

async function tools({ model }) {
  const weather = createWeather();
  const result = await createAssistant(model, weather).invoke({
    messages: [{ role: "user", content: question }],
  });
  checkAnswer(result.messages.at(-1).text, weather);
}

async function stream({ model }) {
  const weather = createWeather();
  const parts = await createAssistant(model, weather).stream(
    { messages: [{ role: "user", content: question }] },
    { streamMode: ["messages", "values"] },
  );
  const deltas = [];
  let last;
  for await (const [mode, part] of parts) {
    if (mode === "values") last = part.messages.at(-1);
    else if (AIMessageChunk.isInstance(part[0]) && part[0].text !== "") deltas.push(part[0].text);
  }
  checkAnswer(last.text, weather);
  checkDeltas(deltas, last.text);
}

async function structuredOutput({ model }) {
  const describer = createAgent({ model: createChat(model), tools: [], responseFormat: citySchema });
  const result = await describer.invoke({ messages: [{ role: "user", content: "Describe Paris." }] });
  checkCity(result.structuredResponse);
  checkCity(await createChat(model).withStructuredOutput(citySchema).invoke("Describe Paris."));
}

async function secondTurn({ model }) {
  const weather = createWeather();
  const assistant = createAssistant(model, weather);
  const first = await assistant.invoke({ messages: [{ role: "user", content: question }] });
  const second = await assistant.invoke({
    messages: [...first.messages, { role: "user", content: nextQuestion }],
  });
  checkAnswer(second.messages.at(-1).text, weather, 2);
}

async function streamFailure({ failing }) {
  const chunks = await createChat(failing).stream(question);
  await checkFailure(chunks);
}

await main({
  tools,
  stream,
  structured_output: structuredOutput,
  second_turn: secondTurn,
  stream_failure: streamFailure,
});
