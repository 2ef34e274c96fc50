/** Models and prices in a configuration file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildClient, loadConfig } from "../../src/config/index.ts";
import { getParts } from "./support/client-parts.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-models-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function load(models: string) {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, `models:\n${models}`);
  return loadConfig({ environment: { OPENAI_API_KEY: "k" }, flags: { config: path } });
}

describe("models of a configuration file", () => {
  it("are in the client's catalog, with their prices in dollars", async () => {
    const config = await load(`
  - id: ft:gpt-4o:acme
    provider: openai
    aliases: [acme-style]
    context_window: 128000
    max_output_tokens: 16384
    capabilities: [tools, image_input]
    prices: { input: 3.75, output: 15, cache_read: 1.875 }
`);
    await using client = buildClient(config.client, getParts(config.client));
    expect(client.catalog.getModelInfo("acme-style")).toMatchObject({
      id: "ft:gpt-4o:acme",
      contextWindow: 128_000,
      maxOutputTokens: 16_384,
      prices: [{ inputMicroUsdPerMillionTokens: 3_750_000n, cacheReadMicroUsdPerMillionTokens: 1_875_000n }],
    });
    expect(client.catalog.getModelInfo("gpt-5.2")?.id).toBe("gpt-5.2");
  });

  it.each([
    [
      "a price in words",
      "  - { id: m, provider: p, prices: { input: cheap, output: 1 } }",
      /prices.*input: expected a number of US dollars/,
    ],
    ["no provider", "  - { id: m }", /provider: expected a text/],
    ["an unknown capability", "  - { id: m, provider: p, capabilities: [tolls] }", /did you mean "?tools/],
    ["an unknown field", "  - { id: m, provider: p, price: 1 }", /unknown field/],
    ["no list", "  id: m", /expected a list of models/],
  ])("are rejected for %s", async (_what, models, message) => {
    await expect(load(models)).rejects.toThrow(message);
  });
});
