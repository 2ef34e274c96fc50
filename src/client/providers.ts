/** The adapters by wire API. No other module knows every adapter. */

import type { ProviderAdapter } from "../core/adapter.ts";
import {
  DEFAULT_BASE_URL as ANTHROPIC_BASE_URL,
  AnthropicAdapter,
  type AnthropicAdapterOptions,
} from "../providers/anthropic-messages/adapter.ts";
import { CommandAdapter, type CommandAdapterOptions } from "../providers/command/adapter.ts";
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

export { commandFormats, promptWays } from "../providers/command/settings.ts";
/** Names of the profiles of OpenAI-compatible servers. */
export { profileNames } from "../providers/openai-chat/profiles.ts";

/** Options of the adapter of each wire API. */
interface OptionsOfApi {
  "openai-responses": OpenAIAdapterOptions;
  "anthropic-messages": AnthropicAdapterOptions;
  gemini: GeminiAdapterOptions;
  "openai-chat": OpenAIChatAdapterOptions;
  command: CommandAdapterOptions;
}

/** The protocol of an adapter: a wire API, or the output of a local program. */
export type ProviderApi = keyof OptionsOfApi;

/** Name of a wire API with an adapter. */
export type WireApi = Exclude<ProviderApi, "command">;

/** All wire APIs with an adapter. */
export const wireApis = [
  "openai-responses",
  "anthropic-messages",
  "gemini",
  "openai-chat",
] as const satisfies readonly WireApi[];

/** All values that an entry of a configuration may have as its API. */
export const providerApis = [...wireApis, "command"] as const satisfies readonly ProviderApi[];

/** Fields of a configuration entry that not every API has, and the APIs that have them. */
export const apisOfField: Readonly<Record<string, readonly ProviderApi[]>> = {
  api_key: wireApis,
  api_key_file: wireApis,
  base_url: wireApis,
  headers: wireApis,
  organization: ["openai-responses"],
  project: ["openai-responses"],
  store: ["openai-responses"],
  api_version: ["anthropic-messages", "gemini"],
  profile: ["openai-chat"],
  query: ["openai-chat"],
  command: ["command"],
  format: ["command"],
  prompt: ["command"],
  environment: ["command"],
  folder: ["command"],
  efforts: ["command"],
  images: ["command"],
  schema: ["command"],
  max_processes: ["command"],
  local: ["command"],
};

/** Fields that an entry of an API must have. */
export const requiredFields: Readonly<Partial<Record<ProviderApi, Readonly<Record<string, string>>>>> = {
  "openai-chat": { base_url: "the server's base URL" },
  command: { command: "a list of the program and its arguments", format: "the format of its output" },
};

/** Whether an entry of an API needs no key, as for servers and programs that users run themselves. */
export function needsNoKey(api: unknown): boolean {
  return api === "openai-chat" || api === "command";
}

/** A provider entry of a configuration: its API and the options of that API's adapter. */
export type ProviderSettings = {
  [Api in ProviderApi]: { readonly api: Api } & Omit<OptionsOfApi[Api], "name">;
}[ProviderApi];

/** An entry of a wire API, whose adapter takes a key. */
export type WireSettings = Extract<ProviderSettings, { readonly api: WireApi }>;

/** Returns the address of a provider with a wire API: the address of its entry, else the provider's default. */
export function getBaseUrl(settings: WireSettings): string {
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

/** Creates the adapter of a provider. Throws ConfigurationError if its settings are invalid. */
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
    case "command":
      return new CommandAdapter({ ...settings, name });
  }
}
