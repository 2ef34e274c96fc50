import { resolve } from "node:path";
import { defaultCatalog, ProviderModels } from "../catalog/catalog.ts";
import { describeDoubtfulBaseUrl } from "../client/check-base-url.ts";
import {
  describeMissing,
  type Environment,
  type ProvidersOfEnvironment,
  readProviders,
} from "../client/from-env.ts";
import type { ModelRouting } from "../client/model-names.ts";
import { getBaseUrl, type ProviderSettings } from "../client/providers.ts";
import { compact } from "../core/compact.ts";
import { getMaxAnswerBytes } from "../core/memory-account.ts";
import type { McpSettings } from "../runs/mcp/settings.ts";
import { type AccessKeysConfig, loadAccessKeys } from "./access-keys.ts";
import {
  type Config,
  defaultAdminListen,
  defaultListen,
  type ListenersConfig,
  type MiddlewareConfig,
} from "./config.ts";
import { configVariable, findUnknownVariables } from "./environment.ts";
import type { TokenIssuer } from "./jwt.ts";
import { findForeignAddresses, listAddresses } from "./local-only.ts";
import { toMcpSettings } from "./mcp.ts";
import { middlewareTargets } from "./middleware-targets.ts";
import type { ModelNames } from "./model-grants.ts";
import { describeWord, toConfigurationError } from "./problems.ts";
import { readRuns } from "./runs.ts";
import type { ProviderEntry, Settings } from "./schema.ts";
import { readShared } from "./shared.ts";
import {
  type ConfigFlags,
  type FileSource,
  readFileSource,
  readFlagSource,
  readVariableSource,
  type Source,
} from "./sources.ts";
import { didYouMean } from "./suggest.ts";
import type { ClientTlsFiles, ClientTlsPaths, ListenerTls } from "./tls-files.ts";
import { readTracing } from "./tracing.ts";

interface ConfigSources {
  readonly environment: Environment;
  readonly flags?: ConfigFlags;
}

/**
 * Reads the configuration: flags override variables, variables override the file, and the file overrides the defaults.
 * Providers from variables come first; an entry of the file replaces the provider of the same name as a whole, so that
 * the key of one account is never sent to the address of another.
 * @throws ConfigurationError with every mistake on a separate line.
 */
export async function loadConfig({ environment, flags = {} }: ConfigSources): Promise<Config> {
  const path = flags.config ?? environment[configVariable]?.trim();
  const file = await readFileSource(path, environment);
  const variables = readVariableSource(environment);
  const given = readFlagSource(flags);
  const registered = readProviders(environment);
  const names = [...registered.providers.keys(), ...file.providerNames];
  const traced = readTracing(environment);
  const problems = [file, variables, given, registered, traced].flatMap((source) => source.problems);
  problems.push(...checkDefaultProvider([given, variables, file], names), ...checkTargets(file, names));
  if (problems.length > 0) throw toConfigurationError(problems);
  const settings: Settings = { ...file.settings, ...variables.settings, ...given.settings };
  const { local_only: localOnly = false } = settings;
  const middleware = toMiddleware(settings);
  const { modelAliases: aliases } = middleware;
  const modelNames = { aliases, routing: createRouting(names, settings.default_provider, aliases) };
  const access = await readAccess([variables, file], environment, modelNames);
  const issuers = await readIssuers(file, modelNames);
  const tls = await openTls(settings, file.folder);
  const providers = mergeProviders(registered.providers, settings, file.keys, tls.providers);
  const mcp = toMcpSettings(settings.mcp, file.folder, localOnly, tls.servers);
  const runs = await readRuns(variables, file);
  const shared = await readShared(file, { tls: tls.valkey, access, store: runs.store });
  if (localOnly) await checkAddresses(providers, mcp);
  return {
    path: path === undefined || path === "" ? undefined : resolve(path),
    file: file.tree,
    settings,
    listeners: toListeners(settings, await readTls([variables, file])),
    access: { keys: access, issuers, allowUnauthenticated: settings.allow_unauthenticated ?? false },
    reflection: settings.reflection,
    log: { level: settings.log_level ?? "info", format: settings.log_format ?? "numbers" },
    shutdown: { timeoutMs: settings.drain_timeout },
    tlsFiles: [
      ...tls.providers.values(),
      ...tls.servers.values(),
      ...(tls.valkey ? [tls.valkey] : []),
      ...listTlsFiles(issuers),
    ],
    client: {
      providers,
      keyFiles: file.keyFiles,
      tlsPaths: new Map([...tls.providers].map(([name, { paths }]) => [name, paths])),
      keyOrigins: new Map([
        ...[...registered.keyVariables].filter(([name]) => !file.providerNames.includes(name)),
        ...file.keyOrigins,
      ]),
      defaultProvider: settings.default_provider,
      middleware,
      hasCallers: access !== undefined || issuers !== undefined,
      models: settings.models ?? [],
      remedy: describeMissing(registered),
    },
    mcp,
    runs,
    shared,
    tracing: traced.tracing,
    notices: [
      ...registered.notices,
      ...noticeReplaced(registered, file),
      ...noticeBaseUrls(providers),
      ...findUnknownVariables(environment, file.variables),
    ],
  };
}

