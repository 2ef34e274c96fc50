/** Rejections of requests that reach no RPC, in the form of the client's protocol. */
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope, type UniversalHandler } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  createEndStreamSerialization,
  endStreamFlag,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import type { SDKError } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";
import { EVENT_STREAM, type HttpRequest, type HttpResponse, NDJSON } from "../base/http-types.ts";
import { endWithHeaders } from "../http/paced-writer.ts";
import { RETRY_AFTER_HEADER, toConnectError } from "../status/status.ts";
import { toTrailers } from "../status/trailers.ts";
import { failedOutcome, type TransportOutcome } from "../telemetry/call-observer.ts";

/** The reason to reject a request before a service sees it. */
export interface Rejection {
  /** HTTP status, for all but gRPC. */
  readonly status: number;
  readonly code: Code;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the rejection belongs to HTTP. Connect has no JSON for such errors: its clients derive the code from the
   * status (Connect protocol, "HTTP to Error Code").
   */
  readonly plain?: boolean;
  /** The status with its details, if it is an error of our contract. */
  readonly error?: ConnectError;
}

/** Returns the rejection of a request for an error of our contract. */
export function toErrorRejection(error: SDKError): Rejection {
  const status = toConnectError(error);
  const { code, rawMessage: message, metadata } = status;
  const retryAfter = metadata.get(RETRY_AFTER_HEADER);
  const headers = {
    ...(retryAfter === null ? {} : { [RETRY_AFTER_HEADER]: retryAfter }),
    ...(code === Code.Unauthenticated ? { "www-authenticate": "Bearer" } : {}),
  };
  return { status: codeToHttpStatus(code), code, message, headers, error: status };
}

/** Suggestions for a caller with a wrong path. */
const SERVED =
  "expected a method such as /outrigger.v1.InferenceService/Complete, or a path of an API such as /v1/responses; " +
  "health and metrics have another address";

/** Returns the rejection of a path without a route: UNIMPLEMENTED, which clients take for an old server, or 404. */
export function unknownPath(path: string): Rejection {
  const found = JSON.stringify(boundedText(path, MAX_PATH_BYTES));
  const message = `nothing is served under ${found}; ${SERVED}`;
  return { status: 404, code: Code.Unimplemented, message };
}

/** The rejection of a request from a web page whose origin is not allowed. */
export const FORBIDDEN_ORIGIN: Rejection = {
  status: 403,
  code: Code.PermissionDenied,
  message: "the Origin of this request is not among cors.allowed_origins",
};

/** Returns the rejection of a request whose host may be the name of a foreign site. */
export function forbiddenHost(host = ""): Rejection {
  const found = JSON.stringify(boundedText(host, MAX_PATH_BYTES));
  const message = `the Host ${found} of this request is not among allowed_hosts`;
  return { status: 403, code: Code.PermissionDenied, message };
}

/** Returns the rejection for an HTTP status that one of Connect's handlers returned without a body. */
export function toRejection(status: number, handler: UniversalHandler): Rejection {
  const rpc = handler.requestPath.slice(1);
  switch (status) {
    case 405: {
      const allow = handler.allowedMethods.join(", ");
      const message = `${rpc} takes ${allow}`;
      return { status, code: Code.Unimplemented, message, headers: { allow }, plain: true };
    }
    case 415: {
      const types = getContentTypes(handler).join(", ");
      const message = `${rpc} takes the content types ${types}${linesHint(handler)}`;
      return { status, code: Code.InvalidArgument, message, headers: { "accept-post": types }, plain: true };
    }
    case 505: {
      // A client that expects full duplex would keep waiting on this connection.
      const headers = { connection: "close" };
      const message = `${rpc} streams in both directions, which needs HTTP/2`;
      return { status, code: Code.Unimplemented, message, headers, plain: true };
    }
    default: {
      const message = `${rpc} was rejected with HTTP status ${status}`;
      return { status, code: Code.Unknown, message, plain: true };
    }
  }
}

/**
 * Sends a rejection: to gRPC and gRPC-Web as a status in the headers (Trailers-Only), to other clients as an HTTP
 * status with Connect's JSON for errors, or with plain text. An error of our contract reaches a stream of Connect as
 * the end of the stream, since its clients read no details of an HTTP status. The body of the request is not read.
 */
export function sendRejection(
  request: HttpRequest,
  response: HttpResponse,
  rejection: Rejection,
): TransportOutcome {
  const requestType = request.headers["content-type"] ?? "";
  const { error } = rejection;
  if (GRPC_TYPE.test(requestType)) {
    const trailers = toTrailers(undefined, error ?? new ConnectError(rejection.message, rejection.code));
    endWithHeaders(response, { "content-type": requestType, ...trailers });
  } else if (error !== undefined && CONNECT_STREAM_TYPE.test(requestType)) {
    response.writeHead(200, { ...rejection.headers, "content-type": requestType });
    response.end(endOfStream(error));
  } else {
    const { type, body } = getPage(rejection);
    response.writeHead(rejection.status, { ...rejection.headers, "content-type": type });
    response.end(body);
  }
  return error === undefined
    ? { code: rejection.code, disconnected: false }
    : failedOutcome(error, undefined);
}

const MAX_PATH_BYTES = 256;
const GRPC_TYPE = /^application\/grpc(-web(-text)?)?(\+(proto|json))?$/;

const CONNECT_STREAM_TYPE = /^application\/connect\+(proto|json)$/;

function endOfStream(error: ConnectError): Uint8Array {
  const { serialize } = createEndStreamSerialization(undefined);
  return encodeEnvelope(endStreamFlag, serialize({ metadata: new Headers(), error }));
}

function getPage({ code, message, plain = false, error }: Rejection): {
  type: string;
  body: string | Uint8Array;
} {
  if (plain) return { type: "text/plain; charset=utf-8", body: `${message}\n` };
  const status = error ?? new ConnectError(message, code);
  return { type: "application/json", body: errorToJsonBytes(status, undefined) };
}

/** Returns a hint on how to read a stream without a library, for programs that send plain JSON. */
function linesHint({ method }: UniversalHandler): string {
  if (method.methodKind !== "server_streaming") return "";
  return `; and application/json if Accept is ${EVENT_STREAM} or ${NDJSON}`;
}

function getContentTypes({ method }: UniversalHandler): string[] {
  const prefix = method.methodKind === "unary" ? "application/" : "application/connect+";
  return [
    `${prefix}json`,
    `${prefix}proto`,
    "application/grpc",
    "application/grpc-web",
    "application/grpc-web-text",
  ];
}
