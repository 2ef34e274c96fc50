import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { Code, createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { takesTextResponse } from "../http/grpc-web-text.ts";
import type { HttpApi, HttpRoute } from "../http/http-api.ts";
import { PeerClosedError } from "../http/peer-closed-error.ts";
import { discardBody } from "../http/request-body.ts";
import type { HttpRequest, HttpResponse } from "../listen/http-types.ts";
import type { Limits } from "../options.ts";
import { withImports } from "../services/descriptor-files.ts";
import type { Service } from "../services/service.ts";
import { rejectionOf, sendRejection } from "../status/rejection.ts";
import { type ServeStream, streamServersOf } from "../streaming/stream-servers.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import { disconnectedOutcome, type TransportOutcome } from "../telemetry/outcome.ts";
import { watchContext } from "./context.ts";
import { ConnectExchange } from "./exchange.ts";
import { textResponseOf } from "./grpc-web-text.ts";
import { registerServices } from "./register-services.ts";
import { universalRequestOf } from "./request.ts";
import { sendResponse } from "./response.ts";

/**
 * Serves gRPC-Web, Connect and JSON, and gRPC where the gRPC transport does not take it, over HTTP/1.1 and HTTP/2.
 * Calls that are answered with a stream go to `streaming/`, all others to Connect's handlers. Both are made for the first
 * request: a server whose clients all speak gRPC never needs them.
 */
export function createConnectApi(services: readonly Service[], limits: Limits): HttpApi {
  let routes: ReadonlyMap<string, HttpRoute> | undefined;
  return {
    find(path) {
      routes ??= routesOf(services, limits);
      return routes.get(path);
    },
    reject: sendRejection,
  };
}

function routesOf(services: readonly Service[], limits: Limits): ReadonlyMap<string, HttpRoute> {
  // A misspelt field in hand-written JSON is an error that names it.
  const jsonOptions = { ignoreUnknownFields: false, registry: typesOf(services) };
  const compressions = [compressionGzip, compressionBrotli];
  const { maxMessageBytes } = limits;
  const router = createConnectRouter({
    acceptCompression: compressions,
    compressMinBytes: NEVER_COMPRESS,
    readMaxBytes: maxMessageBytes,
    jsonOptions,
    requestGate: watchContext,
  });
  registerServices(router, services);
  const streams = streamServersOf(services, { compressions, jsonOptions, maxMessageBytes });
  return new Map(
    router.handlers.map((handler) => [
      handler.requestPath,
      routeOf(handler, streams.get(handler.requestPath)),
    ]),
  );
}

/** The types that an Any may hold in JSON, which names them: all that the files of the services declare. */
function typesOf(services: readonly Service[]): Registry {
  return createRegistry(...withImports(services.map(({ desc }) => desc.file)).values());
}

// Clients are on the same machine, where bytes cost less than compressing them.
const NEVER_COMPRESS = Number.MAX_SAFE_INTEGER;

function routeOf(handler: UniversalHandler, stream: ServeStream | undefined): HttpRoute {
  return {
    name: handler.requestPath.slice(1),
    isObserved: true,
    serve: (request, response, recorder) =>
      stream?.(request, response, recorder) ?? serveByHandler(handler, request, response, recorder),
  };
}

async function serveByHandler(
  handler: UniversalHandler,
  request: HttpRequest,
  response: HttpResponse,
  recorder: CallRecorder,
): Promise<TransportOutcome> {
  const exchange = new ConnectExchange(recorder);
  try {
    return await serve(handler, exchange, request, response);
  } catch (error) {
    return outcomeOfBreak(exchange, error, response);
  }
}

async function serve(
  handler: UniversalHandler,
  exchange: ConnectExchange,
  request: HttpRequest,
  response: HttpResponse,
): Promise<TransportOutcome> {
  const answered = await handler(universalRequestOf(exchange, request, response));
  const answer = takesTextResponse(request.headers) ? textResponseOf(answered) : answered;
  if (answer.status !== OK && answer.body === undefined)
    return sendRejection(request, response, rejectionOf(answer.status, handler));
  const { responseIds } = exchange.recorder;
  for (const [name, value] of Object.entries(responseIds)) answer.header?.set(name, value);
  await sendResponse(answer, response, {
    isUnary: handler.method.methodKind === "unary",
    isDisconnected: () => exchange.disconnected,
  });
  discardBody(request);
  return exchange.outcome;
}

const OK = 200;

/** The outcome where sending broke off: the peer is gone, or there is a bug and the peer gets a reset. */
function outcomeOfBreak(exchange: ConnectExchange, error: unknown, response: HttpResponse): TransportOutcome {
  if (exchange.disconnected || error instanceof PeerClosedError) return disconnectedOutcome();
  response.destroy();
  return { code: Code.Internal, disconnected: false, fault: error };
}
