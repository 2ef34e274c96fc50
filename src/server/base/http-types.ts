import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type {
  Http2ServerRequest,
  Http2ServerResponse,
  IncomingHttpHeaders,
  ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";

/** A request of HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** A response of HTTP/1.1 or HTTP/2, with a single signature for the methods whose signatures differ. */
export type HttpResponse = (
  | Omit<ServerResponse, OverloadedMethod>
  | Omit<Http2ServerResponse, OverloadedMethod>
) & {
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown;
  write(chunk: string | Uint8Array, callback?: (error?: Error | null) => void): boolean;
  end(chunk?: string | Uint8Array): unknown;
};

/** Answers requests. Must not throw. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;

/**
 * Serves HTTP/2 streams directly. Returns false for streams that it does not take. Must not throw.
 * @param fields Number of header fields, which is more than the headers if some came several times.
 */
export type StreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  fields: number,
) => boolean;

/** Takes over connections of HTTP/1.1. */
export interface UpgradeHandler {
  /**
   * Reports whether the request must be upgraded. Otherwise it is answered like a request that does not ask for an
   * upgrade.
   */
  takes(request: IncomingMessage): boolean;
  /** Serves the connection to its end. Must not throw. @param head Bytes that arrived after the request. */
  serve(request: IncomingMessage, connection: Socket, head: Buffer): void;
}

type OverloadedMethod = "write" | "writeHead" | "end";

/** Content type of server-sent events. */
export const EVENT_STREAM = "text/event-stream";

/** Content type of lines of JSON. */
export const NDJSON = "application/x-ndjson";

/**
 * Reports whether a client reads trailers. Over HTTP/1.1 it must say so (RFC 9110 §6.5.1): some clients, Java's among
 * them, take trailers for a broken answer.
 */
export function takesTrailers({ httpVersionMajor, headers }: HttpRequest): boolean {
  return httpVersionMajor === 2 || /\btrailers\b/i.test(String(headers.te ?? ""));
}
