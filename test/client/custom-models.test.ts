/** Custom models and prices: in the Client, in one adapter, and for one account. */
import { Client, createCatalog, type ModelSettings, OpenAIAdapter, userMessage } from "outrigger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { shippedModels } from "../support/shipped-models.ts";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ aliases: { "gpt-5.2": "sim-text", "our-model": "sim-text" } });
});

afterAll(() => simulator.close());

function catalogWith(...models: ModelSettings[]) {
  return createCatalog({ models });
}

function adapter(name: string, catalog?: ReturnType<typeof createCatalog>) {
  return new OpenAIAdapter({ name, apiKey: "k", baseUrl: simulator.openaiBaseUrl, catalog });
}

/** The price of a call, in dollars per million tokens, if a token of input and a token of output cost the same. */
async function toPrice(client: Client, provider: string, model: string): Promise<number | undefined> {
  const request = { provider, model, messages: [userMessage("Hello")] };
  const whole = await client.complete(request);
  const streamed = await client.stream(request).final();
  expect(streamed.usage?.costNanoUsd).toEqual(whole.usage?.costNanoUsd);
  const { costNanoUsd, totalTokens = 0 } = whole.usage ?? {};
  return costNanoUsd === undefined ? undefined : Number(costNanoUsd) / totalTokens / 1000;
}

const flat = (price: number) => ({ input: price, output: price, cacheRead: price });

describe("a custom catalog", () => {
  it("prices a model that the shipped catalog does not know", async () => {
    const catalog = catalogWith({ id: "our-model", provider: "openai", prices: flat(3) });
    await using client = new Client({ catalog, providers: { openai: adapter("openai") } });
    expect(await toPrice(client, "openai", "our-model")).toBeCloseTo(3);
    expect(client.catalog.getModelInfo("our-model")?.provider).toBe("openai");
  });

  it("changes nothing without custom entries", async () => {
    await using client = new Client({ providers: { openai: adapter("openai") } });
    expect(await toPrice(client, "openai", "our-model")).toBeUndefined();
    expect(await toPrice(client, "openai", "gpt-5.2")).toBeGreaterThan(0);
  });

  it("may have other prices for one account, and keeps the other facts of the model", async () => {
    const catalog = catalogWith({ id: "gpt-5.2", provider: "batch", prices: flat(0.5) });
    const providers = { openai: adapter("openai"), batch: adapter("batch") };
    await using client = new Client({ catalog, providers });
    expect(await toPrice(client, "batch", "gpt-5.2")).toBeCloseTo(0.5);
    expect(await toPrice(client, "openai", "gpt-5.2")).toBeGreaterThan(0.5);
    // Sampling is left out for a model that reasons, by the traits of the shipped entry.
    const request = {
      model: "gpt-5.2",
      messages: [userMessage("Hi")],
      reasoningEffort: "high",
      temperature: 1,
    };
    const { warnings } = await client.complete({ ...request, provider: "batch" });
    expect(warnings.map(({ field }) => field)).toContain("temperature");
    expect(shippedModels("openai").traitsOf("gpt-5.2").sampling).toBe("without_reasoning");
  });

  it("changes the traits by which requests are written", async () => {
    const traits = { sampling: "always" } as const;
    const catalog = catalogWith({ id: "gpt-5.2", provider: "openai", traits });
    await using client = new Client({ catalog, providers: { openai: adapter("openai") } });
    const request = { model: "our-model", messages: [userMessage("Hi")], temperature: 1 };
    expect((await client.complete(request)).warnings).toEqual([]);
  });

  it("of an adapter takes precedence over the Client's", async () => {
    const model = { id: "our-model", provider: "openai" };
    const catalog = catalogWith({ ...model, prices: flat(1) });
    const providers = { openai: adapter("openai", catalog) };
    await using client = new Client({ catalog: catalogWith({ ...model, prices: flat(2) }), providers });
    expect(await toPrice(client, "openai", "our-model")).toBeCloseTo(1);
  });
});

describe("createCatalog()", () => {
  it.each<[string, ModelSettings, string]>([
    ["no id", { id: "", provider: "p" }, "models[0].id: expected a name, found an empty one"],
    [
      "a negative price",
      { id: "m", provider: "p", prices: { input: -1, output: 1 } },
      "models[0].prices[0].input: expected US dollars per million tokens from 0, found -1",
    ],
    [
      "a window of no tokens",
      { id: "m", provider: "p", contextWindow: 0.5 },
      "models[0].contextWindow: expected a whole number of tokens from 1, found 0.5",
    ],
  ])("rejects %s by its path", (_what, model, message) => {
    expect(() => catalogWith(model)).toThrow(message);
  });

  it("takes prices for prompts of several sizes", () => {
    const tiers = [
      { input: 1, output: 2 },
      { input: 2, output: 4, cacheRead: 0.25, cacheWrite: 2.5, cacheWriteLong: 4, aboveInputTokens: 200_000 },
    ];
    const info = catalogWith({ id: "m", provider: "p", prices: tiers }).getModelInfo("m");
    expect(info?.prices).toMatchObject([
      { inputMicroUsdPerMillionTokens: 1_000_000n, aboveInputTokens: 0 },
      {
        outputMicroUsdPerMillionTokens: 4_000_000n,
        cacheReadMicroUsdPerMillionTokens: 250_000n,
        cacheWriteMicroUsdPerMillionTokens: 2_500_000n,
        aboveInputTokens: 200_000,
      },
    ]);
  });
});
