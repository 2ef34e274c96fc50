import { startSimulator } from "../../simulator/index.ts";
import { defaultCatalog } from "../catalog/catalog.ts";
import { getSimulatorUrl, type ProviderSettings, wireDefinitions } from "../client/providers.ts";
import { loadConfig, ServedClient } from "../config/index.ts";
import { Capability } from "../gen/outrigger/v1/catalog_service_pb.ts";
import { createLogger } from "../server/telemetry/logging.ts";
import { demoText } from "./demo-text.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags } from "./flags.ts";
import { createSidecarMetrics, startSidecar } from "./sidecar.ts";
import { stopSignal } from "./signals.ts";
import type { Terminal } from "./terminal.ts";

const FLAGS = {
  listen: { type: "string", multiple: true },
  "admin-listen": { type: "string" },
  "log-level": { type: "string" },
} as const;

/** `outrigger demo`: runs the sidecar with the simulator behind it until a signal stops it. */
export async function demo(args: readonly string[], { env, stdout }: Terminal): Promise<number> {
  const loaded = await loadConfig({ environment: demoEnvironment(env), flags: parseFlags(args, FLAGS) });
  // The simulator is on loopback, so the proxy of this machine must not be used.
  process.env.no_proxy = "*";
  const simulator = await startSimulator({ aliases: createAliases() });
  const providers = createProviders(simulator.url);
  const [defaultProvider = ""] = providers.keys();
  const config = { ...loaded, client: { ...loaded.client, providers, defaultProvider } };
  const logger = createLogger({ level: config.log.level, destination: process.stderr });
  const client = new ServedClient(config.client, { log: logger });
  const sidecar = await startSidecar({
    config,
    client,
    getMcp: () => config.mcp,
    metrics: createSidecarMetrics(() => client),
    logger,
    parts: [{ name: "simulator", close: () => simulator.close() }],
  });
  // SIGHUP means that the terminal of the program was closed.
  const stopped = stopSignal(["SIGHUP"]);
  stdout.write(demoText({ ...sidecar, simulatorUrl: simulator.url, providers: [...providers.keys()] }));
  await stopped;
  await sidecar.drain();
  await sidecar.close();
  return exitCodes.ok;
}

/** Embedding models. The catalog has only models that generate text. */
const EMBEDDING_MODELS: readonly string[] = [
  "text-embedding-3-small",
  "text-embedding-3-large",
  "gemini-embedding-001",
];

/**
 * Returns the models of the catalog as models of the simulator, so that requests without a model or with a real one
 * work.
 */
function createAliases(): Readonly<Record<string, string>> {
  const models = wireDefinitions.flatMap(({ catalogProvider }) =>
    catalogProvider === undefined ? [] : defaultCatalog.listModels(catalogProvider),
  );
  const names = models.flatMap(({ id, aliases, capabilities }) => {
    const script = capabilities.includes(Capability.REASONING) ? "sim-reasoning" : "sim-tools";
    return [id, ...aliases].map((name) => [name, script] as const);
  });
  const embedding = EMBEDDING_MODELS.map((name) => [name, "sim-text"] as const);
  return Object.fromEntries([...names, ...embedding]);
}

/**
 * Registers the simulator under each wire API, with the names that the environment would give the providers. Its models
 * are the same in each.
 */
function createProviders(origin: string): ReadonlyMap<string, ProviderSettings> {
  return new Map(
    wireDefinitions.map((definition) => {
      const { api, environment, simulatorOptions } = definition;
      const baseUrl = getSimulatorUrl(definition, origin);
      return [environment.provider, { ...simulatorOptions, api, apiKey: "demo-key", baseUrl }];
    }),
  );
}

/** Returns the variables that a demo reads. By default, its admin port is not open to the network. */
function demoEnvironment(env: Terminal["env"]): Terminal["env"] {
  return {
    OUTRIGGER_LISTEN: env.OUTRIGGER_LISTEN,
    OUTRIGGER_ADMIN_LISTEN: env.OUTRIGGER_ADMIN_LISTEN || "127.0.0.1:6191",
    OUTRIGGER_LOG_LEVEL: env.OUTRIGGER_LOG_LEVEL || "warn",
  };
}