/**
 * Creates the routing that resolves names of models. Only names count here, so the providers' models are not needed.
 */
function createRouting(
  names: readonly string[],
  defaultProvider: string | undefined,
  aliases: ModelRouting["aliases"],
): ModelRouting {
  const models = names.map((name) => [name, new ProviderModels(defaultCatalog, name, undefined)] as const);
  return { providers: new Map(models), defaultProvider: defaultProvider ?? names[0], aliases };
}

/** Reads the access keys of the first source that names a file. */
async function readAccess(
  sources: readonly Source[],
  environment: Environment,
  names: ModelNames,
): Promise<AccessKeysConfig | undefined> {
  const source = sources.find(({ settings }) => settings.access_keys_file !== undefined);
  const path = source?.settings.access_keys_file;
  if (source === undefined || path === undefined) return undefined;
  const where = source.locate(["access_keys_file"]);
  return loadAccessKeys(resolve(source.folder ?? "", path), where, environment, names);
}

/** Reads the issuers of tokens. Only a file names them. */
async function readIssuers(
  { settings, folder, locate }: FileSource,
  names: ModelNames,
): Promise<readonly TokenIssuer[] | undefined> {
  if (settings.jwt === undefined) return undefined;
  const { readJwt } = await import("./jwt.ts");
  return readJwt(settings.jwt, { folder, locate, names });
}

function listTlsFiles(issuers: readonly TokenIssuer[] = []): ClientTlsFiles[] {
  return issuers.flatMap(({ keys }) => (keys.kind !== "file" && keys.tls !== undefined ? [keys.tls] : []));
}

/** @throws ConfigurationError that names everything that `local_only` excludes. */
async function checkAddresses(
  providers: ReadonlyMap<string, ProviderSettings>,
  { servers }: McpSettings,
): Promise<void> {
  const mcpAddresses = [...servers].map(([name, { url }]) => ({ what: `mcp server ${name}`, baseUrl: url }));
  const problems = await findForeignAddresses([...listAddresses(providers), ...mcpAddresses]);
  if (problems.length > 0) throw toConfigurationError(problems);
}

type TlsSettings = Partial<Record<"tls" | "admin_tls", ListenerTls>>;

/** Reads the TLS files of the listeners. @throws ConfigurationError for files that cannot be used. */
async function readTls(sources: readonly Source[]): Promise<TlsSettings> {
  const found: TlsSettings = {};
  for (const field of ["tls", "admin_tls"] as const) {
    const source = sources.find(({ settings }) => settings[field] !== undefined);
    const tls = source?.settings[field];
    if (source === undefined || tls === undefined) continue;
    const toPath = (path: string) => resolve(source.folder ?? "", path);
    const { certificate, key, clientCa } = tls.files;
    const files = {
      certificate: toPath(certificate),
      key: toPath(key),
      clientCa: clientCa === undefined ? undefined : toPath(clientCa),
    };
    const { readTlsFiles } = await import("./tls-files.ts");
    const reading = readTlsFiles(files, field);
    if ("problem" in reading) throw toConfigurationError([reading.problem]);
    found[field] = { ...tls, files, field, material: reading.value };
  }
  return found;
}

/** The TLS files for connections to providers and MCP servers, by name, and to the server of shared counts. */
interface ClientTls {
  readonly providers: ReadonlyMap<string, ClientTlsFiles>;
  readonly servers: ReadonlyMap<string, ClientTlsFiles>;
  readonly valkey: ClientTlsFiles | undefined;
}

/** Opens the TLS files for connections to other servers. @throws ConfigurationError for files that cannot be used. */
async function openTls({ providers = {}, mcp, shared = {} }: Settings, folder: string): Promise<ClientTls> {
  const problems: string[] = [];
  const open = async (
    entries: Readonly<Record<string, { readonly tls?: ClientTlsPaths | undefined }>>,
    at: string,
  ) => {
    const opened = new Map<string, ClientTlsFiles>();
    for (const [name, { tls }] of Object.entries(entries)) {
      if (tls === undefined) continue;
      const { openClientTls } = await import("./tls-files.ts");
      const reading = openClientTls(tls, folder, `${at}.${name}.tls`);
      if ("problem" in reading) problems.push(reading.problem);
      else opened.set(name, reading.value);
    }
    return opened;
  };
  const opened = {
    providers: await open(providers, "providers"),
    servers: await open(mcp?.servers ?? {}, "mcp.servers"),
    valkey: (await open(compact({ valkey: shared.valkey }), "shared")).get("valkey"),
  };
  if (problems.length > 0) throw toConfigurationError(problems);
  return opened;
}

