/** Which providers the environment registers. */

import { ConfigurationError } from "../core/errors.ts";
import { parseBaseUrl } from "../kit/http/transport.ts";
import type { ProviderSettings } from "./providers.ts";

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The providers that the environment registers. */
export interface ProvidersOfEnvironment {
  /** Settings by provider name, in the order of registration. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** The provider that `OUTRIGGER_DEFAULT_PROVIDER` names, else the first. Undefined where there is none. */
  readonly defaultProvider: string | undefined;
  /** Invalid variables: each problem names its variable and what was expected. */
  readonly problems: readonly string[];
  /** Variables that are set without effect, and why. */
  readonly notices: readonly string[];
}

/** How a provider is read from the environment. */
interface EnvironmentProvider {
  readonly name: string;
  /** The provider is registered where one of these is set. */
  readonly keys: readonly string[];
  /** Further variables of a registered provider. */
  readonly others: readonly string[];
  readonly settings: (variables: Variables, key: string) => ProviderSettings;
}

/** In the order in which providers are registered; the first one becomes the default. */
const PROVIDERS: readonly EnvironmentProvider[] = [
  {
    name: "openai",
    keys: ["OPENAI_API_KEY"],
    others: ["OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"],
    settings: (variables, apiKey) => ({
      api: "openai-responses",
      apiKey,
      ...variables.url("OPENAI_BASE_URL", "baseUrl"),
      ...variables.text("OPENAI_ORG_ID", "organization"),
      ...variables.text("OPENAI_PROJECT_ID", "project"),
    }),
  },
  {
    name: "anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    others: ["ANTHROPIC_BASE_URL"],
    settings: (variables, apiKey) => ({
      api: "anthropic-messages",
      apiKey,
      ...variables.url("ANTHROPIC_BASE_URL", "baseUrl"),
    }),
  },
  {
    name: "gemini",
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    others: ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    settings: (variables, apiKey) => ({
      api: "gemini",
      apiKey,
      // Google's SDKs read the second.
      ...variables.firstUrl(["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"], "baseUrl"),
    }),
  },
  {
    name: "compatible",
    keys: ["OUTRIGGER_COMPATIBLE_BASE_URL"],
    others: ["OUTRIGGER_COMPATIBLE_API_KEY"],
    settings: (variables, baseUrl) => ({
      api: "openai-chat",
      baseUrl,
      ...variables.url("OUTRIGGER_COMPATIBLE_BASE_URL", "baseUrl"),
      ...variables.text("OUTRIGGER_COMPATIBLE_API_KEY", "apiKey"),
    }),
  },
];

/** The variables that register a provider, in order. */
export const providerVariables: readonly string[] = PROVIDERS.flatMap(({ keys }) => keys);

const DEFAULT_PROVIDER = "OUTRIGGER_DEFAULT_PROVIDER";

/** Reads the providers' own variables. An empty variable counts as unset. */
export function readProviders(environment: Environment): ProvidersOfEnvironment {
  const variables = new Variables(environment);
  const providers = new Map<string, ProviderSettings>();
  for (const { name, keys, others, settings } of PROVIDERS) {
    const key = keys.find((variable) => variables.get(variable) !== undefined);
    if (key === undefined) variables.noticeUnused(name, keys, others);
    else providers.set(name, settings(variables, variables.get(key) ?? ""));
  }
  const [first] = providers.keys();
  const defaultProvider = first === undefined ? undefined : (variables.get(DEFAULT_PROVIDER) ?? first);
  return { providers, defaultProvider, problems: variables.problems, notices: variables.notices };
}

/** Advice for the error that no provider is registered. */
export function describeMissing({ notices }: ProvidersOfEnvironment): string {
  const lookedFor = `None of these environment variables is set: ${providerVariables.join(", ")}.`;
  return [lookedFor, ...notices].join(" ");
}

/** Reads variables and collects what is wrong with them. */
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

  url<Key extends string>(variable: string, key: Key): { [K in Key]?: string } {
    const value = this.get(variable);
    try {
      if (value !== undefined) parseBaseUrl(value);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      this.problems.push(`${variable}: ${error.message}`);
    }
    return this.text(variable, key);
  }

  /** The URL in the first of several variables that is set. */
  firstUrl<Key extends string>(names: readonly string[], key: Key): { [K in Key]?: string } {
    const set = names.find((variable) => this.get(variable) !== undefined);
    return set === undefined ? {} : this.url(set, key);
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
