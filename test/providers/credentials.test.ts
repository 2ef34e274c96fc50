/** A variable that is not set must fail when an adapter is made, with every adapter. */
import {
  AnthropicAdapter,
  ConfigurationError,
  GeminiAdapter,
  OpenAIAdapter,
  OpenAIChatAdapter,
  type ProviderAdapter,
} from "outrigger";
import { describe, expect, it } from "vitest";

/** The value that a program passes if a variable is not set. Programs assert with `!` that it is a string. */
const unset = process.env.OUTRIGGER_TEST_VARIABLE_THAT_IS_NOT_SET as string;

const baseUrl = "http://localhost:1/v1";

const adapters: readonly [string, (apiKey: string) => ProviderAdapter][] = [
  ["OpenAIAdapter", (apiKey) => new OpenAIAdapter({ apiKey })],
  ["AnthropicAdapter", (apiKey) => new AnthropicAdapter({ apiKey })],
  ["AnthropicAdapter with a base URL", (apiKey) => new AnthropicAdapter({ apiKey, baseUrl })],
  ["GeminiAdapter", (apiKey) => new GeminiAdapter({ apiKey })],
  ["OpenAIChatAdapter", (apiKey) => new OpenAIChatAdapter({ apiKey, baseUrl })],
];

describe.each(adapters)("%s", (_name, create) => {
  it.each([
    ["undefined", unset],
    ["an empty text", ""],
    ["white space", " \n"],
  ])("rejects %s as its key and names the provider", (_what, apiKey) => {
    expect(() => create(apiKey)).toThrow(ConfigurationError);
    expect(() => create(apiKey)).toThrow(/^provider "\w+": expected an API key/);
  });

  it("accepts a key", async () => {
    await create("k").close?.();
  });
});

describe("adapters that can do without a key", () => {
  it("accept an option that is left out", async () => {
    for (const adapter of [new OpenAIChatAdapter({ baseUrl }), new AnthropicAdapter({ baseUrl })])
      await adapter.close();
  });

  it("accept the other credential in place of an unset one", async () => {
    await new AnthropicAdapter({ apiKey: unset, authToken: "t" }).close();
  });
});
