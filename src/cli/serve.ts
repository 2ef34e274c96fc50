import type { Logger } from "pino";
import { getTraceName } from "../client/providers.ts";
import { AccessKeysFile, type Config, loadConfig, ServedClient } from "../config/index.ts";
import type { SharedStores } from "../middleware/shared/shared-stores.ts";
import type { IssuerState, TokenVerifier } from "../server/access/token-verifier.ts";
import { AccessControl } from "../server/index.ts";
import { isLocal } from "../server/listen/address.ts";
import { createLogOutput } from "../server/telemetry/log-output.ts";
import { createLogger } from "../server/telemetry/logging.ts";
import type { Metrics } from "../server/telemetry/metrics.ts";
import type { Tracing } from "../server/tracing/open-tracing.ts";
import { checkSetup } from "./check-setup.ts";
import { ConfigReload } from "./config-reload.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags } from "./flags.ts";
import { createSidecarMetrics, startSidecar } from "./sidecar.ts";
import { onHangup, stopSignal } from "./signals.ts";
import type { Terminal } from "./terminal.ts";
import { version } from "./version.ts";

const FLAGS = {
  config: { type: "string" },
  listen: { type: "string", multiple: true },
  "admin-listen": { type: "string" },
  "default-provider": { type: "string" },
  "log-level": { type: "string" },
  "log-format": { type: "string" },
} as const;

/** File descriptor of the log. */
const STDOUT = 1;

/** `outrigger serve`: runs the sidecar until a signal stops it. */
export async function serve(args: readonly string[], { env }: Terminal): Promise<number> {
  const flags = parseFlags(args, FLAGS);
  const load = async () => {
    const loaded = await loadConfig({ environment: env, flags });
    checkSetup(loaded);
    return loaded;
  };
  const config = await load();
  const output = createLogOutput(STDOUT);
  const logger = createLogger({ ...config.log, destination: output });
  for (const files of config.tlsFiles) files.follow(logger);
  const accessKeys = config.access.keys && new AccessKeysFile(config.access.keys, logger);
  const tokens = await openTokens(config, logger);
  const metrics = createSidecarMetrics(() => client, {
    readDroppedLogLines: () => output.droppedLines,
    listIssuers: tokens && (() => tokens.listIssuers()),
  });
  const shared = await openShared(config, logger, metrics);
  const access = createAccess(config, accessKeys, tokens, shared);
  const client = new ServedClient(config.client, { log: logger, observer: metrics, shared });
  const tracing = await openTracing(config, client, logger);
  let { mcp } = config;
  const use = (changed: Config) => {
    client.use(changed.client);
    if (changed.access.keys !== undefined) accessKeys?.use(changed.access.keys);
    if (changed.access.issuers !== undefined) tokens?.use(changed.access.issuers);
    for (const files of changed.tlsFiles) files.follow(logger);
    logger.level = changed.log.level;
    ({ mcp } = changed);
  };
  const reload = new ConfigReload({ config, load, use, logger, metrics });
  const parts = [
    { name: "configuration", close: () => reload.close() },
    ...(tokens ? [{ name: "keys of issuers", close: () => tokens.close() }] : []),
  ];
  const getMcp = () => mcp;
  const listProblems = () => (tokens?.listIssuers() ?? []).flatMap(describeIssuer);
  const optional = { access, tracing, shared, listProblems, parts };
  const sidecar = await startSidecar({ config, client, getMcp, logger, metrics, ...optional });
  onHangup(() => {
    logger.info({ signal: "SIGHUP", providers: client.reloadKeys() }, "reloaded the key files");
    accessKeys?.reload();
    tokens?.reload();
    if (config.path !== undefined) void reload.reload();
  });
  for (const notice of config.notices) logger.warn(notice);
  if (access === undefined) warnAboutNetwork(sidecar.addresses, logger);
  const providers = [...client.providers.keys()];
  logger.info({ version, providers, default_provider: client.routing.defaultProvider }, "serving");
  logger.info({ signal: await stopSignal() }, "stopping");
  await sidecar.drain();
  await sidecar.close();
  logger.info("stopped");
  return exitCodes.ok;
}

/** Connects to the servers that hold shared counts, if any are configured. */
async function openShared(
  { shared }: Config,
  logger: Logger,
  metrics: Metrics,
): Promise<SharedStores | undefined> {
  if (shared === undefined) return undefined;
  const { SharedStores } = await import("../middleware/shared/shared-stores.ts");
  return SharedStores.open(shared, logger, metrics);
}

async function openTracing(
  { tracing }: Config,
  client: ServedClient,
  logger: Logger,
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { openTracing: open } = await import("../server/tracing/open-tracing.ts");
  const getProviderName = (name: string) => {
    const api = client.providers.get(name);
    return (api && getTraceName(api)) ?? name;
  };
  const onFailure = (reason: string) => logger.warn({ reason }, "could not send traces");
  return open(tracing, { version, getProviderName, onFailure });
}

async function openTokens({ access }: Config, logger: Logger): Promise<TokenVerifier | undefined> {
  if (access.issuers === undefined) return undefined;
  const { TokenVerifier: Verifier } = await import("../server/access/token-verifier.ts");
  return new Verifier(access.issuers, logger);
}

function describeIssuer({ issuer, problem }: IssuerState): string[] {
  return problem === "" ? [] : [`keys of the issuer ${issuer}: ${problem}`];
}

/** Without access keys and tokens, the certificates of callers decide who may call, if there are any. */
function createAccess(
  { listeners }: Config,
  accessKeys: AccessKeysFile | undefined,
  tokens: TokenVerifier | undefined,
  shared: SharedStores | undefined,
): AccessControl | undefined {
  const noKeys = { current: () => NO_KEYS };
  if (accessKeys !== undefined || tokens !== undefined)
    return new AccessControl(accessKeys ?? noKeys, {
      tokens,
      openSharedRate: (limit, caller) => shared?.callerRate(limit, caller),
    });
  if (listeners.data.tls?.clientCertificates !== "required") return undefined;
  return new AccessControl(noKeys, { admitsCertificates: true });
}

const NO_KEYS: readonly [] = [];

/** Logs a reminder that unauthenticated calls from the network are allowed. */
function warnAboutNetwork(addresses: readonly string[], logger: Logger): void {
  const open = addresses.filter((address) => !isLocal(address));
  if (open.length === 0) return;
  const risk =
    "calls are not authenticated: any client that reaches these addresses can use the providers' keys";
  logger.warn(
    { addresses: open },
    `${risk}; listen on loopback or a Unix socket, or restrict who can reach them`,
  );
}
