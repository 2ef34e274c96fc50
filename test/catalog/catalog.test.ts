import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createCatalog, defaultCatalog } from "../../src/catalog/catalog.ts";
import { defaultTraits } from "../../src/catalog/model-traits.ts";
import { Capability } from "../../src/gen/outrigger/v1/catalog_service_pb.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";
import { measureHeap } from "../support/measure-heap.ts";
import { shippedModels } from "../support/shipped-models.ts";

const november2026 = new Date("2026-11-21T12:00:00Z");

describe("getModelInfo()", () => {
  it("knows the well-known models", () => {
    const listed = [
      ["claude-opus-4-6", "anthropic", 1_000_000],
      ["claude-sonnet-4-5", "anthropic", 200_000],
      ["gpt-5.2", "openai", 400_000],
      ["gpt-5.2-codex", "openai", 400_000],
      ["gemini-3-pro-preview", "gemini", 1_048_576],
      ["gemini-3-flash-preview", "gemini", 1_048_576],
    ] as const;
    for (const [id, provider, contextWindow] of listed) {
      expect(defaultCatalog.getModelInfo(id)).toMatchObject({ id, provider, contextWindow });
    }
    expect(defaultCatalog.getModelInfo("gpt-5.2-mini")).toBeUndefined();
  });

  it("returns all known facts of a model", () => {
    const info = createCatalog().getModelInfo("gpt-5.6", undefined, november2026);
    expect(info).toMatchObject({
      id: "gpt-5.6-sol",
      provider: "openai",
      displayName: "GPT-5.6 Sol",
      contextWindow: 1_050_000,
      maxOutputTokens: 128_000,
      aliases: ["gpt-5.6"],
      reasoningEfforts: ["none", "low", "medium", "high", "xhigh", "max"],
      releaseDate: "2026-07-09",
      endOfLifeDate: "",
    });
    expect(info?.capabilities).toEqual([
      Capability.TOOLS,
      Capability.IMAGE_INPUT,
      Capability.REASONING,
      Capability.DOCUMENT_INPUT,
      Capability.STRUCTURED_OUTPUT,
      Capability.SAMPLING,
      Capability.PROMPT_CACHING,
    ]);
    expect(info?.prices).toMatchObject([
      {
        aboveInputTokens: 0,
        inputMicroUsdPerMillionTokens: 4_000_000n,
        outputMicroUsdPerMillionTokens: 20_000_000n,
        cacheReadMicroUsdPerMillionTokens: 400_000n,
        cacheWriteMicroUsdPerMillionTokens: 5_000_000n,
      },
      {
        aboveInputTokens: 272_000,
        inputMicroUsdPerMillionTokens: 8_000_000n,
        outputMicroUsdPerMillionTokens: 30_000_000n,
      },
    ]);
  });

  it("leaves unknown facts unset", () => {
    expect(defaultCatalog.getModelInfo("codestral-2508")).toMatchObject({
      releaseDate: "",
      endOfLifeDate: "",
    });
    expect(defaultCatalog.getModelInfo("codestral-2508")?.maxOutputTokens).toBeUndefined();
    expect(
      defaultCatalog.getModelInfo("gemini-4-carbon")?.prices[0]?.cacheReadMicroUsdPerMillionTokens,
    ).toBeUndefined();
  });

  it("resolves aliases, snapshots and prefixed ids", () => {
    const names = {
      sonnet: "claude-sonnet-5-5",
      "claude-sonnet": "claude-sonnet-5-5",
      "gpt-5.2-2025-12-11": "gpt-5.2",
      "gpt-5.2-2026-01-01": "gpt-5.2",
      "claude-opus-4-20250514": "claude-opus-4-0",
      "claude-haiku-4-5@20251001": "claude-haiku-4-5",
      "models/gemini-2.5-flash-001": "gemini-2.5-flash",
      "magistral-medium-2507": "magistral-medium",
    };
    for (const [name, id] of Object.entries(names))
      expect(defaultCatalog.getModelInfo(name)?.id, name).toBe(id);
  });

  it("treats a snapshot with separate prices as a separate model", () => {
    expect(defaultCatalog.getModelInfo("gpt-4o-2024-08-06")?.id).toBe("gpt-4o");
    expect(defaultCatalog.getModelInfo("gpt-4o-2024-05-13")?.id).toBe("gpt-4o-2024-05-13");
  });

  it("looks only at the provider that is named", () => {
    expect(defaultCatalog.getModelInfo("gpt-5.2", "anthropic")).toBeUndefined();
    expect(defaultCatalog.getModelInfo("gpt-5.2", "nobody")).toBeUndefined();
    expect(defaultCatalog.getModelInfo("")).toBeUndefined();
  });

  it("has the prices of the day", () => {
    const inputOn = (day: string) =>
      createCatalog().getModelInfo("gemini-3.8-flash", "gemini", new Date(day))?.prices[0]
        ?.inputMicroUsdPerMillionTokens;
    expect(inputOn("2026-12-31T23:59:59Z")).toBe(750_000n);
    expect(inputOn("2027-01-01T00:00:00Z")).toBe(1_500_000n);
  });

  it("gives every caller a separate message", () => {
    const info = defaultCatalog.getModelInfo("gpt-5.2");
    info?.aliases.push("mine");
    expect(defaultCatalog.getModelInfo("gpt-5.2")?.aliases).not.toContain("mine");
  });
});

