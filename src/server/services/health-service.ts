import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { boundedText } from "../../core/text.ts";
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
  Health as HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { createService, type Service } from "../calls/service.ts";

/** The serving status of a server, for `grpc.health.v1` and the probes of the admin listener. */
export interface Health {
  /** The implementation of `grpc.health.v1`, for any number of listeners. */
  readonly service: ServiceImpl<typeof HealthService>;
  /** Whether calls are accepted. */
  readonly serving: boolean;
  /** Sets the status of all services to NOT_SERVING for good. Watches report it and end. */
  shutDown(): void;
}

/**
 * Creates the health of a serving server.
 * @param serviceNames Full names of its services. The empty name, the server itself, is added.
 */
export function createHealth(serviceNames: readonly string[]): Health {
  const names = new Set(["", ...serviceNames]);
  const shutdown = new AbortController();
  let watches = 0;
  const getStatus = (name: string): ServingStatus => {
    if (!names.has(name)) return ServingStatus.SERVICE_UNKNOWN;
    return shutdown.signal.aborted ? ServingStatus.NOT_SERVING : ServingStatus.SERVING;
  };
  return {
    service: {
      check: (request) => check(request, getStatus),
      list() {
        const statuses = [...names].map((name) => [name, createResponse(getStatus(name))] as const);
        return create(HealthListResponseSchema, { statuses: Object.fromEntries(statuses) });
      },
      async *watch(request, context) {
        if (watches >= MAX_WATCHES) throw tooManyWatches();
        watches += 1;
        try {
          yield* watch(request, context, getStatus, shutdown.signal);
        } finally {
          watches -= 1;
        }
      },
    },
    get serving() {
      return !shutdown.signal.aborted;
    },
    shutDown: () => shutdown.abort(),
  };
}

/** Creates `grpc.health.v1`. Needs no access key, since probes and load balancers have none. */
export function createHealthService(health: Health): Service {
  return createService(HealthService, health.service, { isInHealth: false, isOpen: true });
}

type StatusLookup = (service: string) => ServingStatus;

const MAX_NAME_BYTES = 128;

/**
 * Maximum number of concurrent watches. They need no access key and do not end, so they must not use up the calls of
 * callers with a key.
 */
const MAX_WATCHES = 100;

function tooManyWatches(): ConnectError {
  return new ConnectError(`${MAX_WATCHES} health watches are already open`, Code.ResourceExhausted);
}

function check({ service }: HealthCheckRequest, getStatus: StatusLookup): HealthCheckResponse {
  const status = getStatus(service);
  if (status !== ServingStatus.SERVICE_UNKNOWN) return createResponse(status);
  throw new ConnectError(`unknown service "${boundedText(service, MAX_NAME_BYTES)}"`, Code.NotFound);
}

/** Reports the current status and its change. It changes once, when the server shuts down. */
async function* watch(
  { service }: HealthCheckRequest,
  context: HandlerContext,
  getStatus: StatusLookup,
  shutdown: AbortSignal,
): AsyncGenerator<HealthCheckResponse> {
  const status = getStatus(service);
  yield createResponse(status);
  await firstAborted(context.signal, shutdown);
  if (!context.signal.aborted && getStatus(service) !== status) yield createResponse(getStatus(service));
}

/** Resolves when one of the signals is aborted. Leaves no listeners behind. */
function firstAborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const signal of signals) signal.removeEventListener("abort", done);
      resolve();
    };
    if (signals.some((signal) => signal.aborted)) done();
    else for (const signal of signals) signal.addEventListener("abort", done);
  });
}

function createResponse(status: ServingStatus): HealthCheckResponse {
  return create(HealthCheckResponseSchema, { status });
}
