import { constants } from "node:http2";
import { createRegistry, type DescFile, type Registry } from "@bufbuild/protobuf";
import { Code, createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { Endpoint, Transport } from "../http/transport.ts";
import type { HttpRequest, HttpResponse } from "../listen/http-types.ts";
import type { Limits } from "../options.ts";
import { withImports } from "../services/descriptor-files.ts";
import type { Routes } from "../services/services.ts";
import { refusalOf, sendRefusal } from "../status/refusal.ts";
import type { Call } from "../telemetry/call.ts";
import { watchContext } from "./context.ts";
import { universalRequestOf } from "./request.ts";
import { PeerClosedError, sendResponse } from "./response.ts";

/**
 * Serves gRPC, gRPC-Web, Connect and JSON through Connect's handlers, over HTTP/1.1 and HTTP/2.
 * They are made when the first request asks for one: who is called by gRPC alone never needs them.
 */
export function createConnectTransport(routes: Routes, limits: Limits): Transport {
  let endpoints: ReadonlyMap<string, Endpoint> | undefined;
  return {
    find(path) {
      endpoints ??= endpointsOf(routes, limits);
      return endpoints.get(path);
    },
  };
}

function endpointsOf(routes: Routes, limits: Limits): ReadonlyMap<string, Endpoint> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    compressMinBytes: NEVER_COMPRESS,
    readMaxBytes: limits.maxMessageBytes,
    // A misspelled field in hand-written JSON is an error that names it, not silence.
    jsonOptions: { ignoreUnknownFields: false, registry: typesOf(routes) },
    requestGate: watchContext,
  });
  routes(router);
  return new Map(router.handlers.map((handler) => [handler.requestPath, endpointOf(handler)]));
}

/** What an Any may hold in JSON, which names its type: whatever the files of the services declare. */
function typesOf(routes: Routes): Registry {
  const files: DescFile[] = [];
  routes({ service: ({ file }) => files.push(file) });
  return createRegistry(...withImports(files).values());
}

// Callers sit on the same machine, where bytes are cheaper than the time to compress them.
const NEVER_COMPRESS = Number.MAX_SAFE_INTEGER;

function endpointOf(handler: UniversalHandler): Endpoint {
  return {
    rpc: handler.requestPath.slice(1),
    async serve(call, request, response) {
      try {
        await serve(handler, call, request, response);
      } catch (error) {
        noteBreak(call, error, response);
      }
    },
  };
}

async function serve(
  handler: UniversalHandler,
  call: Call,
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> {
  const answer = await handler(universalRequestOf(call, request, response));
  if (answer.status !== OK && answer.body === undefined) {
    sendRefusal(call, request, response, refusalOf(answer.status, handler));
    return;
  }
  const isUnary = handler.method.methodKind === "unary";
  await sendResponse(answer, response, {
    // A unary answer is one message and its end.
    moreReady: () => isUnary || call.moreReady,
    hasLeft: () => call.abandoned,
  });
  dismissRest(request);
}

/** Sees to what the peer may still be sending though it has its answer. */
function dismissRest(request: HttpRequest): void {
  if (request.complete) return;
  // Tells it to stop, or it would wait for a window that never opens (RFC 9113 §8.1).
  if ("stream" in request) request.stream.close(constants.NGHTTP2_NO_ERROR);
  // Until it has passed, the connection is not free.
  else request.resume();
}

const OK = 200;

/** The peer left, of which the call knows or hears now; or it is a bug, of which the peer hears by a reset. */
function noteBreak(call: Call, error: unknown, response: HttpResponse): void {
  call.abandoned ||= error instanceof PeerClosedError;
  if (call.abandoned) {
    call.code = Code.Canceled;
    return;
  }
  call.code = Code.Internal;
  call.fault = error;
  response.destroy();
}
