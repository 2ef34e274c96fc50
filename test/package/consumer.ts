/** A user's program that imports the installed package: run.ts compiles and runs it outside of the project. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import {
  AnthropicAdapter,
  Client,
  GeminiAdapter,
  type Middleware,
  OpenAIAdapter,
  type OpenAIAdapterOptions,
  OpenAIChatAdapter,
  type ProviderAdapter,
  RateLimitError,
  textOf,
  userMessage,
} from "outrigger";
import { type SimulatorOptions, startSimulator } from "outrigger/simulator";

const options: SimulatorOptions = { aliases: { "any-model": "sim-echo" } };
const simulator = await startSimulator(options);
const apiKey = "any";
const openaiOptions: OpenAIAdapterOptions = { apiKey, baseUrl: simulator.openaiBaseUrl };
const providers: Record<string, ProviderAdapter> = {
  openai: new OpenAIAdapter(openaiOptions),
  anthropic: new AnthropicAdapter({ apiKey, baseUrl: simulator.anthropicBaseUrl }),
  gemini: new GeminiAdapter({ apiKey, baseUrl: simulator.geminiBaseUrl }),
  compatible: new OpenAIChatAdapter({ apiKey, baseUrl: simulator.openaiBaseUrl }),
};

const models: string[] = [];
const recordModel: Middleware = (request, next) => {
  models.push(request.model);
  return next(request);
};

const client = new Client({ providers, middleware: [recordModel] });
for (const provider of Object.keys(providers)) {
  const request = { provider, model: "any-model", messages: [userMessage("parrot")] };
  equal(textOf(await client.complete(request)), "parrot");
  let streamed = "";
  for await (const { event } of client.stream(request)) {
    if (event.case === "textDelta") streamed += event.value.delta;
  }
  equal(streamed, "parrot");
}
ok(models.length > 0);
deepEqual(new Set(models), new Set(["any-model"]));
await rejects(
  client.complete({ provider: "openai", model: "sim-text:status=429", messages: [userMessage("Hello")] }),
  (error) => error instanceof RateLimitError && error.retryable,
);

await client.close();
await simulator.close();
