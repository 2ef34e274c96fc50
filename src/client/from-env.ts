/** Reads the providers that the environment registers. */

import { ConfigurationError } from "../core/errors.ts";
import { parseBaseUrl } from "../kit/http/transport.ts";
import { describeBaseUrlMistake } from "./check-base-url.ts";
import { describeKeyMistake } from "./check-key.ts";
import type { ProviderSettings, WireApi } from "./providers.ts";

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The providers that the environment registers. */
export interface ProvidersOfEnvironment {
  /** Settings by provider name, in the order of registration. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** The variable that holds the key of each registered provider that has one. */
  readonly keyVariables: ReadonlyMap<string, string>;
  /** The variables that are set of each registered provider, its key first. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The provider that `OUTRIGGER_DEFAULT_PROVIDER` names, else the first. Undefined if there is none. */
  readonly defaultProvider: string | undefined;
  /** Invalid variables: each problem names its variable and the expected value. */
  readonly problems: readonly string[];
  /** Variables that are set without effect, and why. */
  readonly notices: readonly string[];
}

/** Describes how a provider is read from the environment. */
interface EnvironmentProvider {
  readonly name: string;
  /** The provider is registered if one of these is set. */
  readonly keys: readonly string[];
  /** Further variables of a registered provider. */
  readonly others: readonly string[];
  /** Reads the settings. `key` is the variable among `keys` that is set. */
  readonly settings: (variables: Variables, key: string) => ProviderSettings;
}

/** In the order in which providers are registered; the first one becomes the default. */
const PROVIDERS: readonly EnvironmentProvider[] = [
  {
    name: "openai",
    keys: ["OPENAI_API_KEY"],
    others: ["OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"],
    settings: (variables, key) => ({
      api: "openai-responses",
      apiKey: variables.key(key) ?? "",
      ...variables.url("openai-responses", "OPENAI_BASE_URL"),
      ...variables.text("OPENAI_ORG_ID", "organization"),
      ...variables.text("OPENAI_PROJECT_ID", "project"),
    }),
  },
  {
    name: "anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    others: ["ANTHROPIC_BASE_URL"],
    settings: (variables, key) => ({
      api: "anthropic-messages",
      apiKey: variables.key(key) ?? "",
      ...variables.url("anthropic-messages", "ANTHROPIC_BASE_URL"),
    }),
  },
  {
    name: "gemini",
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    others: ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    settings: (variables, key) => ({
      api: "gemini",
      apiKey: variables.key(key) ?? "",
      // Google's SDKs read the second.
      ...variables.url("gemini", "GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
    }),
  },
  {
    name: "compatible",
    keys: ["OUTRIGGER_COMPATIBLE_BASE_URL"],
    others: ["OUTRIGGER_COMPATIBLE_API_KEY"],
    settings: (variables, baseUrl) => ({
      api: "openai-chat",
      baseUrl: variables.get(baseUrl) ?? "",
      ...variables.url("openai-chat", baseUrl),
      ...optionalKey(variables.key("OUTRIGGER_COMPATIBLE_API_KEY")),
    }),
  },
];

/** The variables that register a provider, in order. */
export const providerVariables: readonly string[] = PROVIDERS.flatMap(({ keys }) => keys);

const DEFAULT_PROVIDER = "OUTRIGGER_DEFAULT_PROVIDER";

/** Reads the variables of all providers. An empty variable counts as unset. */
export function readProviders(environment: Environment): ProvidersOfEnvironment {
  const variables = new Variables(environment);
  const providers = new Map<string, ProviderSettings>();
  const set = new Map<string, readonly string[]>();
  const keyVariables = new Map<string, string>();
  for (const { name, keys, others, settings } of PROVIDERS) {
    const key = keys.find((variable) => variables.get(variable) !== undefined);
    if (key === undefined) {
      variables.noticeUnused(name, keys, others);
      continue;
    }
    providers.set(name, settings(variables, key));
    const keyVariable = [key, ...others].find(
      (variable) => variable.endsWith("_API_KEY") && variables.get(variable) !== undefined,
    );
    if (keyVariable !== undefined) keyVariables.set(name, keyVariable);
    set.set(name, [key, ...others.filter((variable) => variables.get(variable) !== undefined)]);
  }
  const [first] = providers.keys();
  const defaultProvider = first === undefined ? undefined : (variables.get(DEFAULT_PROVIDER) ?? first);
  return {
    providers,
    keyVariables,
    variables: set,
    defaultProvider,
    problems: variables.problems,
    notices: variables.notices,
  };
}

/** Advice for the error that no provider is registered. */
export function describeMissing({ notices }: ProvidersOfEnvironment): string {
  const lookedFor = `None of these environment variables is set: ${providerVariables.join(", ")}.`;
  return [lookedFor, ...notices].join(" ");
}

function optionalKey(apiKey: string | undefined): { apiKey?: string } {
  return apiKey === undefined ? {} : { apiKey };
}

/** Reads variables and collects their problems. */
class Variables {
  readonly problems: string[] = [];
  readonly notices: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  get(variable: string): string | undefined {
    return this.#environment[variable]?.trim() || undefined;
  }

  text<Key extends string>(variable: string, key: Key): { [K in Key]?: string } {
    const value = this.get(variable);
    return value === undefined ? {} : ({ [key]: value } as { [K in Key]: string });
  }

  /** The key in a variable; undefined if it is not set. */
  key(variable: string): string | undefined {
    const value = this.get(variable);
    const problem = value === undefined ? undefined : describeKeyMistake(value);
    if (problem !== undefined) this.problems.push(`${variable}: ${problem}`);
    return value;
  }

  /** The base URL in the first of several variables that is set. */
  url(api: WireApi, ...names: readonly string[]): { baseUrl?: string } {
    const variable = names.find((name) => this.get(name) !== undefined);
    const value = variable === undefined ? undefined : this.get(variable);
    if (variable === undefined || value === undefined) return {};
    try {
      const problem = describeBaseUrlMistake(api, parseBaseUrl(value).href);
      if (problem !== undefined) this.problems.push(`${variable}: ${problem}`);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      this.problems.push(`${variable}: ${error.message}`);
    }
    return { baseUrl: value };
  }

  noticeUnused(name: string, keys: readonly string[], others: readonly string[]): void {
    const set = others.filter((variable) => this.get(variable) !== undefined);
    if (set.length === 0) return;
    const key = keys.join(" or ");
    this.notices.push(
      `${set.join(", ")} ${set.length === 1 ? "is" : "are"} set, but ${key} is not: the provider ${name} is not registered.`,
    );
  }
}
