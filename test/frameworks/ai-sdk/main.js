/**
 * The AI SDK, with one of its providers.
 *
 *   node main.js openai|open-responses|chat|anthropic|google
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, Output, streamText, tool } from "ai";
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
  origin,
  question,
} from "../support/harness.js";

const providers = {
  openai: () => createOpenAI({ baseURL, apiKey }),
  "open-responses": () => createOpenResponses({ name: "outrigger", url: `${baseURL}/responses`, apiKey }),
  chat: () => createOpenAI({ baseURL, apiKey }).chat,
  anthropic: () => createAnthropic({ baseURL, apiKey }),
  google: () => createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey }),
};

const provider = providers[process.argv[2]]();

function createSettings(model, weather) {
  const getWeather = tool({
    description: "Returns the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: weather.getWeather,
  });
  return {
    model: provider(model),
    instructions: "Be brief.",
    tools: { get_weather: getWeather },
    stopWhen: isStepCount(5),
  };
}

async function tools({ model }) {
  const weather = createWeather();
  const { text } = await generateText({ ...createSettings(model, weather), prompt: question });
  checkAnswer(text, weather);
}

async function stream({ model }) {
  const weather = createWeather();
  const result = streamText({ ...createSettings(model, weather), prompt: question });
  const deltas = await Array.fromAsync(result.textStream);
  checkAnswer(await result.text, weather);
  checkDeltas(deltas, await result.text);
}

async function structuredOutput({ model }) {
  const schema = z.object({ name: z.string(), people: z.number() });
  const { output } = await generateText({
    model: provider(model),
    output: Output.object({ schema }),
    prompt: "Describe Paris.",
  });
  checkCity(output);
}

async function secondTurn({ model }) {
  const weather = createWeather();
  const settings = createSettings(model, weather);
  const messages = [{ role: "user", content: question }];
  const first = await generateText({ ...settings, messages });
  const second = await generateText({
    ...settings,
    messages: [...messages, ...first.responseMessages, { role: "user", content: nextQuestion }],
  });
  checkAnswer(second.text, weather, 2);
}

async function streamFailure({ failing }) {
  const { fullStream } = streamText({ model: provider(failing), prompt: question, onError() {} });
  await checkFailure(readDeltas(fullStream));
}

/** The stream of the text alone ends silently when it fails; the stream of all parts has the error. */
async function* readDeltas(parts) {
  for await (const part of parts) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") yield part.text;
  }
}

await main({
  tools,
  stream,
  structured_output: structuredOutput,
  second_turn: secondTurn,
  stream_failure: streamFailure,
});
