/** OpenAI's agents SDK for JavaScript. */
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
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

const runner = new Runner({
  modelProvider: new OpenAIProvider({ baseURL, apiKey, useResponses: process.argv[2] !== "chat" }),
  tracingDisabled: true,
});

function createAgent(model, weather) {
  const getWeather = tool({
    name: "get_weather",
    description: "Returns the weather of a city.",
    parameters: z.object({ city: z.string() }),
    execute: weather.getWeather,
  });
  return new Agent({ name: "Assistant", instructions: "Be brief.", model, tools: [getWeather] });
}

async function tools({ model }) {
  const weather = createWeather();
  const result = await runner.run(createAgent(model, weather), question);
  checkAnswer(result.finalOutput, weather);
}

async function stream({ model }) {
  const weather = createWeather();
  const result = await runner.run(createAgent(model, weather), question, { stream: true });
  const deltas = await Array.fromAsync(result.toTextStream());
  await result.completed;
  checkAnswer(result.finalOutput, weather);
  checkDeltas(deltas, result.finalOutput);
}

async function structuredOutput({ model }) {
  const outputType = z.object({ name: z.string(), people: z.number() });
  const describer = new Agent({ name: "Describer", model, outputType });
  checkCity((await runner.run(describer, "Describe Paris.")).finalOutput);
}

async function secondTurn({ model }) {
  const weather = createWeather();
  const agent = createAgent(model, weather);
  const first = await runner.run(agent, question);
  const second = await runner.run(agent, [...first.history, { role: "user", content: nextQuestion }]);
  checkAnswer(second.finalOutput, weather, 2);
}

async function streamFailure({ failing }) {
  const agent = new Agent({ name: "Assistant", model: failing });
  const result = await runner.run(agent, question, { stream: true });
  await checkFailure(result.toTextStream());
}

await main({
  tools,
  stream,
  structured_output: structuredOutput,
  second_turn: secondTurn,
  stream_failure: streamFailure,
});
