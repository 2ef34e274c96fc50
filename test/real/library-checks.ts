/** Checks of the library, without a sidecar: the specification's smoke test, as far as the model can do it. */
import assert from "node:assert/strict";
import {
  Client,
  functionTool,
  generate,
  generateObject,
  OpenAIChatAdapter,
  stream,
  toolChoice,
} from "../../src/index.ts";
import {
  checkCity,
  checkUsage,
  citySchema,
  MODEL,
  type Target,
  TIMEOUT_MS,
  weatherSchema,
  weatherTool,
} from "./target.ts";

/** A check of the library over the server's Chat Completions. */
export function overLibrary(check: (client: Client) => Promise<void>): (target: Target) => Promise<void> {
  return async ({ server }) => {
    const chat = new OpenAIChatAdapter({ name: "chat", baseUrl: `${server.url}/v1`, profile: "llama-cpp" });
    const client = new Client({ providers: { chat } });
    try {
      await check(client);
    } finally {
      await client.close();
    }
  };
}

/** Calls are not repeated: a retry would hide that one failed. */
const common = { model: MODEL, maxTokens: 24, temperature: 0, maxRetries: 0, timeout: TIMEOUT_MS };

/** A text, whole and streamed. */
export async function checkTexts(client: Client): Promise<void> {
  const options = { ...common, client, prompt: "Say hello in one sentence." };
  const whole = await generate(options);
  assert.notEqual(whole.text, "", "the answer has no text");
  checkUsage(whole.usage);
  const result = stream(options);
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assert.notEqual(text, "", "the answer has no text");
  assert.equal(text, (await result.result()).text);
}

/** A tool that the program executes, once for each call. */
export async function checkLocalTool(client: Client): Promise<void> {
  const cities: unknown[] = [];
  const tool = functionTool({
    name: weatherTool.name,
    parameters: weatherSchema,
    execute: ({ city }) => {
      cities.push(city);
      return "sunny";
    },
  });
  const { steps } = await generate({
    ...common,
    client,
    maxTokens: 100,
    prompt: "How is the weather in Oslo?",
    tools: [tool],
    toolChoice: toolChoice("required"),
    maxToolRounds: 1,
  });
  assert.equal(steps.length, 2);
  const [first] = steps;
  assert.notEqual(cities.length, 0, "the tool was not executed");
  assert.equal(cities.length, first?.toolCalls.length, "executions and calls");
  assert.ok(cities.every((city) => typeof city === "string"));
  assert.deepEqual(
    first?.toolResults.map(({ failed }) => failed),
    cities.map(() => false),
  );
}

/** An object of which the server enforces the schema. */
export async function checkLocalObject(client: Client): Promise<void> {
  const prompt = "Describe the city of Oslo.";
  const { output } = await generateObject({ ...common, client, maxTokens: 100, prompt, schema: citySchema });
  checkCity(JSON.stringify(output));
}
