import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { describeMissing, type Environment, readProviders } from "../client/from-env.ts";
import type { ModelAlias } from "../client/model-aliases.ts";
import type { ProviderSettings } from "../client/providers.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isObject } from "../kit/json/json.ts";
import { type Config, defaultAdminListen, defaultListen, type ListenersConfig } from "./config.ts";
import { configVariable, findMistypedVariables, locateVariable, readVariables } from "./environment.ts";
import { describeIssues, formatPath, type Locate } from "./problems.ts";
import { type ProviderKeys, readProviderKeys } from "./provider-keys.ts";
import { compact, type ProviderEntry, type Settings, settingsSchema } from "./schema.ts";

/** The flags of the command line. */
export interface ConfigFlags {
  /** Path of the configuration file. */
  readonly config?: string | undefined;
  readonly listen?: readonly string[] | undefined;
  readonly adminListen?: string | undefined;
  readonly defaultProvider?: string | undefined;
  readonly logLevel?: string | undefined;
}

/** The sources of a configuration. */
interface ConfigSources {
  readonly environment: Environment;
  readonly flags?: ConfigFlags;
}

/**
 * Reads the configuration: flags override variables, variables the file, the file the defaults. Providers of the
 * variables come first; an entry of the file replaces the one of the same name.
 * @throws ConfigurationError with every mistake on a line of its own.
 */
export async function loadConfig({ environment, flags = {} }: ConfigSources): Promise<Config> {
  const file = await readFileSource(flags.config ?? environment[configVariable]?.trim(), environment);
  const variables = readSource(readVariables(environment), locateVariable);
  const given = readSource(treeOf(flags), locateFlag);
  const registered = readProviders(environment);
  const names = [...registered.providers.keys(), ...file.providerNames];
  const problems = [file, variables, given, registered].flatMap((source) => source.problems);
  problems.push(...checkDefaultProvider([given, variables, file], names), ...checkAliases(file, names));
  if (problems.length > 0) throw mistakes(problems);
  const settings: Settings = { ...file.settings, ...variables.settings, ...given.settings };
  return {
    listeners: listenersOf(settings),
    reflection: settings.reflection,
    log: { level: settings.log_level ?? "info" },
    shutdown: { timeoutMs: settings.drain_timeout },
    client: {
      providers: mergeProviders(registered.providers, settings, file.keys),
      keyFiles: file.keyFiles,
      defaultProvider: settings.default_provider,
      middleware: { modelAliases: aliasesOf(settings) },
      remedy: describeMissing(registered),
    },
    notices: [...registered.notices, ...findMistypedVariables(environment)],
  };
}

function listenersOf({ listen, admin_listen: admin, cors, limits }: Settings): ListenersConfig {
  return {
    data: { addresses: listen ?? [defaultListen], cors },
    admin: admin === "off" ? undefined : { address: admin ?? defaultAdminListen },
    limits: limits ?? {},
  };
}

/** One error for all mistakes of a configuration. */
export function mistakes(problems: readonly string[]): ConfigurationError {
  if (problems.length === 1) return new ConfigurationError(`the configuration is wrong: ${problems[0]}`);
  const lines = problems.map((problem) => `\n  ${problem}`).join("");
  return new ConfigurationError(`the configuration has ${problems.length} mistakes:${lines}`);
}

/** The settings of one source, or its mistakes. */
interface Source {
  readonly settings: Settings;
  readonly problems: readonly string[];
  readonly locate: Locate;
}

interface FileSource extends Source, ProviderKeys {
  readonly providerNames: readonly string[];
}

function readSource(tree: unknown, locate: Locate, unfilled: ReadonlySet<string> = new Set()): Source {
  const result = settingsSchema.safeParse(tree);
  if (result.success) return { settings: result.data, problems: [], locate };
  const issues = result.error.issues.filter((issue) => !unfilled.has(formatPath(issue.path)));
  return { settings: {}, problems: describeIssues(issues, tree, locate), locate };
}

const NO_FILE: FileSource = {
  settings: {},
  problems: [],
  locate: () => "",
  keys: new Map(),
  keyFiles: new Map(),
  providerNames: [],
};

