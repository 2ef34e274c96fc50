import { describe, expect, it } from "vitest";
import catalogFile from "../../src/catalog/catalog.json" with { type: "json" };
import { defaultCatalog } from "../../src/catalog/catalog.ts";
import type { CatalogData, CatalogEntry, PriceTier } from "../../src/catalog/catalog-data.ts";
import { fitsPattern } from "../../src/catalog/model-names.ts";
import { defaultTraits } from "../../src/catalog/model-traits.ts";

const catalog = catalogFile as CatalogData;
const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const capabilities = ["tools", "image_input", "audio_input", "document_input", "embeddings"];
const embeds = (model: CatalogEntry) => model.capabilities?.includes("embeddings") === true;
const answering = catalog.models.filter((model) => !embeds(model));

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(text).toISOString().startsWith(text);
}

describe("catalog.json", () => {
  it("names its source and its licence", () => {
    expect(catalog.source).toBe("@pydantic/genai-prices");
    expect(catalog.source_version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(isDay(catalog.retrieved_at)).toBe(true);
    expect(isDay(catalog.reviewed_at)).toBe(true);
    expect(catalog.licence).toMatch(/^The MIT License[\s\S]*Copyright[\s\S]*WITHOUT WARRANTY/);
  });

  it("gives each name to one model only", () => {
    for (const { provider } of catalog.providers) {
      const models = catalog.models.filter((model) => model.provider === provider);
      const names = models.flatMap(({ id, aliases }) => [id, ...(aliases ?? [])]);
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
      expect(models.length).toBeGreaterThan(0);
    }
  });

  it.each(catalog.models.map((model) => [model.id, model] as const))(
    "has plausible facts about %s",
    (_, model) => {
      expect(catalog.providers.map(({ provider }) => provider)).toContain(model.provider);
      expect(model.display_name?.trim()).toBeTruthy();
      expect(model.context_window).toBeGreaterThan(embeds(model) ? 2000 : 4000);
      expect(model.embedding_dimensions !== undefined).toBe(embeds(model));
      expect(model.max_output_tokens ?? 1).toBeGreaterThan(0);
      expect(model.max_output_tokens ?? 0).toBeLessThanOrEqual(model.context_window ?? 0);
      expect(capabilities).toEqual(expect.arrayContaining([...(model.capabilities ?? [])]));
      expectSoundDates(model);
      expectSoundPrices(model.prices ?? [], model);
      for (const change of model.price_changes ?? []) {
        expect(isDay(change.from) && change.from > catalog.retrieved_at).toBe(true);
        expectSoundPrices(change.prices, model);
      }
    },
  );

  it.each(answering.map((model) => [model.id, model] as const))("has consistent traits of %s", (_, model) => {
    const traits = defaultCatalog.traitsOf(model.provider, model.id);
    expect(traits.reasoningControl).not.toBe("unknown");
    const known = traits.reasoningEfforts ?? [];
    expect(known).toEqual(efforts.filter((effort) => known.includes(effort)));
    if (traits.defaultEffort !== undefined) expect(known).toContain(traits.defaultEffort);
    expect(known.includes("none"), "none is an effort where reasoning can be turned off").toBe(
      known.length > 0 && traits.reasoningOff === "disabled",
    );
    expect(traits.minThinkingBudget ?? 0).toBeLessThanOrEqual(traits.maxThinkingBudget ?? 1e9);
  });

  it("names only traits that exist", () => {
    const entries = [...catalog.families, ...catalog.models].flatMap(({ traits }) =>
      Object.keys(traits ?? {}),
    );
    const known = Object.keys(defaultTraits).map((name) =>
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
    expect([...new Set(entries)].filter((name) => !known.includes(name))).toEqual([]);
  });

  it("has no pattern of a family that an earlier one makes unreachable", () => {
    for (const { provider } of catalog.providers) {
      const patterns = catalog.families
        .filter((family) => family.provider === provider)
        .flatMap((family) => family.patterns);
      const hidden = patterns.filter((pattern, index) => {
        const example = pattern.replaceAll("*", "zz").replaceAll("#", "7");
        return patterns.slice(0, index).some((earlier) => fitsPattern(earlier, example));
      });
      expect(hidden, provider).toEqual([]);
    }
  });
});

function expectSoundDates({ release_date: release, end_of_life_date: end }: CatalogEntry): void {
  if (release !== undefined) expect(isDay(release) && release <= catalog.reviewed_at).toBe(true);
  if (end !== undefined) expect(isDay(end) && end > (release ?? "")).toBe(true);
}

function expectSoundPrices(tiers: readonly PriceTier[], model: CatalogEntry): void {
  const thresholds = tiers.map(({ above_input_tokens: above }) => above);
  expect(thresholds[0]).toBe(0);
  expect(thresholds).toEqual([...new Set(thresholds)].sort((left, right) => left - right));
  for (const tier of tiers) {
    for (const value of Object.values(tier)) expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
    expect(tier.above_input_tokens).toBeLessThan(model.context_window ?? 0);
    const leastForOutput = embeds(model) ? 0 : tier.input_micro_usd_per_million_tokens;
    expect(tier.output_micro_usd_per_million_tokens).toBeGreaterThanOrEqual(leastForOutput);
    expect(tier.cache_read_micro_usd_per_million_tokens ?? 0).toBeLessThan(
      tier.input_micro_usd_per_million_tokens,
    );
    expect(
      tier.cache_write_micro_usd_per_million_tokens ?? tier.input_micro_usd_per_million_tokens,
    ).toBeGreaterThanOrEqual(tier.input_micro_usd_per_million_tokens);
  }
}
