import type { Logger } from "pino";
import type { Config, ListenersConfig, ListenerTls, ServedClient, TlsFiles } from "../config/index.ts";
import { MemoryAccount } from "../core/memory-account.ts";
import { ModelDirectory } from "../endpoints/models/model-directory.ts";
import { createV1Api } from "../endpoints/v1.ts";
import type { SharedStores } from "../middleware/shared/shared-stores.ts";
import type { StoreState } from "../runs/lazy-engine.ts";
import type { McpSettings } from "../runs/mcp/settings.ts";
import {
  type AccessControl,
  createCatalogService,
  createEmbeddingService,
  createGenerationService,
  createInferenceService,
  createRunService,
  createThreadService,
  type ListenersOptions,
  type RunningServer,
  type ShutdownPart,
  startServer,
} from "../server/index.ts";
import { createIdleMemory } from "../server/telemetry/idle-memory.ts";
import { createCallLog } from "../server/telemetry/logging.ts";
import { createMetrics, type Metrics, type MetricsOptions } from "../server/telemetry/metrics.ts";
import type { Tracing } from "../server/tracing/open-tracing.ts";
import { openRuns } from "./runs.ts";
import { version } from "./version.ts";

/** The parts of a sidecar. */
export interface SidecarOptions {
  readonly config: Config;
  /** Closed with the sidecar. */
  readonly client: ServedClient;
  /** Returns the settings of MCP servers, which may change. */
  readonly getMcp: () => McpSettings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Decides who may call. Undefined if every client that reaches the data listener may call. */
  readonly access?: AccessControl | undefined;
  /** Undefined if tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** Counts that this sidecar shares with others. */
  readonly shared?: SharedStores | undefined;
  /** Lists what is degraded in further parts, for `/readyz?verbose`. */
  readonly listProblems?: (() => readonly string[]) | undefined;
  /** Further parts to close with the sidecar, after the client. */
  readonly parts?: readonly ShutdownPart[] | undefined;
}

/** Starts the server of `outrigger serve` and `outrigger demo`: the services over a client, the log and the metrics. */
export async function startSidecar(options: SidecarOptions): Promise<RunningServer> {
  const { config, client, logger, metrics, access, tracing, shared, parts = [] } = options;
  const idleMemory = createIdleMemory();
  const observers = [metrics, createCallLog(logger), idleMemory, ...(tracing ? [tracing.observer] : [])];
  const { limits } = config.listeners;
  const account = new MemoryAccount({ limits, isShared: access && (() => access.hasSeveralCallers) });
  const { listeners, tlsFiles } = await openListeners(config.listeners, logger, metrics);
  const runs = await openRuns({ ...options, observers, account });
  const v1 = createV1Api({
    engine: runs,
    models: new ModelDirectory(client),
    account,
    allowsUnstoredContinuation: config.runs.allowsUnstoredContinuation ?? false,
    keepUnstoredMs: config.runs.keepUnstoredMs,
  });
  return startServer({
    listeners,
    reflection: config.reflection,
    access,
    account,
    services: [
      createInferenceService(client),
      createEmbeddingService(client),
      createGenerationService(client, limits),
      createRunService(runs, client),
      createThreadService(runs, client),
      createCatalogService(client),
    ],
    http: {
      apis: v1.apis,
      client,
    },
    observers,
    metrics,
    listProblems: () => [
      ...describeStore(metrics.runs.storeState),
      ...(shared?.problems ?? []),
      ...(metrics.isConfigCurrent ? [] : ["configuration: the changed file cannot be used, see the log"]),
      ...(options.listProblems?.() ?? []),
    ],
    shutdown: {
      timeoutMs: config.shutdown.timeoutMs,
      parts: [
        { name: "idle memory", close: () => idleMemory.stop() },
        ...tlsFiles.map((files) => ({ name: "TLS files", close: () => files.close() })),
        { name: "HTTP APIs", close: () => v1.close() },
        { name: "runs", drain: () => runs.drain(), close: () => runs.close() },
        { name: "client", close: () => client.close() },
        ...(shared ? [{ name: "shared counts", close: () => shared.close() }] : []),
        ...parts,
        ...(tracing ? [{ name: "traces", close: () => tracing.close() }] : []),
        { name: "log", close: () => flush(logger) },
      ],
    },
    logger,
  });
}

/** Follows the files of listeners with TLS. */
async function openListeners(
  { data, admin, ...rest }: ListenersConfig,
  logger: Logger,
  metrics: Metrics,
): Promise<{ readonly listeners: ListenersOptions; readonly tlsFiles: readonly TlsFiles[] }> {
  const tlsFiles: TlsFiles[] = [];
  const open = async (listener: "data" | "admin", tls: ListenerTls | undefined) => {
    if (tls === undefined) return undefined;
    const onUse = (expiresAt: Date) => metrics.certificateUsed(listener, expiresAt);
    const files = new (await import("../config/tls-files.ts")).TlsFiles(tls, logger, onUse);
    tlsFiles.push(files);
    return files;
  };
  const listeners = {
    ...rest,
    data: { ...data, tls: await open("data", data.tls) },
    admin: admin && { ...admin, tls: await open("admin", admin.tls) },
  };
  return { listeners, tlsFiles };
}

/**
 * Creates the metrics of a sidecar. Models that the configuration names, or the catalog has, get separate labels.
 * @param getClient Returns the client. Not called before the first call is counted.
 * @param sources Read when the metrics are rendered.
 */
export function createSidecarMetrics(
  getClient: () => ServedClient,
  sources: Partial<Pick<MetricsOptions, "readDroppedLogLines" | "listIssuers">> = {},
): Metrics {
  return createMetrics({
    version,
    isKnownProvider: (provider) => getClient().providers.has(provider),
    isKnownModel: (_provider, model) => getClient().hasModel(model),
    ...sources,
  });
}

/** Describes what is wrong with the store of runs. */
function describeStore(state: StoreState): readonly string[] {
  switch (state) {
    case "ok":
      return [];
    case "full":
      return ["store of runs: full, so no runs are stored"];
    case "unreachable":
      return ["store of runs: cannot be reached, so calls that need stored runs fail"];
  }
}

/** Flushes the buffered log lines. */
function flush(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}
