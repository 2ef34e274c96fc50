import { readFileSync } from "node:fs";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { calcPrice } from "@pydantic/genai-prices";
import { describe, expect, it } from "vitest";
import type { Overlay } from "../../scripts/catalog-builder.ts";
import overlayFile from "../../scripts/catalog-overlay.json" with { type: "json" };
import { costOf, defaultCatalog } from "../../src/catalog/catalog.ts";
import type { PriceTier } from "../../src/catalog/catalog-data.ts";
import { costWith } from "../../src/catalog/model-cost.ts";
import { type Usage, UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";

const at = new Date("2026-11-21");

function createUsage(counts: MessageInitShape<typeof UsageSchema>): Usage {
  return create(UsageSchema, counts);
}

function recorded<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../recordings/${file}`, import.meta.url), "utf8"));
}

/** Dollars per million tokens are thousands of nano-dollars per token: exact for the prices used here. */
function nanoUsd(...items: [tokens: number, dollarsPerMillion: number][]): bigint {
  return BigInt(Math.round(items.reduce((sum, [tokens, dollars]) => sum + tokens * dollars * 1000, 0)));
}

describe("a recorded usage costs by our counts what it costs by the provider's counts", () => {
  it("of OpenAI, whose input includes cached tokens", () => {
    const { model, usage } = recorded<{ model: string; usage: OpenAIUsage }>(
      "openai-responses/gpt-5-6-reasoning-mode-pro-with-independent-effort.json",
    );
    const { cached_tokens: read, cache_write_tokens: written } = usage.input_tokens_details;
    const unified = createUsage({
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: read,
      cacheWriteTokens: written,
    });
    const plain = usage.input_tokens - read - written;
    const native = nanoUsd([plain, 4], [read, 0.4], [written, 5], [usage.output_tokens, 20]);
    expect(costOf(unified, model, "openai", { at })).toBe(native);
    expect(read).toBeGreaterThan(0);
  });

  it("of Anthropic, whose input excludes it, with writes kept for an hour", () => {
    const { model, usage } = recorded<{ model: string; usage: AnthropicUsage }>(
      "anthropic-messages/messages-thinking-static-prefix-ttl-coexists-with-extended-thinking.json",
    );
    const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = usage.cache_creation;
    const unified = createUsage({
      inputTokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWriteTokens: usage.cache_creation_input_tokens,
    });
    const native = nanoUsd([usage.input_tokens, 3], [short, 3.75], [long, 6], [usage.output_tokens, 15]);
    expect(costOf(unified, model, "anthropic", { at, longCacheWriteTokens: long })).toBe(native);
    expect(long).toBeGreaterThan(0);
  });

  it("of Gemini, whose output excludes thoughts", () => {
    const { modelVersion, usageMetadata: usage } = recorded<{
      modelVersion: string;
      usageMetadata: GeminiUsage;
    }>("gemini/vertex-unary-success-implicit-caching.json");
    const read = usage.cachedContentTokenCount;
    const unified = createUsage({
      inputTokens: usage.promptTokenCount,
      outputTokens: usage.candidatesTokenCount + usage.thoughtsTokenCount,
      cacheReadTokens: read,
    });
    const output: [number, number] = [usage.candidatesTokenCount + usage.thoughtsTokenCount, 2.5];
    const native = nanoUsd([usage.promptTokenCount - read, 0.3], [read, 0.03], output);
    expect(costOf(unified, modelVersion, "gemini", { at })).toBe(native);
    expect(usage.thoughtsTokenCount).toBeGreaterThan(0);
  });

  it("of Mistral, by the snapshot that it reports", () => {
    const { model, usage } = recorded<{ model: string; usage: ChatUsage }>(
      "openai-chat/mistral-reasoning.json",
    );
    const unified = createUsage({
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
    });
    const native = nanoUsd([usage.prompt_tokens, 2], [usage.completion_tokens, 5]);
    expect(costOf(unified, model, "mistral", { at })).toBe(native);
  });
});

describe("costWith()", () => {
  const tiers: PriceTier[] = [
    {
      above_input_tokens: 0,
      input_micro_usd_per_million_tokens: 1_000_000,
      output_micro_usd_per_million_tokens: 10_000_000,
      cache_read_micro_usd_per_million_tokens: 100_000,
    },
    {
      above_input_tokens: 200,
      input_micro_usd_per_million_tokens: 2_000_000,
      output_micro_usd_per_million_tokens: 15_000_000,
      cache_read_micro_usd_per_million_tokens: 0,
    },
  ];

  it("chooses the tier by the whole prompt and prices the whole call by it", () => {
    expect(costWith(tiers, createUsage({ inputTokens: 200, outputTokens: 1 }))).toBe(200n * 1000n + 10_000n);
    expect(costWith(tiers, createUsage({ inputTokens: 201, outputTokens: 1 }))).toBe(201n * 2000n + 15_000n);
    expect(costWith(tiers, createUsage({ inputTokens: 201, outputTokens: 0, cacheReadTokens: 200 }))).toBe(
      2000n,
    );
  });

  it("rounds once, half up", () => {
    const cheap = [
      {
        above_input_tokens: 0,
        input_micro_usd_per_million_tokens: 100,
        output_micro_usd_per_million_tokens: 400,
      },
    ];
    expect(costWith(cheap, createUsage({ inputTokens: 1, outputTokens: 1 }))).toBe(1n);
    expect(costWith(cheap, createUsage({ inputTokens: 4, outputTokens: 0 }))).toBe(0n);
  });

  it("stays exact beyond the precision of numbers", () => {
    const dear = [
      {
        above_input_tokens: 0,
        input_micro_usd_per_million_tokens: 9_007_199_254_740_991,
        output_micro_usd_per_million_tokens: 0,
      },
    ];
    const most = createUsage({ inputTokens: 2_147_483_647, outputTokens: 0 });
    expect(costWith(dear, most)).toBe((9_007_199_254_740_991n * 2_147_483_647n + 500n) / 1000n);
  });

  it("is undefined if a required price is unknown", () => {
    const usage = createUsage({ inputTokens: 10, outputTokens: 10, cacheWriteTokens: 1 });
    expect(costWith(tiers, usage)).toBeUndefined();
    expect(costWith([], createUsage({ inputTokens: 1, outputTokens: 1 }))).toBeUndefined();
    const written = [
      {
        above_input_tokens: 0,
        input_micro_usd_per_million_tokens: 1,
        output_micro_usd_per_million_tokens: 1,
        cache_write_micro_usd_per_million_tokens: 1,
      },
    ];
    expect(costWith(written, usage)).toBe(0n);
    expect(costWith(written, usage, 1), "no price for what is kept longer").toBeUndefined();
  });

  it("is defined if an unknown price is not needed", () => {
    const usage = createUsage({
      inputTokens: 10,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    });
    expect(costWith(tiers, usage)).toBe(10_000n);
  });

  it("is undefined if the counts contradict each other", () => {
    expect(
      costWith(tiers, createUsage({ inputTokens: 5, outputTokens: 1, cacheReadTokens: 6 })),
    ).toBeUndefined();
    expect(costWith(tiers, createUsage({ inputTokens: 5, outputTokens: 1 }), 1)).toBeUndefined();
  });
});

describe("costOf()", () => {
  it("is undefined for unknown models", () => {
    expect(costOf(createUsage({ inputTokens: 1, outputTokens: 1 }), "gpt-7-nova", "openai")).toBeUndefined();
  });

  it("changes with announced prices", () => {
    const usage = createUsage({ inputTokens: 1_000_000, outputTokens: 0 });
    const on = (day: string) => costOf(usage, "gemini-4-argon", "gemini", { at: new Date(day) });
    expect([on("2026-11-30"), on("2026-12-01")]).toEqual([2_000_000_000n, 4_000_000_000n]);
  });

  it("agrees with the source's calculation for every model that it prices", () => {
    let compared = 0;
    for (const { provider, source_id: providerId, models } of (overlayFile as Overlay).providers) {
      for (const { id, source_model } of models.filter(({ prices }) => prices === undefined)) {
        const { contextWindow = 0 } = defaultCatalog.getModelInfo(id, provider) ?? {};
        for (const inputTokens of [1000, 250_000, 300_000].filter((tokens) => tokens < contextWindow)) {
          const native = { input_tokens: inputTokens, output_tokens: 777 };
          const want = calcPrice(native, source_model ?? id, { providerId, timestamp: at });
          const got = costOf(createUsage({ inputTokens, outputTokens: 777 }), id, provider, { at });
          const label = `${id} with ${inputTokens} tokens`;
          expect(Number(got) / 1e9, label).toBeCloseTo(want?.total_price ?? Number.NaN, 8);
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(100);
  });
});

interface OpenAIUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  output_tokens: number;
}

interface AnthropicUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
  output_tokens: number;
}

interface GeminiUsage {
  promptTokenCount: number;
  cachedContentTokenCount: number;
  candidatesTokenCount: number;
  thoughtsTokenCount: number;
}

interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
}
