import { describe, expect, it } from "vitest";
import { describeBaseUrlMistake, describeDoubtfulBaseUrl } from "../../src/client/check-base-url.ts";

describe("describeBaseUrlMistake()", () => {
  it.each([
    ["openai-chat", "http://host:8000/v1/chat/completions", "/chat/completions", "http://host:8000/v1"],
    ["openai-responses", "https://host/v1/responses//", "/responses", "https://host/v1"],
    ["anthropic-messages", "https://host/v1/messages", "/v1/messages", "https://host"],
    ["anthropic-messages", "https://host/api/messages", "/messages", "https://host/api"],
    ["gemini", "https://host/v1beta/models", "/v1beta/models", "https://host"],
    ["gemini", "https://host/v1beta/", "/v1beta", "https://host"],
  ] as const)("names the extra path for %s in %s, and the URL without it", (api, url, added, base) => {
    expect(describeBaseUrlMistake(api, url)).toBe(
      `expected a base URL, to which "${added}" is added; write "${base}"`,
    );
  });

  it.each(["openai-chat", "openai-responses"] as const)(
    "asks for the version of OpenAI's API for %s",
    (api) => {
      const problem = 'expected a base URL with its version; write "https://api.openai.com/v1"';
      expect(describeBaseUrlMistake(api, "https://api.openai.com")).toBe(problem);
      expect(describeBaseUrlMistake(api, "https://api.openai.com//")).toBe(problem);
    },
  );

  it.each([
    ["openai-chat", "https://api.openai.com/v1"],
    ["openai-chat", "https://api.openai.com/other"],
    ["openai-chat", "https://example.com"],
    ["anthropic-messages", "https://api.anthropic.com"],
    ["anthropic-messages", "https://api.anthropic.com/v1"],
    ["gemini", "https://generativelanguage.googleapis.com"],
  ] as const)("accepts for %s the URL %s", (api, url) => {
    expect(describeBaseUrlMistake(api, url)).toBeUndefined();
  });
});

describe("describeDoubtfulBaseUrl()", () => {
  it("advises a version if the URL has no path and the API has versions", () => {
    expect(describeDoubtfulBaseUrl("openai-chat", "http://host:8000/")).toBe(
      "the base URL has no path, but most servers expect a version; if calls fail with 404, " +
        'write "http://host:8000/v1"',
    );
  });

  it.each([
    ["openai-chat", "http://host:8000/v1"],
    ["anthropic-messages", "http://host:8000"],
    ["gemini", "http://host:8000"],
  ] as const)("has no advice for %s at %s", (api, url) => {
    expect(describeDoubtfulBaseUrl(api, url)).toBeUndefined();
  });
});
