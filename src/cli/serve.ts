import type { Logger } from "pino";
import { getTraceName } from "../client/providers.ts";
import {
  AccessKeysFile,
  buildClient,
  type Config,
  createCatalogWith,
  type KeyFiles,
  loadConfig,
  openKeyFiles,
} from "../config/index.ts";
import { AccessControl } from "../server/index.ts";
import { isLocal } from "../server/listen/address.ts";
import { createLogOutput } from "../server/telemetry/log-output.ts";
import { createLogger } from "../server/telemetry/logging.ts";
import type { Tracing } from "../server/tracing/open-tracing.ts";
import { checkSetup } from "./check-setup.ts";
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
  const config = await loadConfig({
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
  checkSetup(config);
  const output = createLogOutput(STDOUT);
  const logger = createLogger({ ...config.log, destination: output });
  for (const files of config.tlsFiles) files.follow(logger);
  const keyFiles = openKeyFiles(config.client, logger);
  const accessKeys = config.access.keys && new AccessKeysFile(config.access.keys, logger);
  const access = createAccess(config, accessKeys);
  const catalog = createCatalogWith(config.client);
  const metrics = createSidecarMetrics(config, catalog, () => output.droppedLines);
  const client = buildClient(config.client, { keyFiles, catalog, log: logger, observer: metrics });
  const tracing = await openTracing(config, logger);
  const sidecar = await startSidecar({ config, client, logger, metrics, access, tracing });
  const stopped = stopSignal();
  process.on("SIGHUP", () => {
    reload(keyFiles, logger);
    accessKeys?.reload();
  });
  for (const notice of config.notices) logger.warn(notice);
  if (access === undefined) warnOfNetwork(sidecar.addresses, logger);
  const { providerNames: providers, defaultProvider } = client;
  logger.info({ version, providers, default_provider: defaultProvider }, "serving");
  logger.info({ signal: await stopped }, "stopping");
  await sidecar.drain();
  await sidecar.close();
  logger.info("stopped");
  return exitCodes.ok;
}

/** Loads tracing if it is on. */
async function openTracing({ tracing, client }: Config, logger: Logger): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { openTracing: open } = await import("../server/tracing/open-tracing.ts");
  const getProviderName = (name: string) => {
    const api = client.providers.get(name)?.api;
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

function reload(keyFiles: KeyFiles, logger: Logger): void {
  logger.info({ signal: "SIGHUP", providers: keyFiles.reload() }, "read the key files again");
}
