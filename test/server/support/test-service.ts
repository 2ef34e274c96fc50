/** grpc.testing.TestService behind our transports: a service that is not ours, with every kind of method. */
import type { ServiceImpl } from "@connectrpc/connect";
import { createConnectTransport } from "../../../src/server/connect/transport.ts";
import { createGrpcTransport } from "../../../src/server/grpc/transport.ts";
import { createOriginCheck } from "../../../src/server/http/origin.ts";
import { createRequestHandler } from "../../../src/server/http/request-handler.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../src/server/options.ts";
import type { Routes } from "../../../src/server/services/services.ts";
import { createCallObserver } from "../../../src/server/telemetry/call-observer.ts";
import { createMetrics, type Metrics } from "../../../src/server/telemetry/metrics.ts";
import { TestService } from "../../conformance/gen/grpc/testing/test_pb.ts";
import { type LogLine, recordingLogger } from "./test-server.ts";

/** The service, running. */
export interface RunningTestService {
  readonly url: string;
  readonly log: LogLine[];
  readonly metrics: Metrics;
  close(): Promise<void>;
}

/** Serves the methods that are given; the others are UNIMPLEMENTED. */
export async function startTestService(
  implementation: Partial<ServiceImpl<typeof TestService>>,
  changes: Partial<Limits> = {},
): Promise<RunningTestService> {
  const limits = { ...DEFAULT_LIMITS, ...changes };
  const routes: Routes = (registry) => void registry.service(TestService, implementation);
  const { logger, lines } = recordingLogger();
  const metrics = createMetrics("0.0.0-test");
  const observer = createCallObserver({ logger, metrics });
  const transport = createConnectTransport(routes, limits);
  const listener = await openListener({
    field: "listen",
    addresses: ["127.0.0.1:0"],
    limits,
    handler: createRequestHandler({ transport, checkOrigin: createOriginCheck(undefined), observer }),
    streams: createGrpcTransport({ routes, limits, observer }),
  });
  return { url: `http://${listener.addresses[0]}`, log: lines, metrics, close: () => listener.close() };
}
