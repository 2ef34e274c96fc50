/**
 * TanStack AI, with one of its adapters.
 *
 *   node main.js responses|chat|anthropic|google
 */
import { chat, toolDefinition } from "@tanstack/ai";
import { createAnthropicChat } from "@tanstack/ai-anthropic";
import { createGeminiChat } from "@tanstack/ai-gemini";
import { createOpenaiChat, createOpenaiChatCompletions } from "@tanstack/ai-openai";
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
  origin,
  question,
} from "../support/harness.js";

const adapters = {
  responses: (model) => createOpenaiChat(model, apiKey, { baseURL }),
  chat: (model) => createOpenaiChatCompletions(model, apiKey, { baseURL }),
  anthropic: (model) => createAnthropicChat(model, apiKey, { baseURL: origin }),
  google: (model) => createGeminiChat(model, apiKey, { httpOptions: { baseUrl: origin } }),
};

const createAdapter = adapters[process.argv[2] ?? "responses"];

function createSettings(model, weather) {
  const definition = toolDefinition({
    name: "get_weather",
    description: "Returns the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.string(),
  });
  return {
    adapter: createAdapter(model),
    messages: [{ role: "user", content: question }],
    tools: [definition.server(async (input) => weather.getWeather(input))],
  };
}

async function tools({ model }) {
  const weather = createWeather();
  checkAnswer(await chat({ ...createSettings(model, weather), stream: false }), weather);
}

async function stream({ model }) {
  const weather = createWeather();
  const deltas = await Array.fromAsync(readDeltas(chat(createSettings(model, weather))));
  checkAnswer(deltas.join(""), weather);
  checkDeltas(deltas, deltas.join(""));
}

async function structuredOutput({ model }) {
  const outputSchema = z.object({ name: z.string(), people: z.number() });
  const messages = [{ role: "user", content: "Describe Paris." }];
  checkCity(await chat({ adapter: createAdapter(model), messages, outputSchema }));
}

async function streamFailure({ failing }) {
  const messages = [{ role: "user", content: question }];
  await checkFailure(readDeltas(chat({ adapter: createAdapter(failing), messages })));
}

/** A failure is an event. */
async function* readDeltas(events) {
  for await (const event of events) {
    if (event.type === "RUN_ERROR") throw new Error(event.error?.message ?? event.message);
    if (event.type === "TEXT_MESSAGE_CONTENT") yield event.delta;
  }
}

await main({ tools, stream, structured_output: structuredOutput, stream_failure: streamFailure });
