import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, type ConnectRouter, createConnectRouter, type HandlerContext } from "@connectrpc/connect";
import type { Compression as ConnectCompression, UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { withImports } from "../../../core/descriptor-files.ts";
import type { HttpRequest, HttpResponse } from "../../base/http-types.ts";
import type { Service } from "../../calls/service.ts";
import { PeerClosedError, type UnsentResponses } from "../../http/flushed-response.ts";
import { takesTextResponse } from "../../http/grpc-web-text.ts";
import { type Rejection, sendRejection, toRejection } from "../../http/rejection.ts";
import { discardBody } from "../../http/request-body.ts";
import { resetResponse } from "../../http/reset-response.ts";
import type { FindRoute, Route } from "../../http/route.ts";
import { BINARY_OPTIONS, binaryCodec, jsonCodec } from "../../requests/codec.ts";
import type { Compression } from "../../requests/decompress.ts";
import type { Intake } from "../../requests/intake.ts";
import { disconnectedOutcome, type TransportOutcome } from "../../telemetry/call-observer.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { createStreamServers, type ServeStream } from "../streaming/stream-servers.ts";
import { ConnectExchange, exchangeKey } from "./exchange.ts";
import { toUniversalRequest } from "./request.ts";
import type { BodyOptions } from "./request-body.ts";
import { sendResponse, toTextResponse } from "./response.ts";

/** The services that Connect's handlers serve, and the limits on their requests. */
export interface ConnectApiOptions {
  readonly services: readonly Service[];
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
  /** Compressions of requests that are accepted. */
  readonly compressions: readonly Compression[];
}

/**
 * Serves gRPC-Web, Connect and JSON over HTTP/1.1 and HTTP/2, and the gRPC requests that the gRPC transport does not
 * take. Calls with a streamed response go to `streaming/`, all others to Connect's handlers. Both are created for the
 * first request: a server whose clients all speak gRPC never needs them.
 */
export function createConnectRoutes(options: ConnectApiOptions): FindRoute {
  let routes: ReadonlyMap<string, Route> | undefined;
  return (path) => {
    routes ??= createRoutes(options);
    return routes.get(path);
  };
}

function createRoutes(options: ConnectApiOptions): ReadonlyMap<string, Route> {
  const { services, intake, unsent } = options;
  const { maxMessageBytes, maxHeaderListBytes } = intake.limits;
  // A misspelt field in hand-written JSON is an error that names it.
  const jsonOptions = { ignoreUnknownFields: false, registry: getTypes(services) };
  const compressions = options.compressions.map((name) => queryCompression(name, maxHeaderListBytes));
  const router = createConnectRouter({
    acceptCompression: compressions,
    compressMinBytes: NEVER_COMPRESS,
    readMaxBytes: maxMessageBytes,
    binaryOptions: BINARY_OPTIONS,
    jsonOptions,
    requestGate: watchContext,
  });
  registerServices(router, services);
  const streams = createStreamServers(services, { compressions, jsonOptions, intake, unsent });
  return new Map(
    router.handlers.map((handler) => [
      handler.requestPath,
      toRoute(handler, streams.get(handler.requestPath), options, {
        binary: binaryCodec(handler.method.input),
        json: jsonCodec(handler.method.input, jsonOptions),
      }),
    ]),
  );
}

/**
 * Returns a compression in Connect's form. Connect decompresses only the messages of GET requests, which travel in the
 * query and have the same size limit as other messages.
 */
function queryCompression(name: Compression, maxBytes: number): ConnectCompression {
  const compression = name === "gzip" ? compressionGzip : compressionBrotli;
  return {
    ...compression,
    decompress: (bytes, readMaxBytes) => compression.decompress(bytes, Math.min(maxBytes, readMaxBytes)),
  };
}

/**
 * Returns the types that an Any may hold in JSON, which names them: all types that the files of the services declare.
 */
function getTypes(services: readonly Service[]): Registry {
  return createRegistry(...withImports(services.map(({ desc }) => desc.file)).values());
}

// Clients run on the same machine, so compression costs more than the bytes that it saves.
const NEVER_COMPRESS = Number.MAX_SAFE_INTEGER;

function toRoute(
  handler: UniversalHandler,
  stream: ServeStream | undefined,
  options: ConnectApiOptions,
  codecs: BodyOptions["codecs"],
): Route {
  return {
    name: handler.requestPath.slice(1),
    isObserved: true,
    isOpen: options.services.some(({ desc, isOpen }) => isOpen && desc.typeName === handler.service.typeName),
    serve: (request, response, recorder) =>
      stream?.(request, response, recorder) ??
      serveByHandler(handler, options, codecs, request, response, recorder),
    reject: sendRejection,
  };
}

async function serveByHandler(
  handler: UniversalHandler,
  { intake, unsent, compressions }: ConnectApiOptions,
  codecs: BodyOptions["codecs"],
  request: HttpRequest,
  response: HttpResponse,
  recorder: CallRecorder,
): Promise<TransportOutcome> {
  const exchange = new ConnectExchange(recorder, intake.memory, request.rawHeaders.length / 2);
  try {
    const body = { exchange, intake, method: handler.method, codecs, compressions };
    return await serve(handler, body, unsent, request, response);
  } catch (error) {
    return getBreakOutcome(exchange, error, response);
  } finally {
    exchange.share?.release();
  }
}

async function serve(
  handler: UniversalHandler,
  body: BodyOptions,
  unsent: UnsentResponses,
  request: HttpRequest,
  response: HttpResponse,
): Promise<TransportOutcome> {
  const { exchange } = body;
  if (request.method === "GET" && !isQueryReadable(request.url ?? ""))
    return sendRejection(request, response, UNREADABLE_QUERY);
  const answered = await handler(toUniversalRequest(body, request, response));
  const answer = takesTextResponse(request.headers) ? toTextResponse(answered) : answered;
  if (answer.status !== OK && answer.body === undefined)
    return sendRejection(request, response, toRejection(answer.status, handler));
  const { recorder } = exchange;
  const headers = { ...recorder.responseIds, ...recorder.getTimingHeader() };
  for (const [name, value] of Object.entries(headers)) answer.header?.set(name, value);
  await sendResponse(answer, response, {
    isUnary: handler.method.methodKind === "unary",
    isDisconnected: () => exchange.disconnected,
    onMessage: (bytes) => exchange.share?.shrink(bytes),
    unsent,
  });
  discardBody(request);
  return exchange.outcome;
}

const OK = 200;

const UNREADABLE_QUERY: Rejection = {
  status: 400,
  code: Code.InvalidArgument,
  message: "message: expected base64, since the query has base64=1",
};

/**
 * Reports whether the message in the query of a GET request can be decoded. Connect would treat the failure as a fault
 * of the server.
 */
function isQueryReadable(url: string): boolean {
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
  if (query.get("base64") !== "1") return true;
  try {
    base64Decode(query.get("message") ?? "");
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the outcome of an interrupted response: the peer has disconnected, or there is a bug and the peer gets a
 * reset.
 */
function getBreakOutcome(
  exchange: ConnectExchange,
  error: unknown,
  response: HttpResponse,
): TransportOutcome {
  if (exchange.disconnected || error instanceof PeerClosedError) return disconnectedOutcome();
  resetResponse(response);
  return { code: Code.Internal, disconnected: false, fault: error };
}

/**
 * Follows a call through Connect's pipeline. Connect runs this as its request gate, before it reads the body. Connect
 * also aborts the context exactly once, with the error if the call failed, before it writes that error. So every
 * failure of every protocol passes here while its details can still be added.
 */
function watchContext({ values, signal }: HandlerContext): void {
  const exchange = values.get(exchangeKey);
  if (exchange === undefined) return;
  exchange.signal = signal;
  const onEnd = () => {
    if (!isPlainEnd(signal.reason)) exchange.fail(signal.reason);
  };
  if (signal.aborted) onEnd();
  else signal.addEventListener("abort", onEnd, { once: true });
  exchange.begin();
}

/** Connect ends a successful call by an abort without a reason, which creates an AbortError. */
function isPlainEnd(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "AbortError";
}

/** Registers all methods of services with one of Connect's routers. */
export function registerServices(router: ConnectRouter, services: readonly Service[]): void {
  for (const { methods } of services) {
    for (const spec of methods) {
      switch (spec.kind) {
        case "unary":
          router.rpc(spec.method, async (request, context) => {
            const exchange = context.values.get(exchangeKey);
            if (exchange !== undefined) exchange.unread = undefined;
            const answer = await spec.impl(request, context);
            if (exchange !== undefined) exchange.isAnswered = true;
            return answer;
          });
          break;
        case "client_streaming":
          router.rpc(spec.method, spec.impl);
          break;
        case "server_streaming":
          router.rpc(spec.method, spec.impl);
          break;
        case "bidi_streaming":
          router.rpc(spec.method, spec.impl);
          break;
      }
    }
  }
}
