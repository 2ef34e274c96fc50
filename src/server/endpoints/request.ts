/** Converts a request for an HTTP API. */

import { InvalidRequestError, type SDKError } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { EndpointRequest, RequestHead } from "../../http/endpoint.ts";
import type { HttpRequest } from "../base/http-types.ts";
import { readBody, readWholeBody } from "../http/request-body.ts";
import { getPath } from "../http/route.ts";
import { type Compression, toCompression } from "../requests/decompress.ts";
import type { Intake } from "../requests/intake.ts";
import { countJsonElements, isArgumentsKey } from "../requests/json-element-counter.ts";
import { toRefusalError } from "../requests/refusals.ts";
import type { CallMemory } from "../requests/request-memory.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";

/** The server's parts that a request needs. */
export interface RequestParts {
  readonly recorder: CallRecorder;
  readonly client: ModelClient;
  readonly signal: AbortSignal;
  readonly intake: Intake;
  /** The share of the request memory that the body uses. */
  readonly share: CallMemory;
  readonly noteFailure: (error: SDKError) => void;
}

/** Converts the part of a request from which an API recognizes its clients. */
export function toRequestHead(request: HttpRequest): RequestHead {
  return { query: new URLSearchParams(getQuery(request)), headers: singleHeaders(request) };
}

function getQuery(request: HttpRequest): string {
  return (request.url ?? "").slice(getPath(request).length);
}

/** Converts a request to the form of the HTTP APIs. */
export function toEndpointRequest(request: HttpRequest, parts: RequestParts): EndpointRequest {
  const { method = "" } = request;
  const path = getPath(request);
  const { recorder, client, signal, noteFailure } = parts;
  return {
    method,
    path,
    // Few routes have any parameters.
    get query() {
      return new URLSearchParams(getQuery(request));
    },
    headers: singleHeaders(request),
    caller: recorder.call.caller,
    trace: recorder.trace,
    client,
    signal,
    noteFailure,
    readBody: readJsonBody.bind(undefined, request, parts),
    readStored: (read) => parts.share.reads.read(read, signal),
  };
}

async function readJsonBody(request: HttpRequest, parts: RequestParts): Promise<Uint8Array> {
  const { intake, share, signal } = parts;
  const { limits, arrivals } = intake;
  const { headers } = request;
  const encoding = headers["content-encoding"];
  const compression = encoding === undefined ? undefined : findCompression(encoding);
  if (hasNoBody(request)) return NOTHING;
  try {
    const bytes = await readWholeBody({
      chunks: readBody(request, { signal, arrivals, isIncomplete: () => true }),
      announced: headers["content-length"],
      compression,
      share,
      limits,
    });
    share.takeElements(countJsonElements(bytes, limits.maxMessageElements, isArgumentsKey));
    return bytes;
  } catch (thrown) {
    throw toRefusalError(thrown);
  }
}

const NOTHING = new Uint8Array();

/** Reports whether the head of a request says that there is no body, so that nothing has to wait for its end. */
function hasNoBody(request: HttpRequest): boolean {
  if ("stream" in request) return request.stream.endAfterHeaders;
  const { headers } = request;
  return headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;
}

/** Returns the compression of a body. Throws InvalidRequestError if it is not supported. */
function findCompression(encoding: string): Compression | undefined {
  const name = encoding.trim().toLowerCase();
  const compression = toCompression(name);
  if (compression !== undefined || name === "identity" || name === "") return compression;
  const found = JSON.stringify(boundedText(encoding, MAX_SHOWN_BYTES));
  throw new InvalidRequestError(`the header content-encoding is ${found}; expected gzip, br or identity`, {
    httpStatusCode: 415,
    errorCode: "unsupported_content_encoding",
  });
}

const MAX_SHOWN_BYTES = 64;

/** Joins the values of headers that occur more than once, as HTTP defines. */
function singleHeaders({ headers }: HttpRequest): Readonly<Record<string, string | undefined>> {
  const single: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers))
    single[name] = Array.isArray(value) ? value.join(", ") : value;
  return single;
}
