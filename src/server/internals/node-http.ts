/**
 * Uses of Node's HTTP servers beyond their documented methods. Written for Node 24;
 * test/server/internals/node-http.test.ts checks each of them.
 */
import type { Server as Http1Server } from "node:http";
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";

/**
 * Starts the checks of `headersTimeout`, `requestTimeout` and idle connections of a server that never listens itself.
 * Node starts them on the event `listening`; `close()` stops them.
 */
export function startConnectionChecks(server: Http1Server): void {
  server.emit("listening");
}

/** Hands a connection that another server accepted to a server. */
export function injectConnection(server: Http1Server | Http2Server, socket: Socket): void {
  server.emit("connection", socket);
}

/** Hands a stream to a server, whose request listener gets it as a request and a response. */
export function injectStream(
  server: Http2Server,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  ...rest: readonly unknown[]
): void {
  server.emit("stream", stream, headers, ...rest);
}

/**
 * Reads no more from a connection in this turn of the event loop. Its `pause()` will not do where HTTP/2 has taken it
 * over, and libuv reads up to 32 times in one turn.
 */
export function readOnInNextTurn(session: ServerHttp2Session): void {
  const handle: unknown = session.destroyed ? undefined : Reflect.get(session.socket, "_handle");
  if (!isReadHandle(handle)) return;
  handle.readStop();
  setImmediate(() => {
    if (!session.destroyed) handle.readStart();
  });
}

interface ReadHandle {
  readStop(): unknown;
  readStart(): unknown;
}

function isReadHandle(handle: unknown): handle is ReadHandle {
  return typeof handle === "object" && handle !== null && "readStop" in handle && "readStart" in handle;
}

/** Whether the last frame of a stream has left: nghttp2's state of it. Node has no event for that. */
export function hasSentLastFrame(stream: ServerHttp2Stream): boolean {
  return stream.state.localClose === 1;
}
