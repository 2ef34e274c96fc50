/** grpc.testing.TestService behind our listener: a service of another contract, with every kind of method. */
import type { ServiceImpl } from "@connectrpc/connect";
import type { Limits } from "../../../src/server/base/limits.ts";
import { createService } from "../../../src/server/calls/service.ts";
import { startServer } from "../../../src/server/start-server.ts";
import { createCallLog } from "../../../src/server/telemetry/logging.ts";
import { createMetrics, type Metrics } from "../../../src/server/telemetry/metrics.ts";
import { TestService } from "../../conformance/gen/grpc/testing/test_pb.ts";
import { type LogLine, recordingLogger } from "./test-server.ts";

/** The service, running. */
export interface RunningTestService {
  readonly url: string;
  /** The lines of calls. */
  readonly log: LogLine[];
  readonly metrics: Metrics;
  close(): Promise<void>;
}

/** Serves the methods that are given; the others are UNIMPLEMENTED. */
export async function startTestService(
  implementation: Partial<ServiceImpl<typeof TestService>>,
  limits: Partial<Limits> = {},
): Promise<RunningTestService> {
  const calls = recordingLogger();
  const metrics = createMetrics({ version: "0.0.0-test" });
  const server = await startServer({
    listeners: { data: { addresses: ["127.0.0.1:0"] }, limits },
    services: [createService(TestService, implementation)],
    observers: [metrics, createCallLog(calls.logger)],
    reflection: false,
    logger: recordingLogger().logger,
  });
  return { url: `http://${server.addresses[0]}`, log: calls.lines, metrics, close: () => server.close() };
}