describe("listModels()", () => {
  it("leaves models out that are no longer served, which getModelInfo still finds", () => {
    const all = defaultCatalog.listModels(undefined, [], new Date("2000-01-01"));
    const retired =
      all.find(({ endOfLifeDate }) => endOfLifeDate !== "") ?? expect.fail("no model is retired");
    const idsOn = (day: Date) => defaultCatalog.listModels(retired.provider, [], day).map(({ id }) => id);
    const end = new Date(retired.endOfLifeDate);
    expect(idsOn(new Date(end.getTime() - 1))).toContain(retired.id);
    expect(idsOn(end)).not.toContain(retired.id);
    expect(defaultCatalog.getModelInfo(retired.id)?.endOfLifeDate).toBe(retired.endOfLifeDate);
  });

  it("takes capabilities as words, and says which there are", () => {
    const byWord = defaultCatalog.listModels("gemini", ["tools", "image_input"]);
    expect(byWord).toEqual(defaultCatalog.listModels("gemini", [Capability.TOOLS, Capability.IMAGE_INPUT]));
    expect(byWord.length).toBeGreaterThan(0);
    expect(defaultCatalog.getLatestModel("gemini", ["reasoning"])?.provider).toBe("gemini");
    expect(() => defaultCatalog.listModels("gemini", ["vision" as never])).toThrow(
      "expected a capability, one of tools, image_input, reasoning, audio_input, document_input, " +
        'structured_output, sampling, prompt_caching, embeddings; found "vision"',
    );
  });

  it("has embedding models, which are the latest model only if embeddings are requested", () => {
    const [latest] = defaultCatalog.listModels("openai", ["embeddings"]);
    expect(latest).toMatchObject({ capabilities: [Capability.EMBEDDINGS], embeddingDimensions: 3072 });
    expect(defaultCatalog.getLatestModel("openai", ["embeddings"])).toEqual(latest);
    expect(defaultCatalog.getLatestModel("gemini", ["embeddings"])?.id).toMatch(/^gemini-embedding-/);
    const embeddings = { id: "vectors", provider: "own", capabilities: ["embeddings"] } as const;
    const onlyVectors = createCatalog({ models: [embeddings] });
    expect(onlyVectors.getLatestModel("own")).toBeUndefined();
    expect(onlyVectors.getLatestModel("own", ["embeddings"])?.id).toBe("vectors");
  });

  it("computes the cost of the input of embedding models", () => {
    const usage = create(UsageSchema, { inputTokens: 1_000_000 });
    expect(defaultCatalog.costOf(usage, "text-embedding-3-small", "openai")).toBe(20_000_000n);
    expect(defaultCatalog.costOf(usage, "gemini-embedding-001", "gemini")).toBe(150_000_000n);
  });

  it("lists by provider, newest first, undated last", () => {
    const models = defaultCatalog.listModels();
    expect([...new Set(models.map(({ provider }) => provider))]).toEqual([
      "anthropic",
      "gemini",
      "mistral",
      "openai",
    ]);
    for (const provider of ["anthropic", "gemini", "mistral", "openai"]) {
      const dates = defaultCatalog.listModels(provider).map(({ releaseDate }) => releaseDate);
      expect(dates).toEqual(dates.toSorted().reverse());
    }
  });

  it("filters by all capabilities at once", () => {
    const wanted = [Capability.REASONING, Capability.SAMPLING];
    const ids = defaultCatalog.listModels("openai", wanted).map(({ id }) => id);
    expect(ids).toContain("gpt-5.2");
    expect(ids).not.toContain("gpt-6-astra");
    expect(ids).not.toContain("gpt-4o");
    expect(defaultCatalog.listModels("nobody")).toEqual([]);
  });
});

