import { defaultCatalog } from "../catalog/catalog.ts";
import { buildClient, loadConfig } from "../config/index.ts";
import { ConfigurationError } from "../core/errors.ts";
import { startServer } from "../server/index.ts";
import { createLogger } from "../server/telemetry/logging.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags } from "./flags.ts";
import { stopSignal } from "./stop-signal.ts";
import type { Terminal } from "./terminal.ts";
import { version } from "./version.ts";

const FLAGS = {
  config: { type: "string" },
  listen: { type: "string", multiple: true },
  "admin-listen": { type: "string" },
  "default-provider": { type: "string" },
  "log-level": { type: "string" },
} as const;

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
    },
  });
  if (config.providers.size === 0) throw noProvider(config.remedy);
  await using client = buildClient(config);
  const logger = createLogger({ level: config.logLevel });
  const server = await startServer({
    ...config,
    inference: client,
    catalog: defaultCatalog,
    logger,
    version,
  });
  const stopped = stopSignal();
  for (const notice of config.notices) logger.warn(notice);
  const { providerNames: providers, defaultProvider } = client;
  logger.info({ version, providers, default_provider: defaultProvider }, "serving");
  logger.info({ signal: await stopped }, "stopping");
  await server.drain();
  await server.close();
  logger.info("stopped");
  return exitCodes.ok;
}

function noProvider(remedy: string): ConfigurationError {
  const advice = 'Name one in a configuration file, or try "outrigger demo", which needs no key.';
  return new ConfigurationError(`no provider is configured. ${remedy}\n${advice}`);
}
