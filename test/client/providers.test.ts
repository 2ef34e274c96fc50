import { AnthropicAdapter, GeminiAdapter, OpenAIAdapter, OpenAIChatAdapter } from "outrigger";
import { describe, expect, it } from "vitest";
import {
  createAdapter,
  fieldApis,
  getBaseUrl,
  needsNoKey,
  providerApis,
  type WireSettings,
  wireApis,
} from "../../src/client/providers.ts";

const apiKey = "test-key";
const BASE_URL = "https://models.example.com/v1";

describe("getBaseUrl()", () => {
  it.each([
    ["openai-responses", "https://api.openai.com/v1"],
    ["anthropic-messages", "https://api.anthropic.com"],
    ["gemini", "https://generativelanguage.googleapis.com"],
  ] as const)("gives the provider's own address for %s unless the entry has one", (api, url) => {
    expect(getBaseUrl({ api, apiKey })).toBe(url);
    expect(getBaseUrl({ api, apiKey, baseUrl: BASE_URL })).toBe(BASE_URL);
  });

  it("gives the address of a server that speaks OpenAI's Chat Completions API", () => {
    const settings: WireSettings = { api: "openai-chat", baseUrl: BASE_URL };
    expect(getBaseUrl(settings)).toBe(BASE_URL);
  });
});

describe("fieldApis", () => {
  it.each(["api_key", "api_key_file", "base_url", "headers"])("has %s for all wire APIs", (field) => {
    expect(fieldApis[field]).toEqual(wireApis);
  });

  it("has the fields of some APIs alone", () => {
    expect(fieldApis.profile).toEqual(["openai-chat"]);
  });
});

describe("createAdapter()", () => {
  it.each([
    ["openai-responses", OpenAIAdapter],
    ["anthropic-messages", AnthropicAdapter],
    ["gemini", GeminiAdapter],
    ["openai-chat", OpenAIChatAdapter],
  ] as const)("creates the adapter of %s by its name", async (api, Adapter) => {
    const adapter = createAdapter("mine", { api, apiKey, baseUrl: BASE_URL });
    expect(adapter).toBeInstanceOf(Adapter);
    expect(adapter.name).toBe("mine");
    await adapter.close?.();
  });
});

it("asks for no key of the user's own servers and programs", () => {
  expect(providerApis.filter(needsNoKey)).toEqual(["openai-chat", "command"]);
  expect(needsNoKey(undefined)).toBe(false);
});
