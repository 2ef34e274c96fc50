import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type {
  Http2ServerRequest,
  Http2ServerResponse,
  IncomingHttpHeaders,
  ServerHttp2Stream,
} from "node:http2";

/** A request of either HTTP. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** A response of either HTTP, with one signature where theirs differ. */
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

/** Answers streams of HTTP/2 without the request and response around them. Gives false for those that it does not take. Must not throw. */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

type OverloadedMethod = "write" | "writeHead" | "end";
