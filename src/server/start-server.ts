import { ConfigurationError } from "../core/errors.ts";
import { createConnectTransport } from "./connect/transport.ts";
import { drain } from "./drain.ts";
import { createGrpcTransport } from "./grpc/transport.ts";
import { createAdminHandler } from "./http/admin.ts";
import { createOriginCheck } from "./http/origin.ts";
import { createRequestHandler } from "./http/request-handler.ts";
import { type Listener, openListener } from "./listen/listener.ts";
import { DEFAULT_LIMITS, type Limits, type RunningServer, type ServerOptions } from "./options.ts";
import { createServices, type Services } from "./services/services.ts";
import { type CallObserver, createCallObserver } from "./telemetry/call-observer.ts";
import { createIdleMemory, type IdleMemory } from "./telemetry/idle-memory.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";

const DEFAULT_DRAIN_TIMEOUT_MS = 30_000;

/**
 * Starts the server: opens the door, and the admin listener where one is asked for. Opens
 * both or none.
 * @throws ConfigurationError for an address that is wrong, missing or cannot be bound.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  if (options.listen.length === 0) {
    throw new ConfigurationError("listen: is empty, expected at least one address");
  }
  const parts = assemble(options);
  const door = await openDoor(options, parts);
  const admin = await openAdmin(options, parts).catch(async (error: unknown) => {
    await door.close();
    throw error;
  });
  options.logger.info({ addresses: door.addresses, admin_address: admin?.addresses[0] }, "listening");
  // Whoever started us may be waiting for this line.
  options.logger.flush();
  return runningServer(options, parts, door, admin);
}

interface Parts {
  readonly limits: Limits;
  readonly services: Services;
  readonly metrics: Metrics;
  readonly idleMemory: IdleMemory;
  readonly observer: CallObserver;
}

function assemble(options: ServerOptions): Parts {
  const metrics = createMetrics(options.version);
  const idleMemory = createIdleMemory();
  return {
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    services: createServices(options),
    metrics,
    idleMemory,
    observer: createCallObserver({ logger: options.logger, metrics, idleMemory }),
  };
}

function openDoor({ listen, cors }: ServerOptions, parts: Parts): Promise<Listener> {
  const { limits, services, observer } = parts;
  const transport = createConnectTransport(services.routes, limits);
  const handler = createRequestHandler({ transport, checkOrigin: createOriginCheck(cors), observer });
  const streams = createGrpcTransport({ routes: services.routes, limits, observer });
  return openListener({ field: "listen", addresses: listen, limits, handler, streams });
}

async function openAdmin({ adminListen }: ServerOptions, parts: Parts): Promise<Listener | undefined> {
  if (adminListen === undefined) return undefined;
  const { limits, services, observer, metrics } = parts;
  const transport = createConnectTransport(services.adminRoutes, limits);
  const handler = createAdminHandler({
    isReady: () => services.health.serving,
    renderMetrics: () => metrics.render(),
    fallback: createRequestHandler({ transport, checkOrigin: createOriginCheck(undefined), observer }),
  });
  return openListener({ field: "admin_listen", addresses: [adminListen], limits, handler });
}

function runningServer(
  { drainTimeoutMs = DEFAULT_DRAIN_TIMEOUT_MS, logger }: ServerOptions,
  { services: { health }, idleMemory }: Parts,
  listener: Listener,
  admin: Listener | undefined,
): RunningServer {
  let draining: Promise<void> | undefined;
  return {
    addresses: listener.addresses,
    adminAddress: admin?.addresses[0],
    drain() {
      draining ??= drain({ health, listener, timeoutMs: drainTimeoutMs, logger });
      return draining;
    },
    async close() {
      health.shutDown();
      await Promise.all([listener.close(), admin?.close()]);
      idleMemory.stop();
    },
  };
}
