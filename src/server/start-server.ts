import { ConfigurationError } from "../core/errors.ts";
import { MemoryAccount } from "../core/memory-account.ts";
import { DEFAULT_LIMITS, type Limits, toAdminLimits } from "./base/limits.ts";
import { abortCalls, type CallsInProgress, ShutdownError } from "./calls/call-context.ts";
import type { Service } from "./calls/service.ts";
import { createApiRoutes } from "./endpoints/api-routes.ts";
import { createAdminRoutes } from "./http/admin-routes.ts";
import { UnsentResponses } from "./http/flushed-response.ts";
import { createHostCheck, type HostCheck } from "./http/host.ts";
import { createOriginCheck } from "./http/origin.ts";
import { createRequestHandler, RequestChecks } from "./http/request-handler.ts";
import { type Listener, openListener } from "./listen/listener.ts";
import type { RunningServer, ServerOptions } from "./options.ts";
import { createIntake } from "./requests/intake.ts";
import { createConnectRoutes } from "./rpc/connect/connect-api.ts";
import { createGrpcTransport } from "./rpc/grpc/transport.ts";
import { createHealth, createHealthService, type Health } from "./services/health-service.ts";
import { createReflectionServices } from "./services/reflection-service.ts";
import { Shutdown, type ShutdownPart } from "./shutdown.ts";
import { toConnectError } from "./status/status.ts";
import type { CallObserver } from "./telemetry/call-observer.ts";
import { createUpgrades } from "./websocket/upgrades.ts";
import { WebSockets } from "./websocket/web-sockets.ts";

const DEFAULT_DRAIN_TIMEOUT_MS = 30_000;

/**
 * Starts a server: opens the data listener and, if it is configured, the admin listener. If either cannot be opened,
 * everything is closed again, the parts of `shutdown` included.
 * @throws ConfigurationError for an address that is wrong, missing or cannot be bound.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { logger } = options;
  const shared = shareParts(options);
  const opened: ShutdownPart[] = [];
  try {
    const data = await openData(options, shared);
    const { addresses } = data.listener;
    opened.push(dataPart(data, shared.health));
    const admin = await openAdmin(options, shared);
    if (admin !== undefined) opened.push({ name: "admin listener", close: () => admin.close() });
    const [adminAddress] = admin?.addresses ?? [];
    logger.info({ addresses, admin_address: adminAddress }, "listening");
    // A program that starts the sidecar may be waiting for this line.
    logger.flush();
    const shutdown = createShutdown(options, opened);
    return { addresses, adminAddress, drain: () => shutdown.drain(), close: () => shutdown.close() };
  } catch (error) {
    await createShutdown(options, opened).close();
    throw error;
  }
}

function createShutdown({ shutdown = {}, logger }: ServerOptions, opened: readonly ShutdownPart[]): Shutdown {
  const { timeoutMs = DEFAULT_DRAIN_TIMEOUT_MS, parts = [] } = shutdown;
  return new Shutdown({ parts: [...opened, ...parts], timeoutMs, logger });
}

/** The parts that both listeners use. */
interface Shared {
  readonly limits: Limits;
  readonly health: Health;
  readonly healthService: Service;
  readonly checkHost: HostCheck;
  readonly observers: readonly CallObserver[];
}

function shareParts({ listeners, services, observers = [] }: ServerOptions): Shared {
  const { data, admin, allowedHosts = [] } = listeners;
  const addresses = admin === undefined ? data.addresses : [...data.addresses, admin.address];
  const limits = { ...DEFAULT_LIMITS, ...listeners.limits };
  const names = services.filter(({ isInHealth }) => isInHealth).map(({ desc }) => desc.typeName);
  const health = createHealth(names);
  return {
    limits,
    health,
    healthService: createHealthService(health),
    checkHost: createHostCheck(allowedHosts, addresses),
    observers,
  };
}

/** The data listener, with functions that close its WebSockets and abort the calls still running after a drain. */
interface DataListener {
  readonly listener: Listener;
  drain(): void;
  abortCalls(): void;
}

