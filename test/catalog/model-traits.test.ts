import { describe, expect, it } from "vitest";
import { defaultCatalog } from "../../src/catalog/catalog.ts";
import { acceptsSampling, isReasoningModel, mergeTraits } from "../../src/catalog/model-traits.ts";

describe("mergeTraits()", () => {
  it("lets later entries override earlier ones and the defaults", () => {
    const traits = mergeTraits({ sampling: "never", prefill: false }, undefined, { sampling: "always" });
    expect(traits).toMatchObject({ sampling: "always", prefill: false, jsonSchema: true });
  });

  it("reads names in snake case", () => {
    const traits = mergeTraits({ reasoning_efforts: ["low"], json_schema_with_tools: false });
    expect(traits).toMatchObject({ reasoningEfforts: ["low"], jsonSchemaWithTools: false });
  });
});

describe("acceptsSampling()", () => {
  const cases = [
    ["openai", "gpt-4o", "", true],
    ["openai", "gpt-5", "none", false],
    ["openai", "gpt-5.2", "", true],
    ["openai", "gpt-5.2", "none", true],
    ["openai", "gpt-5.2", "low", false],
    ["openai", "gpt-5.6-sol", "", false],
    ["openai", "gpt-5.6-sol", "none", true],
    ["openai", "gpt-6-astra", "none", false],
    ["openai", "gpt-6.1-sol", "", false],
    ["openai", "gpt-6.1-terra", "none", true],
    ["openai", "o3", "", false],
    ["anthropic", "claude-sonnet-4-5", "", true],
    ["anthropic", "claude-sonnet-4-6", "high", false],
    ["anthropic", "claude-opus-4-7", "none", false],
    ["gemini", "gemini-2.5-pro", "high", true],
    ["gemini", "gemini-3.6-flash", "", false],
    ["compatible", "anything", "high", true],
  ] as const;
  it.each(cases)("%s %s with effort '%s': %s", (provider, model, effort, want) => {
    expect(acceptsSampling(defaultCatalog.traitsOf(provider, model), effort)).toBe(want);
  });
});

describe("the traits of the models", () => {
  it("have OpenAI's efforts", () => {
    const efforts = (model: string) => defaultCatalog.traitsOf("openai", model).reasoningEfforts?.join(" ");
    expect(efforts("gpt-5-mini")).toBe("minimal low medium high");
    expect(efforts("gpt-5.1")).toBe("none low medium high");
    expect(efforts("gpt-5.5-2026-04-23")).toBe("none low medium high xhigh");
    expect(efforts("gpt-5.6-luna")).toBe("none low medium high xhigh max");
    expect(efforts("gpt-6-astra")).toBe("low medium high xhigh max");
    expect(efforts("gpt-5.1-codex-mini")).toBe("low medium high");
    expect(efforts("gpt-5.4-pro")).toBe("medium high xhigh");
    expect(efforts("gpt-4.1")).toBe("");
  });

  it("have Anthropic's ways of thinking", () => {
    const table = {
      "claude-haiku-4-5": ["budget", "disabled", false],
      "claude-opus-4-5": ["budget", "disabled", true],
      "claude-opus-4-6": ["adaptive", "disabled", true],
      "claude-opus-5": ["adaptive", "disabled", true],
      "claude-opus-5-5": ["adaptive", "lowest", true],
      "claude-sonnet-5-5": ["adaptive", "between_tools", true],
      "claude-fable-5": ["adaptive", "lowest", true],
    };
    for (const [model, [reasoningControl, reasoningOff, outputEffort]] of Object.entries(table)) {
      expect(defaultCatalog.traitsOf("anthropic", model), model).toMatchObject({
        reasoningControl,
        reasoningOff,
        outputEffort,
      });
    }
  });

  it("refuse a forced tool choice exactly for the models for which Anthropic does", () => {
    const rule = (model: string) => defaultCatalog.traitsOf("anthropic", model).forcedToolChoice;
    for (const model of ["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1", "claude-fable-5-2"]) {
      expect(rule(model), model).toBe("never");
    }
    expect(rule("claude-sonnet-4-5")).toBe("without_thinking_budget");
    expect(rule("claude-opus-5")).toBe("always");
    expect(rule("claude-haiku-5-5")).toBe("always");
  });

  it("have Anthropic's smallest cacheable prefixes, and none if they are unknown", () => {
    const minimum = (model: string) => defaultCatalog.traitsOf("anthropic", model).cacheMinimumTokens;
    expect(minimum("claude-opus-5")).toBe(512);
    expect(minimum("claude-opus-4-8")).toBe(1024);
    expect(minimum("claude-opus-4-7")).toBe(2048);
    expect(minimum("claude-haiku-4-5")).toBe(4096);
    expect(minimum("claude-sonnet-5-5")).toBeUndefined();
  });

  it("have Gemini's generations", () => {
    expect(defaultCatalog.traitsOf("gemini", "gemini-2.5-pro")).toMatchObject({
      reasoningControl: "budget",
      reasoningOff: "lowest",
      minThinkingBudget: 128,
      maxThinkingBudget: 32768,
      toolResultMedia: false,
      thoughtSignatures: false,
    });
    expect(defaultCatalog.traitsOf("gemini", "gemini-4-hydrogen")).toMatchObject({
      reasoningControl: "level",
      reasoningEfforts: ["low", "medium", "high", "xhigh"],
      toolResultMedia: true,
      thoughtSignatures: true,
    });
    expect(isReasoningModel(defaultCatalog.traitsOf("gemini", "gemini-2.0-flash"))).toBe(false);
  });
});
