/** Answers to what is no RPC of ours, in the words of the protocol that the caller speaks. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { boundedText } from "./bounded-text.ts";
import type { Call } from "./call.ts";
import { encodeGrpcMessage } from "./grpc-message.ts";
import type { HttpRequest, HttpResponse } from "./listen/http-types.ts";

/** Why a request is turned away before any service sees it. */
export interface Refusal {
  /** HTTP status, for all but gRPC. */
  readonly status: number;
  readonly code: Code;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
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
      return { status, code: Code.Unimplemented, message: `${rpc} takes ${allow}`, headers: { allow } };
    }
    case 415:
      return {
        status,
        code: Code.InvalidArgument,
        message: `${rpc} takes the content types ${contentTypesOf(handler)}`,
      };
    case 505:
      return {
        status,
        code: Code.Unimplemented,
        message: `${rpc} needs HTTP/2`,
        // A client that hopes for a full duplex would wait on this connection.
        headers: { connection: "close" },
      };
    default:
      return { status, code: Code.Unknown, message: `${rpc} was refused with HTTP status ${status}` };
  }
}

/**
 * Sends a refusal: to gRPC as a status in the trailers, to gRPC-Web in the headers, to everyone
 * else as an HTTP status with the JSON that Connect has for errors. The body is not read.
 */
export function sendRefusal(
  call: Call,
  request: HttpRequest,
  response: HttpResponse,
  refusal: Refusal,
): void {
  call.code = refusal.code;
  const type = request.headers["content-type"] ?? "";
  if (GRPC_TYPE.test(type)) {
    response.writeHead(200, { "content-type": type });
    response.addTrailers(grpcStatusOf(refusal));
    response.end();
  } else if (GRPC_WEB_TYPE.test(type)) {
    response.writeHead(200, { "content-type": type, ...grpcStatusOf(refusal) });
    response.end();
  } else {
    const body = errorToJsonBytes(new ConnectError(refusal.message, refusal.code), undefined);
    response.writeHead(refusal.status, { ...refusal.headers, "content-type": "application/json" });
    response.end(body);
  }
}

const MAX_PATH_BYTES = 256;
const GRPC_TYPE = /^application\/grpc(\+(proto|json))?$/;
const GRPC_WEB_TYPE = /^application\/grpc-web(\+(proto|json))?$/;

function grpcStatusOf({ code, message }: Refusal): Record<string, string> {
  return { "grpc-status": String(code), "grpc-message": encodeGrpcMessage(message) };
}

function contentTypesOf({ method }: UniversalHandler): string {
  const connect =
    method.methodKind === "unary"
      ? "application/json, application/proto"
      : "application/connect+json, application/connect+proto";
  return `${connect}, application/grpc and application/grpc-web`;
}
