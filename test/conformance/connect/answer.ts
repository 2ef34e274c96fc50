/** The facts of a call that every method of ConformanceService returns, and its errors. */
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import {
  type ConformancePayload_ConnectGetInfo as ConnectGetInfo,
  ConformancePayload_ConnectGetInfoSchema as ConnectGetInfoSchema,
  type Error as ErrorDefinition,
  type Header,
  HeaderSchema,
  type ConformancePayload_RequestInfo as RequestInfo,
  ConformancePayload_RequestInfoSchema as RequestInfoSchema,
  type StreamResponseDefinition,
  type UnaryResponseDefinition,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";

type Metadata = Pick<
  StreamResponseDefinition | UnaryResponseDefinition,
  "responseHeaders" | "responseTrailers"
>;

/** Adds the headers and trailers of a definition to the response. */
export function announceMetadata(definition: Metadata | undefined, context: HandlerContext): void {
  appendTo(context.responseHeader, definition?.responseHeaders);
  appendTo(context.responseTrailer, definition?.responseTrailers);
}

/** All parts of a call that the server received, and the requests that a response answers. */
export function readRequestInfo(context: HandlerContext, requests: Any[]): RequestInfo {
  const timeoutMs = context.timeoutMs();
  return create(RequestInfoSchema, {
    requestHeaders: createHeaders(context.requestHeader),
    requests,
    ...(timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.round(timeoutMs)) }),
    ...(context.requestMethod === "GET" ? { connectGetInfo: readGetInfo(context.url) } : {}),
  });
}

/** The error that a definition asks for, with the facts of the call in its details. */
export function getError(definition: ErrorDefinition, requestInfo: RequestInfo | undefined): ConnectError {
  // Both enums use gRPC's numbers.
  const error = new ConnectError(definition.message ?? "", definition.code as number as Code);
  error.details = definition.details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  if (requestInfo !== undefined) error.details.push({ desc: RequestInfoSchema, value: requestInfo });
  return error;
}

/** Waits as long as a definition asks for. Rejects with the signal's reason when it is aborted. */
export async function wait(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
  if (delayMs === undefined || delayMs === 0) return;
  await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
}

function appendTo(target: Headers, headers: readonly Header[] = []): void {
  for (const { name, value } of headers) {
    for (const each of value) target.append(name, each);
  }
}

function createHeaders(pairs: Iterable<[string, string]>): Header[] {
  return [...pairs].map(([name, value]) => create(HeaderSchema, { name, value: [value] }));
}

function readGetInfo(url: string): ConnectGetInfo {
  return create(ConnectGetInfoSchema, { queryParams: createHeaders(new URL(url).searchParams) });
}