async function readFileSource(path: string | undefined, environment: Environment): Promise<FileSource> {
  if (path === undefined || path === "") return NO_FILE;
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new ConfigurationError(`cannot read the configuration file ${path} (${code})`);
  });
  // Loaded only here: most sidecars have no file.
  const { parseYamlFile } = await import("./yaml-file.ts");
  const { value, problems, unfilled, locate } = parseYamlFile(path, text, environment);
  const source = readSource(value, locate, unfilled);
  const providers = isObject(value) ? value.providers : undefined;
  const keys = await readProviderKeys(providers, dirname(resolve(path)), locate);
  return {
    ...source,
    ...keys,
    problems: [...problems, ...source.problems, ...keys.problems],
    providerNames: isObject(providers) ? Object.keys(providers) : [],
  };
}

/** Whether the default provider of the first source that names one exists. */
function checkDefaultProvider(sources: readonly Source[], names: readonly string[]): string[] {
  const source = sources.find(({ settings }) => settings.default_provider !== undefined);
  const chosen = source?.settings.default_provider;
  if (source === undefined || chosen === undefined || names.includes(chosen)) return [];
  const where = source.locate(["default_provider"]);
  return [`${where}: expected ${describeNames(names)}, found ${JSON.stringify(chosen)}`];
}

/** Whether the providers of all model aliases exist. */
function checkAliases({ settings, locate }: Source, names: readonly string[]): string[] {
  return [...aliasesOf(settings)].flatMap(([name, { provider }]) => {
    if (provider === undefined || names.includes(provider)) return [];
    const where = locate(["middleware", "model_aliases", name, "provider"]);
    return [`${where}: expected ${describeNames(names)}, found ${JSON.stringify(provider)}`];
  });
}

function aliasesOf({ middleware }: Settings): ReadonlyMap<string, ModelAlias> {
  return new Map(Object.entries(middleware?.modelAliases ?? {}));
}

function describeNames(names: readonly string[]): string {
  return names.length === 0 ? "a provider, but there is none" : [...new Set(names)].join(", ");
}

function treeOf({ listen, adminListen, defaultProvider, logLevel }: ConfigFlags): unknown {
  return compact({
    listen,
    admin_listen: adminListen,
    default_provider: defaultProvider,
    log_level: logLevel,
  });
}

const locateFlag: Locate = ([field]) => `--${String(field).replaceAll("_", "-")}`;

function mergeProviders(
  fromVariables: ReadonlyMap<string, ProviderSettings>,
  { providers = {}, timeouts = {}, media = {}, limits = {} }: Settings,
  keys: ReadonlyMap<string, string>,
): Map<string, ProviderSettings> {
  const merged = new Map(fromVariables);
  for (const [name, entry] of Object.entries(providers)) merged.set(name, settingsOf(entry, keys.get(name)));
  for (const [name, settings] of merged) {
    merged.set(name, {
      ...media,
      ...providerLimits(limits),
      ...settings,
      timeouts: { ...timeouts, ...settings.timeouts },
    });
  }
  return merged;
}

/** The limits that adapters enforce, on each request and each answer. */
function providerLimits(limits: NonNullable<Settings["limits"]>) {
  const answerLimits = compact({
    maxBytes: limits.maxAnswerBytes,
    maxEventChars: limits.maxAnswerEventChars,
    maxEvents: limits.maxAnswerEvents,
    maxParts: limits.maxAnswerParts,
    maxJsonValues: limits.maxAnswerJsonValues,
  });
  return {
    ...compact({ maxMediaBytes: limits.maxMediaBytes }),
    ...(Object.keys(answerLimits).length === 0 ? {} : { answerLimits }),
  };
}

function settingsOf(
  { apiKeyFile: _, ...entry }: ProviderEntry,
  apiKey: string | undefined,
): ProviderSettings {
  // The schema has checked each entry against the settings of its wire API.
  return { ...entry, ...(apiKey === undefined ? {} : { apiKey }) } as ProviderSettings;
}
