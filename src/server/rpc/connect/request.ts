import { createContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { HttpRequest, HttpResponse } from "../../base/http-types.ts";
import { servedCallKey } from "../../calls/call-context.ts";
import { isTextRequest, toBinaryType } from "../../http/grpc-web-text.ts";
import { MAX_TIMER_MS } from "../grpc/request-headers.ts";
import { type ConnectExchange, exchangeKey } from "./exchange.ts";
import { BODY_ENCODING, type BodyOptions, checkedBody, findCompression } from "./request-body.ts";

/** Converts a request to the form of Connect's handlers, with the exchange and its recorder in the context values. */
export function toUniversalRequest(
  options: BodyOptions,
  request: HttpRequest,
  response: HttpResponse,
): UniversalServerRequest {
  const { exchange } = options;
  const header = withoutEndlessDeadline(createHeaders(request, options));
  if (isTextRequest(request.headers))
    header.set("content-type", toBinaryType(header.get("content-type") ?? ""));
  const body = { [Symbol.asyncIterator]: () => checkedBody(request, options) };
  return {
    httpVersion: request.httpVersion,
    method: request.method ?? "",
    // Only path and query are read; the authority is chosen by the client.
    url: new URL(request.url ?? "/", "http://localhost").href,
    header,
    body,
    signal: createDisconnectSignal(exchange, response),
    contextValues: createContextValues().set(exchangeKey, exchange).set(servedCallKey, exchange),
  };
}

function createHeaders({ headers, method }: HttpRequest, { compressions }: BodyOptions): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    for (const each of typeof value === "string" ? [value] : value) result.append(name, each);
  }
  // The body is decompressed before Connect reads it.
  if (method === "POST" && findCompression(headers[BODY_ENCODING], compressions) !== undefined) {
    result.delete(BODY_ENCODING);
    result.delete("content-length");
  }
  return result;
}

/**
 * Creates a signal that is aborted when the peer closes the stream before the response is complete. Also records the
 * disconnect.
 */
function createDisconnectSignal(exchange: ConnectExchange, response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (response.writableEnded) return;
    exchange.disconnected = true;
    controller.abort();
  });
  return controller.signal;
}

/**
 * Removes a deadline over 24.8 days, the longest timer. Clients without a deadline send such values; as a timer they
 * would overflow and fire at once.
 */
function withoutEndlessDeadline(header: Headers): Headers {
  const isEndless =
    grpcTimeoutMs(header.get(GRPC_TIMEOUT)) > MAX_TIMER_MS ||
    Number(header.get(CONNECT_TIMEOUT)) > MAX_TIMER_MS;
  if (!isEndless) return header;
  const rest = new Headers(header);
  rest.delete(GRPC_TIMEOUT);
  rest.delete(CONNECT_TIMEOUT);
  return rest;
}

const GRPC_TIMEOUT = "grpc-timeout";
const CONNECT_TIMEOUT = "connect-timeout-ms";

// Milliseconds of those units of gRPC's timeout that can exceed the longest timer with eight digits.
const LONG_UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000 };

function grpcTimeoutMs(timeout: string | null): number {
  const match = /^([0-9]{1,8})([HMS])$/.exec(timeout ?? "");
  return Number(match?.[1] ?? 0) * (LONG_UNITS[match?.[2] ?? ""] ?? 0);
}
