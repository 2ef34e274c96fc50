/** Reads the providers that the environment registers. */

import { ConfigurationError } from "../core/errors.ts";
import type { ProviderVariables } from "../kit/adapter/definition.ts";
import { parseBaseUrl } from "../kit/http/transport.ts";
import { describeBaseUrlMistake } from "./check-base-url.ts";
import { describeKeyMistake } from "./check-key.ts";
import { type ProviderSettings, type WireApi, wireDefinitions } from "./providers.ts";

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The providers that the environment registers. */
export interface ProvidersOfEnvironment {
  /** Settings by provider name, in the order of registration. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** The variable that holds the key of each registered provider that has one. */
  readonly keyVariables: ReadonlyMap<string, string>;
  /** The variables of each registered provider that are set, its key first. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The provider that `OUTRIGGER_DEFAULT_PROVIDER` names, else the first. Undefined if there is none. */
  readonly defaultProvider: string | undefined;
  /** Invalid variables: each problem names its variable and the expected value. */
  readonly problems: readonly string[];
  /** Variables that are set without effect, and why. */
  readonly notices: readonly string[];
}

/** The variables that register a provider, in order. */
export const providerVariables: readonly string[] = wireDefinitions.flatMap(
  ({ environment }) => environment.registeredBy,
);

const DEFAULT_PROVIDER = "OUTRIGGER_DEFAULT_PROVIDER";

/** Reads the variables of all providers. An empty variable counts as unset. */
export function readProviders(environment: Environment): ProvidersOfEnvironment {
  const variables = new Variables(environment);
  const providers = new Map<string, ProviderSettings>();
  const setVariables = new Map<string, readonly string[]>();
  const keyVariables = new Map<string, string>();
  for (const { api, environment } of wireDefinitions) {
    const { provider: name, registeredBy, key: keyNames } = environment;
    const all = listVariables(environment);
    const registering = registeredBy.find((variable) => variables.get(variable) !== undefined);
    if (registering === undefined) {
      variables.noticeUnused(name, registeredBy, all);
      continue;
    }
    const keyVariable = keyNames.find((variable) => variables.get(variable) !== undefined);
    providers.set(name, readSettings(api, environment, variables, keyVariable));
    if (keyVariable !== undefined) keyVariables.set(name, keyVariable);
    setVariables.set(name, [
      registering,
      ...all.filter((variable) => !registeredBy.includes(variable) && variables.get(variable)),
    ]);
  }
  const [first] = providers.keys();
  const defaultProvider = first === undefined ? undefined : (variables.get(DEFAULT_PROVIDER) ?? first);
  return {
    providers,
    keyVariables,
    variables: setVariables,
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

/** All variables of a provider, those that register it first. */
function listVariables({ registeredBy, key, baseUrl, texts = {} }: ProviderVariables): readonly string[] {
  return [...new Set([...registeredBy, ...key, ...baseUrl, ...Object.keys(texts)])];
}

function readSettings(
  api: WireApi,
  { baseUrl, texts = {} }: ProviderVariables,
  variables: Variables,
  keyVariable: string | undefined,
): ProviderSettings {
  const settings = {
    api,
    ...(keyVariable === undefined ? {} : { apiKey: variables.key(keyVariable) }),
    ...variables.url(api, ...baseUrl),
    ...Object.assign(
      {},
      ...Object.entries(texts).map(([variable, option]) => variables.text(variable, option)),
    ),
  };
  // A wire API without a default address is registered by its base URL, every other one by its key.
  return settings as ProviderSettings;
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

  /** Returns the key in a variable; undefined if it is not set. */
  key(variable: string): string | undefined {
    const value = this.get(variable);
    const problem = value === undefined ? undefined : describeKeyMistake(value);
    if (problem !== undefined) this.problems.push(`${variable}: ${problem}`);
    return value;
  }

  /** Returns the base URL in the first of several variables that is set. */
  url(api: WireApi, ...names: readonly string[]): { baseUrl?: string } {
    for (const variable of names) {
      const baseUrl = this.get(variable);
      if (baseUrl === undefined) continue;
      const problem = findProblem(api, baseUrl);
      if (problem !== undefined) this.problems.push(`${variable}: ${problem}`);
      return { baseUrl };
    }
    return {};
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

function findProblem(api: WireApi, baseUrl: string): string | undefined {
  try {
    return describeBaseUrlMistake(api, parseBaseUrl(baseUrl).href);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.message;
  }
}
