/** The adapters by wire API: the one place that knows them all. */
import type { HttpTimeouts } from "../kit/http.ts";
import { OpenAIAdapter } from "../providers/openai-responses/adapter.ts";
import type { ProviderAdapter } from "../spec/adapter.ts";

/** Name of a wire API that there is an adapter for. */
export type WireApi = "openai-responses";

type AdapterSettings = Omit<ProviderSettings, "api">;

/** What a provider entry of a configuration comes down to. Absent: the adapter's default. */
export interface ProviderSettings {
  /** Wire API that the provider speaks. */
  readonly api: WireApi;
  readonly apiKey: string;
  readonly baseUrl?: string;
  readonly organization?: string;
  readonly project?: string;
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** Folders whose files a request may name instead of a URL. */
  readonly allowFilesUnder?: readonly string[];
}

const ADAPTERS: Readonly<Record<WireApi, (name: string, settings: AdapterSettings) => ProviderAdapter>> = {
  "openai-responses": (name, settings) => new OpenAIAdapter({ name, ...settings }),
};

/** All wire APIs that there are adapters for. */
export const wireApis = Object.keys(ADAPTERS) as readonly WireApi[];

/** Makes the adapter of a provider. Throws ConfigurationError where its settings cannot work. */
export function createAdapter(name: string, { api, ...settings }: ProviderSettings): ProviderAdapter {
  return ADAPTERS[api](name, settings);
}
