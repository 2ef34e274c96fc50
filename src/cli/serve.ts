import type { Logger } from "pino";
import { getTraceName } from "../client/providers.ts";
import { AccessKeysFile, type Config, loadConfig, ServedClient } from "../config/index.ts";
import { AccessControl } from "../server/index.ts";
import { isLocal } from "../server/listen/address.ts";
import { createLogOutput } from "../server/telemetry/log-output.ts";
import { createLogger } from "../server/telemetry/logging.ts";
import type { Tracing } from "../server/tracing/open-tracing.ts";
import { checkSetup } from "./check-setup.ts";
import { ConfigReload } from "./config-reload.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags } from "./flags.ts";
import { createSidecarMetrics, startSidecar } from "./sidecar.ts";
import { stopSignal } from "./stop-signal.ts";
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
    const loaded = await loadConfig({
      environment: env,
      flags: {
        config: flags.config,
        listen: flags.listen,
        adminListen: flags["admin-listen"],
        defaultProvider: flags["default-provider"],
        logLevel: flags["log-level"],
        logFormat: flags["log-format"],
      },
    });
    checkSetup(loaded);
    return loaded;
  };
  const config = await load();
  const output = createLogOutput(STDOUT);
  const logger = createLogger({ ...config.log, destination: output });
  for (const files of config.tlsFiles) files.follow(logger);
  const accessKeys = config.access.keys && new AccessKeysFile(config.access.keys, logger);
  const access = createAccess(config, accessKeys);
  const metrics = createSidecarMetrics(
    () => client,
    () => output.droppedLines,
  );
  const client = new ServedClient(config.client, { log: logger, observer: metrics });
  const tracing = await openTracing(config, client, logger);
  let { mcp } = config;
  const use = (changed: Config) => {
    client.use(changed.client);
    if (changed.access.keys !== undefined) accessKeys?.use(changed.access.keys);
    for (const files of changed.tlsFiles) files.follow(logger);
    logger.level = changed.log.level;
    ({ mcp } = changed);
  };
  const reload = new ConfigReload({ config, load, use, logger, metrics });
  const parts = [{ name: "configuration", close: () => reload.close() }];
  const getMcp = () => mcp;
  const sidecar = await startSidecar({ config, client, getMcp, logger, metrics, access, tracing, parts });
  const stopped = stopSignal();
  process.on("SIGHUP", () => {
    logger.info({ signal: "SIGHUP", providers: client.reloadKeys() }, "read the key files again");
    accessKeys?.reload();
    if (config.path !== undefined) void reload.reload();
  });
  for (const notice of config.notices) logger.warn(notice);
  if (access === undefined) warnOfNetwork(sidecar.addresses, logger);
  const providers = [...client.apis.keys()];
  logger.info({ version, providers, default_provider: client.routing.defaultProvider }, "serving");
  logger.info({ signal: await stopped }, "stopping");
  await sidecar.drain();
  await sidecar.close();
  logger.info("stopped");
  return exitCodes.ok;
}

/** Loads tracing if it is on. */
async function openTracing(
  { tracing }: Config,
  client: ServedClient,
  logger: Logger,
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { openTracing: open } = await import("../server/tracing/open-tracing.ts");
  const getProviderName = (name: string) => {
    const api = client.apis.get(name);
    return (api && getTraceName(api)) ?? name;
  };
  const onFailure = (reason: string) => logger.warn({ reason }, "could not send traces");
  return open(tracing, { version, getProviderName, onFailure });
}

/** Without access keys, the certificates of callers decide who may call, if there are any. */
function createAccess(
  { listeners }: Config,
  accessKeys: AccessKeysFile | undefined,
): AccessControl | undefined {
  if (accessKeys !== undefined) return new AccessControl(accessKeys);
  if (listeners.data.tls?.clientCertificates !== "required") return undefined;
  return new AccessControl({ current: () => [] }, { admitsCertificates: true });
}

/** Logs a reminder that unauthenticated calls from the network are allowed. */
function warnOfNetwork(addresses: readonly string[], logger: Logger): void {
  const open = addresses.filter((address) => !isLocal(address));
  if (open.length === 0) return;
  const risk =
    "calls are not authenticated: any client that reaches these addresses can use the providers' keys";
  logger.warn({ addresses: open }, `${risk}; listen on loopback or a Unix socket, or limit who reaches them`);
}
