/** The APIs of providers: the only module that knows each API. Everything else is in their definitions. */

import type { ProviderAdapter } from "../core/adapter.ts";
import type { WireApiDefinition } from "../kit/adapter/definition.ts";
import { anthropicMessages } from "../providers/anthropic-messages/definition.ts";
import { command } from "../providers/command/definition.ts";
import { gemini } from "../providers/gemini/definition.ts";
import { openaiChat } from "../providers/openai-chat/definition.ts";
import { openaiResponses } from "../providers/openai-responses/definition.ts";

export { commandFormats, promptWays } from "../providers/command/settings.ts";
/** Names of the profiles of OpenAI-compatible servers. */
export { profileNames } from "../providers/openai-chat/profiles.ts";

/** The wire APIs. The environment registers providers in this order; the first becomes the default. */
const WIRE_DEFINITIONS = [openaiResponses, anthropicMessages, gemini, openaiChat] as const;

const DEFINITIONS = [...WIRE_DEFINITIONS, command] as const;

type Definition = (typeof DEFINITIONS)[number];

/** Options of the adapter of each API. */
type AdapterOptions = { [Each in Definition as Each["api"]]: Parameters<Each["createAdapter"]>[0] };

/** The protocol of an adapter: a wire API, or the output of a local program. */
export type ProviderApi = Definition["api"];

/** Name of a wire API with an adapter. */
export type WireApi = (typeof WIRE_DEFINITIONS)[number]["api"];

/** All wire APIs with an adapter. */
export const wireApis: readonly WireApi[] = WIRE_DEFINITIONS.map(({ api }) => api);

/** The APIs that an entry of a configuration may name. */
export const providerApis: readonly ProviderApi[] = DEFINITIONS.map(({ api }) => api);

/** Definitions of the wire APIs, without the functions that create adapters: their options differ. */
export const wireDefinitions: readonly Omit<WireApiDefinition<WireApi, object>, "createAdapter">[] =
  WIRE_DEFINITIONS;

/** Fields of an entry that every wire API has. */
const WIRE_FIELDS = ["api_key", "api_key_file", "base_url", "headers", "tls"];

/** Fields of a configuration entry that not every API has, and the APIs that have them. */
export const fieldApis: Readonly<Record<string, readonly ProviderApi[]>> = Object.fromEntries([
  ...WIRE_FIELDS.map((field) => [field, wireApis]),
  ...DEFINITIONS.flatMap(({ fields }) => fields).map((field) => [
    field,
    DEFINITIONS.filter(({ fields }) => fields.includes(field)).map(({ api }) => api),
  ]),
]);

/** Fields that an entry of an API must have, with what they hold. */
export function getRequiredFields(api: ProviderApi): Readonly<Record<string, string>> {
  return findDefinition(api)?.requiredFields ?? {};
}

/** Reports whether an entry of an API needs no key: the user's servers and programs. */
export function needsNoKey(api: unknown): boolean {
  return findDefinition(api)?.needsNoKey ?? false;
}

/** Name of an API's provider in the shipped catalog. Undefined if the catalog has none of its models. */
export function getCatalogProvider(api: ProviderApi): string | undefined {
  return findDefinition(api)?.catalogProvider;
}

/** `gen_ai.provider.name` of an API's providers in traces. Undefined if it is the name of each provider. */
export function getTraceName(api: ProviderApi): string | undefined {
  return findDefinition(api)?.traceName;
}

/** A provider entry of a configuration: its API and the options of that API's adapter. */
export type ProviderSettings = {
  [Api in ProviderApi]: { readonly api: Api } & Omit<AdapterOptions[Api], "name">;
}[ProviderApi];

/** An entry of a wire API, whose adapter takes a key. */
export type WireSettings = Extract<ProviderSettings, { readonly api: WireApi }>;

/** Returns the address of a provider with a wire API: the base URL of its entry, or the provider's address. */
export function getBaseUrl({ api, baseUrl }: WireSettings): string {
  return baseUrl ?? wireDefinitions.find((each) => each.api === api)?.baseUrl.default ?? "";
}

/** Base URL of the simulator for an API. @param origin `http://HOST:PORT` of the simulator. */
export function getSimulatorUrl(
  { baseUrl: { version = "" } }: Pick<WireApiDefinition<WireApi, never>, "baseUrl">,
  origin: string,
): string {
  return `${origin}${version}`;
}

/** Creates the adapter of a provider. @throws ConfigurationError if its settings are invalid. */
export function createAdapter(name: string, settings: ProviderSettings): ProviderAdapter {
  // The compiler does not see that definition and settings have the same API.
  const { createAdapter } = findDefinition(settings.api) as {
    createAdapter(options: object): ProviderAdapter;
  };
  return createAdapter({ ...settings, name });
}

function findDefinition(api: unknown): Definition | undefined {
  return DEFINITIONS.find((each) => each.api === api);
}