async function openData(options: ServerOptions, shared: Shared): Promise<DataListener> {
  const { access, listeners, http } = options;
  const { unixSocketMode } = listeners;
  const { addresses, cors, tls } = listeners.data;
  if (addresses.length === 0) throw new ConfigurationError("listen: is empty, expected at least one address");
  const { limits, checkHost, observers } = shared;
  const services = listServices(options, shared);
  const { account = new MemoryAccount({ limits, isShared: access && (() => access.hasSeveralCallers) }) } =
    options;
  const intake = createIntake(limits, account);
  const unsent = new UnsentResponses(account);
  const rpcs = createConnectRoutes({ services, intake, unsent, compressions: ["gzip", "br"] });
  const calls: CallsInProgress = new Set();
  const sockets = new WebSockets(limits, account);
  const apiRoutes = http?.apis.map((api) =>
    createApiRoutes(api, { client: http.client, intake, unsent, calls, sockets }),
  );
  const checks = new RequestChecks({
    routes: [...(apiRoutes ?? []), rpcs],
    checkHost,
    checkOrigin: createOriginCheck(cors),
    access,
    observers,
  });
  const streams = createGrpcTransport({ services, intake, unsent, access, observers });
  const onRefused = createRefusalReport("data", limits.maxConnections, options);
  return {
    listener: await openListener({
      field: "listen",
      addresses,
      unixSocketMode,
      intake,
      handler: createRequestHandler(checks),
      streams,
      upgrades: createUpgrades({ limits, checks, sockets }),
      tls,
      onRefused,
    }),
    drain: () => sockets.drain(),
    abortCalls() {
      for (const service of services) service.abortCalls?.();
      abortCalls(calls);
      sockets.destroyAll();
      intake.arrivals.endAll(() => toConnectError(new ShutdownError()));
    },
  };
}

function listServices(
  { services, reflection = true }: ServerOptions,
  { healthService }: Shared,
): readonly Service[] {
  const served = [...services, healthService];
  return reflection ? [...served, ...createReflectionServices(served)] : served;
}

async function openAdmin(
  options: ServerOptions,
  { limits, health, healthService, checkHost, observers }: Shared,
): Promise<Listener | undefined> {
  const { listeners, metrics, listProblems = () => [] } = options;
  if (listeners.admin === undefined) return undefined;
  const pages = createAdminRoutes({
    isReady: () => health.serving,
    listProblems,
    renderMetrics: metrics === undefined ? undefined : () => metrics.render(),
  });
  const adminLimits = toAdminLimits(limits);
  // A separate account: clients of the admin listener take no memory from callers, and callers take none from probes.
  const account = new MemoryAccount({ limits: adminLimits });
  const intake = createIntake(adminLimits, account);
  const unsent = new UnsentResponses(account);
  // Probes and scrapes have no reason to compress.
  const rpcs = createConnectRoutes({ services: [healthService], intake, unsent, compressions: [] });
  const addresses = [listeners.admin.address];
  const routes = [pages, rpcs];
  const checkOrigin = createOriginCheck(undefined);
  const handler = createRequestHandler(new RequestChecks({ routes, checkHost, checkOrigin, observers }));
  const { unixSocketMode } = listeners;
  const onRefused = createRefusalReport("admin", intake.limits.maxConnections, options);
  const { tls } = listeners.admin;
  return openListener({ field: "admin_listen", addresses, unixSocketMode, intake, handler, onRefused, tls });
}

/**
 * Longest wait for the last frames of aborted calls: their status must arrive before the connection ends. On a busy
 * machine, hundreds of calls take seconds. Shorter than the time limit for closing a part.
 */
const ABORT_GRACE_MS = 4000;

/**
 * Returns the data listener as a part of the shutdown. Before it ends, the server is no longer ready and health watches
 * end. If the drain times out, the remaining calls get their status first.
 */
function dataPart({ listener, drain, abortCalls }: DataListener, health: Health): ShutdownPart {
  let drained: Promise<void> | undefined;
  return {
    name: "data listener",
    drain() {
      health.shutDown();
      drain();
      drained = listener.drain();
      return drained;
    },
    async close() {
      health.shutDown();
      abortCalls();
      if (drained !== undefined) await settledWithin(drained, ABORT_GRACE_MS);
      await listener.close();
    },
  };
}

/** Waits for a promise, but not longer than the timeout. */
async function settledWithin(promise: Promise<void>, timeoutMs: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** Shortest time between two lines about refused connections, in milliseconds. */
const INTERVAL_MS = 10_000;

/** Logs refused connections, many in one line. */
function createRefusalReport(
  listener: "data" | "admin",
  limit: number,
  { logger, metrics }: Pick<ServerOptions, "logger" | "metrics">,
): () => void {
  let count = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return () => {
    count += 1;
    metrics?.connectionRefused(listener);
    if (performance.now() - loggedAt < INTERVAL_MS) return;
    loggedAt = performance.now();
    logger.warn({ listener, limit, refused: count }, "too many connections");
    count = 0;
  };
}
