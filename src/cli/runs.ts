import type { Logger } from "pino";
import { type Config, openRunStore } from "../config/index.ts";
import { SDKError } from "../core/errors.ts";
import type { MemoryAccount } from "../core/memory-account.ts";
import { createLazyRunEngine, openWhenReachable, watchStore } from "../runs/lazy-engine.ts";
import type { McpSettings } from "../runs/mcp/settings.ts";
import type { RunEngine } from "../runs/run-engine.ts";
import { createBackgroundClient } from "../server/calls/background-calls.ts";
import type { AccessControl, ModelClient } from "../server/index.ts";
import type { CallObserver } from "../server/telemetry/call-observer.ts";
import { describeFault } from "../server/telemetry/logging.ts";
import type { Metrics } from "../server/telemetry/metrics.ts";
import type { Tracing } from "../server/tracing/open-tracing.ts";

/** The parts that the runs of a sidecar need. */
export interface RunsOptions {
  readonly config: Pick<Config, "runs" | "listeners">;
  /** Returns the settings of MCP servers, which may change. */
  readonly getMcp: () => McpSettings;
  readonly client: ModelClient;
  /** Observe the provider calls of background runs. */
  readonly observers: readonly CallObserver[];
  readonly metrics: Pick<Metrics, "runs">;
  /** Decides which models a background run may use. Undefined if all callers may use all models. */
  readonly access?: AccessControl | undefined;
  /** The memory of the process. */
  readonly account: MemoryAccount;
  readonly logger: Logger;
  /** Undefined if tracing is off. */
  readonly tracing?: Pick<Tracing, "traceMcpCall"> | undefined;
}

/** Names the host of the run database and the setting it comes from, without user name and password. */
function describeHost(store: Config["runs"]["store"]): string {
  // Addresses with several hosts or a Unix socket are not URLs.
  const host = store.kind === "postgres" ? URL.parse(store.url)?.host : undefined;
  return host === undefined ? "" : ` at ${host}, which runs.store names`;
}

/**
 * Opens the engine of a sidecar. An engine that keeps its runs in memory is loaded at the first run. Any other is
 * opened at once: mistakes in its configuration should be known at the start, and runs of an earlier process may wait
 * in its store. The sidecar starts even if a database cannot be reached: calls that need stored runs get UNAVAILABLE
 * until then.
 * @throws ConfigurationError if the configuration of the store is unusable; ServerError if its database refuses the
 *   sidecar.
 */
export async function openRuns(options: RunsOptions): Promise<RunEngine> {
  const { config, getMcp, client, observers, metrics, access, account, logger, tracing } = options;
  const { runs, listeners } = config;
  const { stallTimeoutMs } = listeners.limits;
  const report = (what: string, error: unknown) => {
    // The messages of our errors contain no data of a run.
    const problem = error instanceof SDKError ? { problem: error.message } : {};
    logger.warn({ ...problem, fault: describeFault(error) }, `could not ${what}`);
  };
  const warn = (problem: unknown) => {
    if (problem instanceof SDKError) logger.warn(problem.message);
    else report("use the store of runs", problem);
  };
  const openEngine = async () => {
    const [{ RunEngine }, { createMcpTools }] = await Promise.all([
      import("../runs/run-engine.ts"),
      import("../runs/mcp/mcp-tools.ts"),
    ]);
    const failed = (error: Error) => {
      metrics.runs.storeChanged("unreachable");
      report(`reach the database of runs${describeHost(runs.store)}`, error);
    };
    const opened = await openWhenReachable(() => openRunStore(runs, warn), failed);
    const store = watchStore(opened, (state, problem) => {
      metrics.runs.storeChanged(state);
      if (state === "ok") logger.info("the store of runs can be used again");
      else logger.warn({ problem, store: state }, "the store of runs cannot be used");
    });
    const observer = { ...metrics.runs, failed: report };
    return new RunEngine({
      client: createBackgroundClient(client, observers),
      callerNamed: access && ((name) => access.callerNamed(name)),
      store,
      limits: { ...(stallTimeoutMs === undefined ? {} : { stallTimeoutMs }), ...runs.limits },
      serverTools: createMcpTools(getMcp, metrics.runs.mcpCalled, tracing?.traceMcpCall),
      observer,
      account,
    });
  };
  return runs.store.kind === "memory" ? createLazyRunEngine(openEngine) : openEngine();
}
