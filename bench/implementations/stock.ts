/**
 * The implementation `stock`: Outrigger's own services, client, log and metrics behind connect-node,
 * set up as in its documentation. The difference to Outrigger is the cost of the transport.
 */
import { createServer, type Http2ServerRequest } from "node:http2";
import { createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { defaultCatalog } from "../../src/catalog/catalog.ts";
import { Client } from "../../src/client/client.ts";
import { requestIdOf } from "../../src/server/http/id-headers.ts";
import { createServices } from "../../src/server/services/services.ts";
import { type Call, callKey, createCall } from "../../src/server/telemetry/call.ts";
import { createCallObserver } from "../../src/server/telemetry/call-observer.ts";
import { createLogger } from "../../src/server/telemetry/logging.ts";
import { createMetrics } from "../../src/server/telemetry/metrics.ts";
import { listenAddress } from "./listen-address.ts";

const logger = createLogger();
const observer = createCallObserver({ logger, metrics: createMetrics("bench") });
const services = createServices({ inference: Client.fromEnv(), catalog: defaultCatalog });
const calls = new WeakMap<object, Call>();

const handle = connectNodeAdapter({
  routes: services.routes,
  contextValues(request) {
    return createContextValues().set(callKey, calls.get(request));
  },
});

const server = createServer((request, response) => {
  const call = callOf(request);
  calls.set(request, call);
  response.setHeader("x-request-id", call.requestId);
  observer.begin(call);
  response.once("close", () => observer.end(call));
  handle(request, response);
});

server.listen(listenAddress(), () => logger.info("listening"));

process.once("SIGTERM", () => process.exit(0));

function callOf(request: Http2ServerRequest): Call {
  const call = createCall({
    rpc: request.url.slice(1),
    requestId: requestIdOf(request.headers["x-request-id"]),
    httpVersion: "2.0",
  });
  call.protocol = "grpc";
  return call;
}
