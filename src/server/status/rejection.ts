/** Answers to requests that reach no RPC, in the form of the client's protocol. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { endWithHeaders } from "../http/paced-writer.ts";
import type { HttpRequest, HttpResponse } from "../listen/http-types.ts";
import { EVENT_STREAM, NDJSON } from "../streaming/line-types.ts";
import type { TransportOutcome } from "../telemetry/outcome.ts";
import { boundedText } from "./bounded-text.ts";
import { encodeGrpcMessage } from "./grpc-message.ts";

/** Why a request is rejected before a service sees it. */
export interface Rejection {
  /** HTTP status, for all but gRPC. */
  readonly status: number;
  readonly code: Code;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the rejection is one of HTTP. Connect has no JSON for those: its clients derive the code from the status
   * (Connect protocol, "HTTP to Error Code").
   */
  readonly plain?: boolean;
}

/** The rejection of a path without a route: UNIMPLEMENTED, which clients take for an old server, or 404. */
export function unknownPath(path: string): Rejection {
  const message = `nothing is served under ${JSON.stringify(boundedText(path, MAX_PATH_BYTES))}`;
  return { status: 404, code: Code.Unimplemented, message };
}

/** The rejection of a request from a web page whose origin is not allowed. */
export const FORBIDDEN_ORIGIN: Rejection = {
  status: 403,
  code: Code.PermissionDenied,
  message: "the Origin of this request is not among cors.allowed_origins",
};

/** The rejection of a request to a name that may be that of a foreign site. */
export function forbiddenHost(host = ""): Rejection {
  const found = JSON.stringify(boundedText(host, MAX_PATH_BYTES));
  const message = `the Host ${found} of this request is not among allowed_hosts`;
  return { status: 403, code: Code.PermissionDenied, message };
}

/** The rejection that belongs to an HTTP status which one of Connect's handlers returned without a body. */
export function rejectionOf(status: number, handler: UniversalHandler): Rejection {
  const rpc = handler.requestPath.slice(1);
  switch (status) {
    case 405: {
      const allow = handler.allowedMethods.join(", ");
      const message = `${rpc} takes ${allow}`;
      return { status, code: Code.Unimplemented, message, headers: { allow }, plain: true };
    }
    case 415: {
      const types = contentTypesOf(handler).join(", ");
      const message = `${rpc} takes the content types ${types}${linesHint(handler)}`;
      return { status, code: Code.InvalidArgument, message, headers: { "accept-post": types }, plain: true };
    }
    case 505: {
      // A client that expects full duplex would go on waiting on this connection.
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
 * status with Connect's JSON for errors, or with plain text. The body of the request is not read.
 */
export function sendRejection(
  request: HttpRequest,
  response: HttpResponse,
  rejection: Rejection,
): TransportOutcome {
  const requestType = request.headers["content-type"] ?? "";
  if (GRPC_TYPE.test(requestType)) {
    endWithHeaders(response, { "content-type": requestType, ...grpcStatusOf(rejection) });
  } else {
    const { type, body } = pageOf(rejection);
    response.writeHead(rejection.status, { ...rejection.headers, "content-type": type });
    response.end(body);
  }
  return { code: rejection.code, disconnected: false };
}

const MAX_PATH_BYTES = 256;
const GRPC_TYPE = /^application\/grpc(-web(-text)?)?(\+(proto|json))?$/;

function grpcStatusOf({ code, message }: Rejection): Record<string, string> {
  return { "grpc-status": String(code), "grpc-message": encodeGrpcMessage(message) };
}

function pageOf({ code, message, plain = false }: Rejection): { type: string; body: string | Uint8Array } {
  if (plain) return { type: "text/plain; charset=utf-8", body: `${message}\n` };
  return { type: "application/json", body: errorToJsonBytes(new ConnectError(message, code), undefined) };
}

/** What makes a stream readable without a library, for programs that send plain JSON to it. */
function linesHint({ method }: UniversalHandler): string {
  if (method.methodKind !== "server_streaming") return "";
  return `; and application/json where Accept is ${EVENT_STREAM} or ${NDJSON}`;
}

function contentTypesOf({ method }: UniversalHandler): string[] {
  const prefix = method.methodKind === "unary" ? "application/" : "application/connect+";
  return [
    `${prefix}json`,
    `${prefix}proto`,
    "application/grpc",
    "application/grpc-web",
    "application/grpc-web-text",
  ];
}