describe("getLatestModel()", () => {
  const latest = (provider: string, capabilities: Capability[] = [], day = "2026-11-21") =>
    defaultCatalog.getLatestModel(provider, capabilities, new Date(day))?.id;

  it("prefers the newest model", () => {
    expect(latest("openai")).toBe("gpt-6.1-terra");
    expect(latest("anthropic")).toBe("claude-fable-5-2");
    expect(latest("gemini")).toBe("gemini-4-hydrogen");
  });

  it("prefers the most expensive of several models of one day", () => {
    expect(latest("openai", [], "2026-07-09")).toBe("gpt-5.6-sol");
  });

  it("has the requested capabilities", () => {
    expect(latest("anthropic", [Capability.SAMPLING])).toBe("claude-sonnet-4-6");
    expect(latest("openai", [Capability.AUDIO_INPUT])).toBeUndefined();
    expect(latest("nobody")).toBeUndefined();
  });

  it("skips models that are not served on the day", () => {
    expect(latest("anthropic", [], "2026-11-08")).toBe("claude-haiku-5-5");
    const lookedUp = createCatalog({
      models: [
        { id: "short-lived", provider: "brief", releaseDate: "2026-06-01", endOfLifeDate: "2026-07-01" },
        { id: "long-lived", provider: "brief", releaseDate: "2026-01-01" },
      ],
    });
    const on = (day: string) => lookedUp.getLatestModel("brief", [], new Date(day))?.id;
    expect([on("2026-05-31"), on("2026-06-30"), on("2026-07-01")]).toEqual([
      "long-lived",
      "short-lived",
      "long-lived",
    ]);
  });

  it("returns a preview model only if no stable model exists", () => {
    expect(latest("gemini", [], "2026-03-01")).toBe("gemini-2.5-flash-lite");
    const onlyPreviews = createCatalog({
      models: [
        { id: "first", provider: "shy", releaseDate: "2026-01-01", preview: true },
        { id: "second", provider: "shy", releaseDate: "2026-02-01", preview: true },
      ],
    });
    expect(onlyPreviews.getLatestModel("shy", [], november2026)?.id).toBe("second");
  });
});

describe("traitsOf()", () => {
  it("takes the traits of the family, and overrides them by the traits of the model", () => {
    expect(defaultCatalog.traitsOf("openai", "gpt-6-sol")).toMatchObject({
      reasoningControl: "effort",
      defaultEffort: undefined,
    });
    expect(defaultCatalog.traitsOf("openai", "gpt-6.1-terra")).toMatchObject({
      reasoningControl: "effort",
      defaultEffort: "medium",
    });
  });

  it("is the same for an alias, a snapshot and the model itself", () => {
    const traits = defaultCatalog.traitsOf("anthropic", "claude-opus-4-0");
    expect(defaultCatalog.traitsOf("anthropic", "claude-opus-4-20250514")).toEqual(traits);
    expect(defaultCatalog.traitsOf("anthropic", "sonnet")).toEqual(
      defaultCatalog.traitsOf("anthropic", "claude-sonnet-5-5"),
    );
  });

  it("knows the family of ids that the catalog does not know", () => {
    expect(defaultCatalog.traitsOf("openai", "o9-mini-2027-01-01").sampling).toBe("never");
    expect(defaultCatalog.traitsOf("openai", "gpt-7-nova")).toMatchObject({
      reasoningControl: "effort",
      reasoningEfforts: undefined,
    });
    expect(defaultCatalog.traitsOf("anthropic", "claude-next-9")).toMatchObject({
      reasoningControl: "adaptive",
      sampling: "never",
      prefill: false,
    });
    expect(defaultCatalog.traitsOf("gemini", "models/gemini-9-pro")).toMatchObject({
      reasoningControl: "level",
    });
  });

  it("assumes nothing about ids of no known form", () => {
    expect(defaultCatalog.traitsOf("openai", "my-deployment")).toEqual(defaultTraits);
    expect(defaultCatalog.traitsOf("compatible", "gpt-5.2")).toEqual(defaultTraits);
    expect(defaultCatalog.traitsOf("openai", `gpt-5.2${"x".repeat(1_000_000)}`)).toEqual(defaultTraits);
  });

  it("returns the same traits after more ids than it caches", () => {
    const catalog = createCatalog();
    const before = catalog.traitsOf("openai", "gpt-5.2");
    for (let n = 0; n < 3000; n += 1) catalog.traitsOf("openai", `made-up-${n}`);
    expect(catalog.traitsOf("openai", "gpt-5.2")).toEqual(before);
  });
});

