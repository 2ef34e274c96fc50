import { readFileSync } from "node:fs";
import type { ModelInfo } from "@pydantic/genai-prices";
import { describe, expect, it } from "vitest";
import { buildCatalog, type Overlay, type Source } from "../../scripts/catalog-builder.ts";
import { readPrices } from "../../scripts/catalog-prices.ts";
import { currentCatalog } from "../../scripts/update-catalog.ts";

const rules = { day: "2026-11-21", contextWindow: 1_000_000, tierCorrections: { 271999: 272_000 } };

function getModel(prices: ModelInfo["prices"], id = "m-1"): ModelInfo {
  return { id, name: "Model", match: { equals: id }, context_window: 1000, prices };
}

function toSource(...models: ModelInfo[]): Source {
  return { name: "test", version: "1.0.0", licence: "none", getModels: () => models };
}

function createOverlay(provider: Partial<Overlay["providers"][number]>): Overlay {
  const whole = { provider: "p", source_id: "s", capabilities: [], ignored: [], models: [], ...provider };
  return { reviewed_at: "2026-11-21", providers: [whole], families: [] };
}

describe("update-catalog", () => {
  it("writes the committed file when it runs again", () => {
    const committed = readFileSync(new URL("../../src/catalog/catalog.json", import.meta.url), "utf8");
    expect(currentCatalog()).toBe(committed);
  });
});

describe("buildCatalog()", () => {
  const priced = getModel({ input_mtok: 1, output_mtok: 2 });
  const build = (source: Source, overlay: Overlay) => buildCatalog(source, overlay, "2026-11-21");

  it("merges the source's facts with the overlay's, which take precedence", () => {
    const dated = {
      ...priced,
      match: { or: [{ equals: "m-1" }, { equals: "m-1-0229" }, { equals: "m-1-pro" }] },
    };
    const overlay = createOverlay({
      snapshots: ["-####"],
      capabilities: ["tools"],
      models: [{ id: "m-1", aliases: ["em"], context_window: 2000, release_date: "2026-01-01" }],
    });
    expect(build(toSource(dated), overlay).models).toEqual([
      {
        id: "m-1",
        provider: "p",
        display_name: "Model",
        context_window: 2000,
        aliases: ["em", "m-1-0229"],
        capabilities: ["tools"],
        release_date: "2026-01-01",
        prices: [
          {
            above_input_tokens: 0,
            input_micro_usd_per_million_tokens: 1_000_000,
            output_micro_usd_per_million_tokens: 2_000_000,
          },
        ],
      },
    ]);
  });

  it("refuses models of the source that were not reviewed", () => {
    expect(() => build(toSource(priced), createOverlay({}))).toThrow(
      "p: new in the source: list or ignore: m-1",
    );
  });

  it("refuses models that the overlay ignores without effect or lists twice", () => {
    const ignored = [{ reason: "old", ids: ["m-*"] }];
    expect(() => build(toSource(), createOverlay({ ignored }))).toThrow(
      "p: ignored, but not in the source: m-*",
    );
    const both = createOverlay({ ignored, models: [{ id: "m-1" }] });
    expect(() => build(toSource(priced), both)).toThrow("p: listed and ignored: m-1");
  });

  it("refuses prices that the source has, and the lack of any", () => {
    const prices = [{ above_input_tokens: 0, input: 1, output: 2 }];
    const known = createOverlay({ models: [{ id: "m-1", prices }] });
    expect(() => build(toSource(priced), known)).toThrow("m-1: the source has its prices now");
    const unknown = createOverlay({ models: [{ id: "m-2", context_window: 1000 }] });
    expect(() => build(toSource(), unknown)).toThrow("m-2: s has no m-2, the overlay must have prices");
    const blind = createOverlay({ models: [{ id: "m-2", prices }] });
    expect(() => build(toSource(), blind)).toThrow("m-2: the source has no context_window");
  });
});

describe("readPrices()", () => {
  it("keeps current and announced prices", () => {
    const at = (start_date: string, input_mtok: number) => ({
      constraint: { type: "start_date" as const, start_date },
      prices: { input_mtok, output_mtok: 9 },
    });
    const periods = [{ prices: { input_mtok: 1, output_mtok: 9 } }, at("2026-11-21", 2), at("2027-01-01", 3)];
    const { prices, price_changes } = readPrices(getModel(periods), rules);
    expect(prices[0]?.input_micro_usd_per_million_tokens).toBe(2_000_000);
    expect(
      price_changes.map(({ from, prices: [tier] }) => [from, tier?.input_micro_usd_per_million_tokens]),
    ).toEqual([["2027-01-01", 3_000_000]]);
  });

  it("reads tiers, corrects their thresholds and omits those that never apply", () => {
    const tiers = (base: number, ...starts: number[]) => ({
      base,
      tiers: starts.map((start) => ({ start, price: base * 2 })),
    });
    const model = getModel({
      input_mtok: tiers(1, 271_999, 2_000_000),
      output_mtok: tiers(5, 271_999),
      cache_read_mtok: 0.1,
    });
    expect(readPrices(model, rules).prices).toEqual([
      {
        above_input_tokens: 0,
        input_micro_usd_per_million_tokens: 1_000_000,
        output_micro_usd_per_million_tokens: 5_000_000,
        cache_read_micro_usd_per_million_tokens: 100_000,
      },
      {
        above_input_tokens: 272_000,
        input_micro_usd_per_million_tokens: 2_000_000,
        output_micro_usd_per_million_tokens: 10_000_000,
        cache_read_micro_usd_per_million_tokens: 100_000,
      },
    ]);
  });

  it("refuses unsupported prices", () => {
    expect(() => readPrices(getModel({ input_mtok: 1 }), rules)).toThrow(
      "m-1: expected prices for input and output",
    );
    expect(() => readPrices(getModel({ input_mtok: 1e-7, output_mtok: 1 }), rules)).toThrow("six decimals");
    expect(() => readPrices(getModel({ input_mtok: 1, output_mtok: 1, smell_mtok: 1 }), rules)).toThrow(
      "smell_mtok",
    );
    const nightly = { type: "time_of_date" as const, start_time: "00:00", end_time: "06:00" };
    const byNight = getModel([{ constraint: nightly, prices: { input_mtok: 1, output_mtok: 1 } }]);
    expect(() => readPrices(byNight, rules)).toThrow("time of day");
  });
});
