/**
 * The specification's smoke test, from end to end: against the simulator, and with OUTRIGGER_SMOKE_TEST=real against
 * the providers whose keys are in the environment.
 */
import {
  Client,
  type Environment,
  FinishReason_Reason,
  functionTool,
  generate,
  generateObject,
  getLatestModel,
  imagePart,
  NotFoundError,
  stream,
  textPart,
  userMessage,
} from "outrigger";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { imageBytes } from "../providers/support/calls.ts";
import { type ColumnName, columns } from "../providers/support/columns.ts";

const PROVIDERS = ["anthropic", "openai", "gemini"] as const satisfies readonly ColumnName[];

type Provider = (typeof PROVIDERS)[number];

/** The provider that the smoke test calls. */
interface Target {
  readonly title: string;
  readonly environment: Environment;
  readonly providers: readonly Provider[];
  /** A model that calls tools. */
  getToolModel(provider: Provider): string;
}

const simulator = await startSimulator({
  aliases: Object.fromEntries(PROVIDERS.map((provider) => [findLatestModel(provider), "sim-text"])),
});

const targets = [simulated(simulator), ...(process.env.OUTRIGGER_SMOKE_TEST === "real" ? [real()] : [])];

afterAll(() => simulator.close());

describe.each(targets)("The smoke test against $title", ({ environment, providers, getToolModel }) => {
  const client = Client.fromEnv(environment);
  afterAll(() => client.close());

  describe.each(providers)("%s", (provider) => {
    const model = findLatestModel(provider);
    const common = { client, provider, model, maxTokens: 4000, timeout: 120_000 };

    it("generates a text", async () => {
      const result = await generate({ ...common, prompt: "Say hello in one sentence." });
      expect(result.text).not.toBe("");
      expect(result.usage?.inputTokens).toBeGreaterThan(0);
      expect(result.usage?.outputTokens).toBeGreaterThan(0);
      expect(result.finishReason.reason).toBe(FinishReason_Reason.STOP);
    });

    it("streams a text", async () => {
      const result = stream({ ...common, prompt: "Write a haiku." });
      const pieces: string[] = [];
      for await (const piece of result.textStream) pieces.push(piece);
      expect(pieces.join("")).not.toBe("");
      expect(pieces.join("")).toBe((await result.result()).text);
    });

    it("executes parallel tool calls", async () => {
      const weather = functionTool({
        name: "get_weather",
        description: "The current weather of one city.",
        parameters: z.object({ city: z.string() }),
        execute: ({ city }) => `In ${city} it is sunny, 22 °C.`,
      });
      const prompt = "What is the weather in Paris and Osaka? Ask for each city, and name both.";
      const asked = { ...common, model: getToolModel(provider), prompt, tools: [weather], maxToolRounds: 3 };
      const { steps, text } = await generate(asked);
      expect(steps.length).toBeGreaterThanOrEqual(2);
      expect(text).toContain("Paris");
      expect(text).toContain("Osaka");
    });

    it("takes an image", async () => {
      const messages = [userMessage([textPart("What do you see?"), imagePart(imageBytes)])];
      expect((await generate({ ...common, messages })).text).not.toBe("");
    });

    it("generates an object", async () => {
      const schema = z.object({ name: z.string(), age: z.int() });
      const { output } = await generateObject({
        ...common,
        prompt: "Extract: Alice is 30 years old",
        schema,
      });
      expect(output).toEqual({ name: expect.any(String), age: expect.any(Number) });
    });

    it("says that a model does not exist", async () => {
      const missing = generate({ ...common, model: "nonexistent-model-xyz", prompt: "test" });
      await expect(missing).rejects.toBeInstanceOf(NotFoundError);
    });
  });
});

function simulated({ url }: Simulator): Target {
  const simulatedColumns = columns.filter(({ name }) => PROVIDERS.some((provider) => provider === name));
  return {
    title: "the simulator",
    environment: Object.assign({}, ...simulatedColumns.map((column) => column.environment(url, "test-key"))),
    providers: PROVIDERS,
    getToolModel: () => "sim-tools:calls=2",
  };
}

function real(): Target {
  const { providerNames } = Client.fromEnv();
  return {
    title: "real providers",
    environment: process.env,
    providers: PROVIDERS.filter((provider) => providerNames.includes(provider)),
    getToolModel: findLatestModel,
  };
}

function findLatestModel(provider: Provider): string {
  const model = getLatestModel(provider);
  if (model === undefined) throw new Error(`the catalog has no model of ${provider}`);
  return model.id;
}
