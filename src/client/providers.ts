/** The adapters by wire API: the only module that knows all of them. */

import type { ProviderAdapter } from "../core/adapter.ts";
import {
  DEFAULT_BASE_URL as ANTHROPIC_BASE_URL,
  AnthropicAdapter,
  type AnthropicAdapterOptions,
} from "../providers/anthropic-messages/adapter.ts";
import {
  DEFAULT_BASE_URL as GEMINI_BASE_URL,
  GeminiAdapter,
  type GeminiAdapterOptions,
} from "../providers/gemini/adapter.ts";
import { OpenAIChatAdapter, type OpenAIChatAdapterOptions } from "../providers/openai-chat/adapter.ts";
import {
  DEFAULT_BASE_URL as OPENAI_BASE_URL,
  OpenAIAdapter,
  type OpenAIAdapterOptions,
} from "../providers/openai-responses/adapter.ts";

/** Names of the profiles of OpenAI-compatible servers. */
export { profileNames } from "../providers/openai-chat/profiles.ts";

/** Options of the adapter of each wire API. */
interface OptionsOfApi {
  "openai-responses": OpenAIAdapterOptions;
  "anthropic-messages": AnthropicAdapterOptions;
  gemini: GeminiAdapterOptions;
  "openai-chat": OpenAIChatAdapterOptions;
}

/** Name of a wire API with an adapter. */
export type WireApi = keyof OptionsOfApi;

/** All wire APIs with an adapter. */
export const wireApis = [
  "openai-responses",
  "anthropic-messages",
  "gemini",
  "openai-chat",
] as const satisfies readonly WireApi[];

/** Fields of a configuration entry that not every wire API has, and the wire APIs that have them. */
export const apisOfField: Readonly<Record<string, readonly WireApi[]>> = {
  organization: ["openai-responses"],
  project: ["openai-responses"],
  store: ["openai-responses"],
  api_version: ["anthropic-messages", "gemini"],
  profile: ["openai-chat"],
  query: ["openai-chat"],
};

/** Whether a wire API is that of the user's own servers: an entry names the address, and needs no key. */
export function isSelfHosted(api: unknown): boolean {
  return api === "openai-chat";
}

/** A provider entry of a configuration: its wire API and the options of that API's adapter. */
export type ProviderSettings = {
  [Api in WireApi]: { readonly api: Api } & Omit<OptionsOfApi[Api], "name">;
}[WireApi];

/** Where a provider is: the address of its entry, else that of the provider itself. */
export function baseUrlOf(settings: ProviderSettings): string {
  switch (settings.api) {
    case "openai-responses":
      return settings.baseUrl ?? OPENAI_BASE_URL;
    case "anthropic-messages":
      return settings.baseUrl ?? ANTHROPIC_BASE_URL;
    case "gemini":
      return settings.baseUrl ?? GEMINI_BASE_URL;
    case "openai-chat":
      return settings.baseUrl;
  }
}

/** Creates the adapter of a provider. Throws ConfigurationError where its settings are invalid. */
export function createAdapter(name: string, settings: ProviderSettings): ProviderAdapter {
  switch (settings.api) {
    case "openai-responses":
      return new OpenAIAdapter({ ...settings, name });
    case "anthropic-messages":
      return new AnthropicAdapter({ ...settings, name });
    case "gemini":
      return new GeminiAdapter({ ...settings, name });
    case "openai-chat":
      return new OpenAIChatAdapter({ ...settings, name });
  }
}