describe("sameModel()", () => {
  it("treats an id, its aliases and its snapshots as one model", () => {
    const pairs = [
      ["openai", "gpt-5.6", "gpt-5.6-sol"],
      ["openai", "gpt-5.2", "gpt-5.2-2025-12-11"],
      ["openai", "gpt-7-nova", "gpt-7-nova-2027-02-03"],
      ["anthropic", "claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"],
      ["anthropic", "claude-opus-9", "claude-opus-9-20280101"],
      ["gemini", "models/gemini-2.5-flash", "gemini-2.5-flash-001"],
      ["compatible", "anything", "anything"],
    ] as const;
    for (const [provider, left, right] of pairs) {
      expect(defaultCatalog.sameModel(left, right, provider), `${left} and ${right}`).toBe(true);
      expect(defaultCatalog.sameModel(right, left, provider), `${right} and ${left}`).toBe(true);
    }
  });

  it("distinguishes models, and snapshots of one model", () => {
    const pairs = [
      ["openai", "gpt-5.2", "gpt-5.2-codex"],
      ["openai", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20"],
      ["openai", "gpt-4o", "gpt-4o-2024-05-13"],
      ["mistral", "mistral-large-2512", "mistral-large-2411"],
      ["compatible", "qwen-2025-01-01", "qwen"],
      ["anthropic", "", "claude-opus-5"],
    ] as const;
    for (const [provider, left, right] of pairs) {
      expect(defaultCatalog.sameModel(left, right, provider), `${left} and ${right}`).toBe(false);
    }
  });
});

describe("createCatalog()", () => {
  const usage = create(UsageSchema, { inputTokens: 1_000_000, outputTokens: 0 });

  it("adds models, of known and of new providers", () => {
    const catalog = createCatalog({
      models: [
        { id: "ft:gpt-4o:acme", provider: "openai", aliases: ["house-style"] },
        {
          id: "llama-9",
          provider: "rack",
          capabilities: ["tools"],
          prices: { input: 0.1, output: 0.2 },
          traits: { reasoningControl: "none", forcedToolChoice: "never" },
        },
      ],
    });
    expect(catalog.getModelInfo("house-style")).toMatchObject({
      id: "ft:gpt-4o:acme",
      displayName: "ft:gpt-4o:acme",
    });
    expect(catalog.traitsOf("openai", "house-style").reasoningControl).toBe("none");
    expect(catalog.traitsOf("rack", "llama-9")).toMatchObject({ forcedToolChoice: "never", prefill: true });
    expect(catalog.costOf(usage, "llama-9", "rack")).toBe(100_000_000n);
    expect(defaultCatalog.getModelInfo("house-style")).toBeUndefined();
  });

  it("merges an entry into the one with the same id", () => {
    const catalog = createCatalog({
      models: [
        {
          id: "gemini-3.8-flash",
          provider: "gemini",
          aliases: ["workhorse"],
          prices: { input: 0.5, output: 1 },
        },
      ],
    });
    expect(catalog.getModelInfo("workhorse")).toMatchObject({
      id: "gemini-3.8-flash",
      contextWindow: 1_048_576,
    });
    expect(catalog.listModels("gemini").filter(({ id }) => id === "gemini-3.8-flash")).toHaveLength(1);
    const at = new Date("2027-06-01");
    expect(
      catalog.costOf(usage, "gemini-3.8-flash", "gemini", { at }),
      "our price, not the announced one",
    ).toBe(500_000_000n);
  });
});

describe("the aliases of families", () => {
  it.each(["opus", "sonnet", "haiku", "fable"])("resolve %s to the newest model of its family", (family) => {
    const newest = defaultCatalog
      .listModels("anthropic")
      .filter(({ id }) => id.startsWith(`claude-${family}-`))
      .at(0);
    expect(defaultCatalog.getModelInfo(family)?.id).toBe(newest?.id);
    expect(defaultCatalog.getModelInfo(`claude-${family}`)?.id).toBe(newest?.id);
  });
});

describe("ids that callers invent", () => {
  // Without limits, the many ids take 8 MB, and the long ones 10 MB although few are kept.
  const MAX_KEPT_BYTES = 3_000_000;
  const lookUp = {
    "the catalog": (id: string) => defaultCatalog.traitsOf("openai", id),
    "a provider's view": (
      (models) => (id: string) =>
        models.traitsOf(id)
    )(shippedModels("openai")),
  };

  it.each(Object.entries(lookUp))("do not fill the memory of %s", (_name, find) => {
    find("gpt-5.2");
    const before = measureHeap();
    for (let index = 0; index < 20_000; index += 1) find(`invented-${index}-${"x".repeat(170)}`);
    for (let index = 0; index < 3_500; index += 1) find(Buffer.alloc(20_000, `${index} `).toString());
    expect(measureHeap() - before).toBeLessThan(MAX_KEPT_BYTES);
  });
});
