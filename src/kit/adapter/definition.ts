import type { ProviderAdapter } from "../../core/adapter.ts";

/** How base URLs of a wire API are written. */
export interface BaseUrlForm {
  /** The provider's address. Absent: an entry of a configuration must name one. */
  readonly default?: string;
  /** Path endings that the adapter appends itself, longest first. */
  readonly added: readonly string[];
  /** Segment with the version that a base URL must contain. */
  readonly version?: string;
  /** The provider's host, which serves nothing outside of the version. */
  readonly host?: string;
}

/** The environment variables that register a provider. */
export interface ProviderVariables {
  /** Name of the registered provider. */
  readonly provider: string;
  /** The provider is registered if one of these is set. */
  readonly registeredBy: readonly string[];
  /** Variables with the key; the first that is set counts. */
  readonly key: readonly string[];
  /** Variables with the base URL; the first that is set counts. */
  readonly baseUrl: readonly string[];
  /** Further options of the adapter, by variable. */
  readonly texts?: Readonly<Record<string, string>>;
}

/**
 * The facts about an API of providers from which the rest of the project derives its configuration, environment and
 * help.
 */
export interface ProviderDefinition<Api extends string, Options> {
  /** Name of the API in a configuration: `api: openai-responses`. */
  readonly api: Api;
  /** @throws ConfigurationError if the options are invalid. */
  readonly createAdapter: (options: Options) => ProviderAdapter;
  /** Fields of a configuration entry that only some APIs have. */
  readonly fields: readonly string[];
  /** Fields that an entry must have, with what they hold. */
  readonly requiredFields?: Readonly<Record<string, string>>;
  /** Name of the provider in the shipped catalog. Absent: the catalog has none of its models. */
  readonly catalogProvider?: string;
  /** `gen_ai.provider.name` in traces. Absent: the name under which the provider is registered. */
  readonly traceName?: string;
  /** Whether an entry works without a key: the user's servers and programs. Default false. */
  readonly needsNoKey?: boolean;
}

/** The definition of an API that is spoken over HTTP. */
export interface WireApiDefinition<Api extends string, Options> extends ProviderDefinition<Api, Options> {
  readonly baseUrl: BaseUrlForm;
  readonly environment: ProviderVariables;
  /** Further options of an adapter that calls the simulator. */
  readonly simulatorOptions?: Partial<Options>;
}
