/** Answers to what is no RPC of ours, in the words of the protocol that the caller speaks. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { endWithHeaders } from "../http/end-with-headers.ts";
import type { HttpRequest, HttpResponse } from "../listen/http-types.ts";
import type { Call } from "../telemetry/call.ts";
import { boundedText } from "./bounded-text.ts";
import { encodeGrpcMessage } from "./grpc-message.ts";

/** Why a request is turned away before any service sees it. */
export interface Refusal {
  /** HTTP status, for all but gRPC. */
  readonly status: number;
  readonly code: Code;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether HTTP itself refuses. Connect wants such a status without its JSON: its callers
   * derive the code from the status (Connect protocol, "HTTP to Error Code").
   */
  readonly plain?: boolean;
}

/** A path that nothing is served under. Old servers answer new methods so: UNIMPLEMENTED, or 404. */
export function unknownPath(path: string): Refusal {
  const message = `nothing is served under ${JSON.stringify(boundedText(path, MAX_PATH_BYTES))}`;
  return { status: 404, code: Code.Unimplemented, message };
}

/** A web page that may not call. */
export const FORBIDDEN_ORIGIN: Refusal = {
  status: 403,
  code: Code.PermissionDenied,
  message: "the Origin of this request is not among cors.allowed_origins",
};

/** What a handler's bare HTTP status means for its method. */
export function refusalOf(status: number, handler: UniversalHandler): Refusal {
  const rpc = handler.requestPath.slice(1);
  switch (status) {
    case 405: {
      const allow = handler.allowedMethods.join(", ");
      const message = `${rpc} takes ${allow}`;
      return { status, code: Code.Unimplemented, message, headers: { allow }, plain: true };
    }
    case 415: {
      const types = contentTypesOf(handler).join(", ");
      const message = `${rpc} takes the content types ${types}`;
      return { status, code: Code.InvalidArgument, message, headers: { "accept-post": types }, plain: true };
    }
    case 505: {
      // A client that hopes for a full duplex would wait on this connection.
      const headers = { connection: "close" };
      return { status, code: Code.Unimplemented, message: `${rpc} needs HTTP/2`, headers, plain: true };
    }
    default: {
      const message = `${rpc} was refused with HTTP status ${status}`;
      return { status, code: Code.Unknown, message, plain: true };
    }
  }
}

/**
 * Sends a refusal: to gRPC and gRPC-Web as a status in the headers (Trailers-Only), to everyone else as an HTTP status
 * with the JSON that Connect has for errors, or with plain text. The body of the request is not read.
 */
export function sendRefusal(
  call: Call,
  request: HttpRequest,
  response: HttpResponse,
  refusal: Refusal,
): void {
  call.code = refusal.code;
  const requestType = request.headers["content-type"] ?? "";
  if (GRPC_TYPE.test(requestType)) {
    endWithHeaders(response, { "content-type": requestType, ...grpcStatusOf(refusal) });
  } else {
    const { type, body } = pageOf(refusal);
    response.writeHead(refusal.status, { ...refusal.headers, "content-type": type });
    response.end(body);
  }
}

const MAX_PATH_BYTES = 256;
const GRPC_TYPE = /^application\/grpc(-web)?(\+(proto|json))?$/;

function grpcStatusOf({ code, message }: Refusal): Record<string, string> {
  return { "grpc-status": String(code), "grpc-message": encodeGrpcMessage(message) };
}

function pageOf({ code, message, plain = false }: Refusal): { type: string; body: string | Uint8Array } {
  if (plain) return { type: "text/plain; charset=utf-8", body: `${message}\n` };
  return { type: "application/json", body: errorToJsonBytes(new ConnectError(message, code), undefined) };
}

function contentTypesOf({ method }: UniversalHandler): string[] {
  const prefix = method.methodKind === "unary" ? "application/" : "application/connect+";
  return [`${prefix}json`, `${prefix}proto`, "application/grpc", "application/grpc-web"];
}
