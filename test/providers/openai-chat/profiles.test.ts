import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import {
  getProfile,
  guessProfile,
  PLAIN,
  profileNames,
} from "../../../src/providers/openai-chat/profiles.ts";

describe("the profile of a server", () => {
  it.each([
    ["https://api.openai.com/v1", "openai"],
    ["https://eu.api.openai.com/v1", "openai"],
    ["https://mine.openai.azure.com/openai/v1", "azure"],
    ["https://api.mistral.ai/v1", "mistral"],
    ["https://api.deepseek.com", "deepseek"],
    ["https://api.groq.com/openai/v1", "groq"],
    ["https://api.x.ai/v1", "xai"],
    ["https://openrouter.ai/api/v1", "openrouter"],
    ["https://api.together.xyz/v1", "together"],
    ["https://api.cerebras.ai/v1", "cerebras"],
    ["https://api.perplexity.ai", "perplexity"],
    ["https://acme.snowflakecomputing.com/api/v2/cortex/v1", "snowflake"],
    ["https://api.z.ai/api/paas/v4", "zai"],
    ["https://api.moonshot.ai/v1", "moonshot"],
    ["https://api.minimax.io/v1", "minimax"],
    ["https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "alibaba"],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "gemini"],
    ["http://localhost:11434/v1", "ollama"],
    ["http://localhost:8000/v1", "plain"],
    ["https://my-vllm.example/v1", "plain"],
    ["https://api.openai.com.evil.example/v1", "plain"],
    ["no address", "plain"],
  ])("is guessed from the host of %s", (baseUrl, expected) => {
    expect(guessProfile(baseUrl)).toBe(expected);
  });

  it("is the named one, with all defaults", () => {
    expect(profileNames).toEqual(
      expect.arrayContaining([
        "openai",
        "mistral",
        "deepseek",
        "groq",
        "xai",
        "openrouter",
        "vllm",
        "ollama",
        "llama-cpp",
        "together",
        "azure",
      ]),
    );
    for (const name of profileNames) {
      const profile = getProfile(name, "http://localhost:8000/v1");
      expect(Object.keys(profile).sort()).toEqual(Object.keys(PLAIN).sort());
    }
    expect(getProfile("groq", "https://api.openai.com/v1").reasoningField).toBe("reasoning");
  });

  it("is that for the host with the given changes", () => {
    const profile = getProfile({ replayReasoning: false }, "https://api.deepseek.com");
    expect(profile).toEqual({ ...getProfile("deepseek", ""), replayReasoning: false });
    expect(getProfile(undefined, "http://localhost:8000")).toEqual(PLAIN);
  });

  it("throws ConfigurationError for an unknown name", () => {
    expect(() => getProfile("gpt", "")).toThrow(ConfigurationError);
    expect(() => getProfile("toString", "")).toThrow(/expected one of plain, openai, azure/);
  });
});
