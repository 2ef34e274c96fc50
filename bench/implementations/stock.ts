/**
 * The implementation `stock`: Outrigger's services, client, log and metrics behind connect-node, set up as in its
 * documentation. The difference from Outrigger is the cost of the transport.
 */
import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { defaultCatalog } from "../../src/catalog/catalog.ts";
import { Client } from "../../src/client/client.ts";
import { servedCallKey } from "../../src/server/calls/call-context.ts";
import { registerServices } from "../../src/server/rpc/connect/connect-api.ts";
import { createCatalogService } from "../../src/server/services/catalog-service.ts";
import { createHealth, createHealthService } from "../../src/server/services/health-service.ts";
import { createInferenceService } from "../../src/server/services/inference-service.ts";
import { createReflectionServices } from "../../src/server/services/reflection-service.ts";
import { CallRecorder, getRequestId } from "../../src/server/telemetry/call-recorder.ts";
import { createLogOutput } from "../../src/server/telemetry/log-output.ts";
import { createCallLog, createLogger } from "../../src/server/telemetry/logging.ts";
import { createMetrics } from "../../src/server/telemetry/metrics.ts";
import { listenAddress } from "./listen-address.ts";

const logger = createLogger({ destination: createLogOutput(1) });
const observers = [createMetrics({ version: "bench" }), createCallLog(logger)];
const ours = [createInferenceService(Client.fromEnv()), createCatalogService({ catalog: defaultCatalog })];
const health = createHealth(ours.map(({ desc }) => desc.typeName));
const services = [...ours, createHealthService(health)];
const recorders = new WeakMap<object, CallRecorder>();

const handle = connectNodeAdapter({
  routes: (router) => registerServices(router, [...services, ...createReflectionServices(services)]),
  contextValues(request) {
    const recorder = recorders.get(request);
    return createContextValues().set(servedCallKey, recorder && { recorder, share: undefined });
  },
});

const server =
  process.env.BENCH_HTTP_VERSION === "1.1"
    ? createHttp1Server((request, response) => {
        record(request, response);
        handle(request, response);
      })
    : createHttp2Server((request, response) => {
        record(request, response);
        handle(request, response);
      });

server.listen(listenAddress(), () => logger.info("listening"));

process.once("SIGTERM", () => process.exit(0));

function record(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void {
  const recorder = createRecorder(request);
  recorders.set(request, recorder);
  response.setHeader("x-request-id", recorder.call.requestId);
  response.once("close", () => recorder.end({ code: undefined, disconnected: false }));
}

function createRecorder({
  url = "",
  headers,
  httpVersion,
}: IncomingMessage | Http2ServerRequest): CallRecorder {
  const call = {
    rpc: url.slice(1),
    requestId: getRequestId(headers["x-request-id"]),
    httpVersion,
    protocol: httpVersion === "1.1" ? "connect" : "grpc",
  };
  return new CallRecorder(call, observers);
}
