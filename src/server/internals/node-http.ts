/**
 * Uses of Node's HTTP servers beyond their documented methods. Written for Node 24;
 * test/server/internals/node-http.test.ts checks each use.
 */
import { type Server as Http1Server, type IncomingMessage, ServerResponse } from "node:http";
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

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

/** Returns the connection under a connection with TLS that `createServer` of node:tls accepted. */
export function getRawSocket(socket: TLSSocket): unknown {
  return Reflect.get(socket, "_parent");
}

/** Stands between a connection of HTTP/1.1 and its parser. */
export interface ReadInterception {
  /** Gives bytes to the parser, which starts on the requests in them at once. */
  parse(bytes: Buffer): void;
  /** Leaves the bytes of the connection to other listeners. */
  end(): void;
}

/**
 * Takes the bytes of a connection before the parser of its HTTP/1.1 server gets them. The parser then no longer reads
 * from the socket's handle, past JavaScript.
 */
export function interceptReading(socket: Socket, read: (bytes: Buffer) => void): ReadInterception {
  const parsers = socket.listeners("data");
  socket.on("data", read);
  for (const parse of parsers) socket.off("data", parse as (bytes: Buffer) => void);
  return {
    parse(bytes) {
      for (const parse of parsers) Reflect.apply(parse, socket, [bytes]);
    },
    end: () => void socket.off("data", read),
  };
}

/** The state of the HTTP/1.1 parser of a connection. */
export interface ParserState {
  /** False after an upgrade, or if the connection is closed. */
  readonly isParsing: boolean;
  /** Whether the server reads nothing until the socket has sent its queued bytes. */
  readonly isPaused: boolean;
  /** The response that is being written. Undefined once its last byte has been handed to the system. */
  readonly response: ServerResponse<IncomingMessage> | undefined;
}

/** Returns the state of the HTTP/1.1 parser of a connection. */
export function getParserState(socket: Socket): ParserState {
  const response: unknown = Reflect.get(socket, "_httpMessage");
  return {
    isParsing: Boolean(Reflect.get(socket, "parser")),
    isPaused: Reflect.get(socket, "_paused") === true,
    response: response instanceof ServerResponse ? response : undefined,
  };
}

/** Hands a stream to a server, whose request listener gets a request and a response. */
export function injectStream(
  server: Http2Server,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  ...rest: readonly unknown[]
): void {
  server.emit("stream", stream, headers, ...rest);
}

/**
 * Stops reading a connection in this turn of the event loop, or resumes it. Its `pause()` has no effect after HTTP/2
 * has taken it over, and libuv reads up to 32 times in one turn.
 */
export function setReading(connection: ServerHttp2Session | Socket, isReading: boolean): void {
  if (connection.destroyed) return;
  const handle: unknown = Reflect.get("socket" in connection ? connection.socket : connection, "_handle");
  if (!isReadHandle(handle)) return;
  if (isReading) handle.readStart();
  else handle.readStop();
}

interface ReadHandle {
  readStop(): unknown;
  readStart(): unknown;
}

function isReadHandle(handle: unknown): handle is ReadHandle {
  return typeof handle === "object" && handle !== null && "readStop" in handle && "readStart" in handle;
}

/**
 * Reports whether the last frame of a stream has left, by nghttp2's state of the stream. Node has no event for that.
 */
export function hasSentLastFrame(stream: ServerHttp2Stream): boolean {
  return stream.state.localClose === 1;
}