function toListeners(settings: Settings, tls: TlsSettings): ListenersConfig {
  const { listen, admin_listen: admin, cors, limits } = settings;
  return {
    data: { addresses: listen ?? [defaultListen], cors, tls: tls.tls },
    admin: admin === "off" ? undefined : { address: admin ?? defaultAdminListen, tls: tls.admin_tls },
    allowedHosts: settings.allowed_hosts ?? [],
    unixSocketMode: settings.unix_socket_mode,
    limits: limits ?? {},
  };
}

function toMiddleware({ middleware, providers = {} }: Settings): MiddlewareConfig {
  const rules = Object.entries(providers).map(([name, entry]) => [name, entry.rules] as const);
  return { modelAliases: {}, fallbacks: [], rules: {}, ...middleware, providerRules: new Map(rules) };
}

/** Checks that the default provider of the first source that names one exists. */
function checkDefaultProvider(sources: readonly Source[], names: readonly string[]): string[] {
  const source = sources.find(({ settings }) => settings.default_provider !== undefined);
  const chosen = source?.settings.default_provider;
  if (source === undefined || chosen === undefined || names.includes(chosen)) return [];
  const where = source.locate(["default_provider"]);
  return [`${where}: ${describeUnknownName(chosen, names, source)}`];
}

/** Checks that all providers exist that the middleware and the models with call rules refer to. */
function checkTargets(source: Source, names: readonly string[]): string[] {
  const { models = [] } = source.settings;
  const ruled = models.flatMap(({ provider, rules }, index) =>
    Object.keys(rules).length === 0 ? [] : [{ provider, path: ["models", index] }],
  );
  return [...middlewareTargets(toMiddleware(source.settings)), ...ruled].flatMap(({ provider, path }) => {
    if (provider === undefined || names.includes(provider)) return [];
    const where = source.locate([...path, "provider"]);
    return [`${where}: ${describeUnknownName(provider, names, source)}`];
  });
}

function describeUnknownName(name: string, names: readonly string[], source: Source): string {
  const expected = names.length === 0 ? "a provider, but there is none" : [...new Set(names)].join(", ");
  const hint = source.secrets.has(name) ? "" : didYouMean(name, names);
  return `expected ${expected}, found ${describeWord(name, source)}${hint}`;
}

/** Returns notices for provider variables that entries of the file replace, unless the file refers to them. */
function noticeReplaced({ variables }: ProvidersOfEnvironment, file: FileSource): string[] {
  return file.providerNames.flatMap((name) => {
    const unused = variables.get(name)?.filter((variable) => !file.variables.has(variable)) ?? [];
    if (unused.length === 0) return [];
    const where = file.locate(["providers", name]);
    return [`${where} replaces the provider of the variables: ${unused.join(", ")} has no effect`];
  });
}

/** Returns notices for base URLs under which calls probably fail. */
function noticeBaseUrls(providers: ReadonlyMap<string, ProviderSettings>): string[] {
  return [...providers].flatMap(([name, settings]) => {
    if (settings.api === "command") return [];
    const doubt = describeDoubtfulBaseUrl(settings.api, getBaseUrl(settings));
    return doubt === undefined ? [] : [`provider ${name}: ${doubt}`];
  });
}

function mergeProviders(
  fromVariables: ReadonlyMap<string, ProviderSettings>,
  { providers = {}, timeouts = {}, media = {}, limits = {}, local_only: localOnly }: Settings,
  keys: ReadonlyMap<string, string>,
  tls: ReadonlyMap<string, ClientTlsFiles>,
): Map<string, ProviderSettings> {
  const merged = new Map(fromVariables);
  for (const [name, entry] of Object.entries(providers))
    merged.set(name, toSettings(entry, keys.get(name), tls.get(name)));
  for (const [name, settings] of merged) {
    merged.set(name, {
      ...media,
      ...providerLimits(limits),
      ...compact({ localOnly }),
      ...settings,
      timeouts: { ...timeouts, ...settings.timeouts },
    });
  }
  return merged;
}

/** Returns the limits that adapters enforce on each request and each response. */
function providerLimits(limits: NonNullable<Settings["limits"]>) {
  const { maxAnswerMemoryBytes } = limits;
  const answerLimits = compact({
    maxBytes: limits.maxAnswerBytes ?? (maxAnswerMemoryBytes && getMaxAnswerBytes({ maxAnswerMemoryBytes })),
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

function toSettings(
  { apiKeyFile: _, rules: __, tls: ___, ...entry }: ProviderEntry,
  apiKey: string | undefined,
  tls: ClientTlsFiles | undefined,
): ProviderSettings {
  // The schema has checked each entry against the settings of its wire API.
  return { ...entry, ...compact({ apiKey, tls: tls?.current }) } as ProviderSettings;
}
