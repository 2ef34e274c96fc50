/** The two HTTP servers behind a listener. Both get their connections from it; neither listens itself. */
import { createServer as createHttp1Server, type Server as Http1Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import { Socket } from "node:net";
import type { HttpHandler, StreamHandler, UpgradeHandler } from "../base/http-types.ts";
import type { Limits } from "../base/limits.ts";
import { injectStream, startConnectionChecks } from "../internals/node-http.ts";
import { Http2Connection, type ServeStream, StreamBacklog } from "./http2-connection.ts";
import { ReadScheduler } from "./read-scheduler.ts";

/** Creates an HTTP/1.1 server, which must be closed when its last connection is closed. */
export function createHttp1(limits: Limits, handler: HttpHandler, upgrades?: UpgradeHandler): Http1Server {
  const server = createHttp1Server(
    {
      maxHeaderSize: limits.maxHeaderListBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, MAX_CHECK_INTERVAL_MS),
      // Clients that offer HTTP/2 by `Upgrade: h2c` get a response over HTTP/1.1.
      shouldUpgradeCallback: (request) => upgrades?.takes(request) ?? false,
    },
    handler,
  );
  // Before Node 24.9 every request with an `Upgrade` header would come here.
  if (upgrades !== undefined && "shouldUpgradeCallback" in server) {
    server.on("upgrade", (request, connection, head) => {
      if (connection instanceof Socket) upgrades.serve(request, connection, head);
      else connection.destroy();
    });
  }
  startConnectionChecks(server);
  return server;
}

/**
 * Creates an HTTP/2 server without TLS, with our limits.
 * @param streams Asked first. Streams that it does not take become requests and responses for the handler.
 * @param onConnection Called with each new connection.
 */
export function createHttp2(
  limits: Limits,
  handler: HttpHandler,
  streams: StreamHandler | undefined,
  onConnection: (connection: Http2Connection, session: ServerHttp2Session) => void,
): Http2Server {
  // Has no connections: it turns streams into requests and responses.
  const requests = createHttp2Server(handler);
  const serve: ServeStream = (stream, headers, flags, rawHeaders) => {
    if (!streams?.(stream, headers, rawHeaders.length / 2))
      injectStream(requests, stream, headers, flags, rawHeaders);
  };
  const server = createHttp2Server({
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderListBytes,
      initialWindowSize: STREAM_WINDOW_BYTES,
    },
    streamResetBurst: limits.streamResetBurst,
    streamResetRate: limits.streamResetRate,
    // Metadata is limited by its bytes. Node's limit of 128 fields resets the stream without a status.
    maxHeaderListPairs: Math.ceil(limits.maxHeaderListBytes / MIN_FIELD_BYTES),
    maxSessionMemory: NO_LIMIT_MIB,
    // Cancelled streams count as open until Node has cleaned up, so a client that cancels often exceeds its limit
    // without knowing. Refused streams are retried; by default the 101st would end the connection.
    maxSessionRejectedStreams: limits.streamResetBurst,
  });
  const backlog = new StreamBacklog(Math.max(MIN_WAITING_FIELDS, limits.maxCalls * WAITING_FIELDS_PER_CALL));
  const scheduler = new ReadScheduler();
  server.on("session", (session) => {
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    onConnection(new Http2Connection(session, limits, serve, backlog, scheduler), session);
  });
  return server;
}

// A sixteenth of the memory of all calls that are served at once may be headers of streams that wait for their turn.
const WAITING_FIELDS_PER_CALL = 64;

// A client may open several hundred streams at once, however few are served together: about 5 MB.
const MIN_WAITING_FIELDS = 16 * 1024;

// The bytes that HTTP/2 counts for a field in addition to its name and value (RFC 9113 §6.5.2).
const MIN_FIELD_BYTES = 32;

const MAX_CHECK_INTERVAL_MS = 5000;

// Node never subtracts the unsent bytes of a cancelled stream from the memory that it counts for a connection, so in
// time it would refuse all streams of that connection. The memory of a connection is limited by its streams,
// `RequestMemory` and `UnsentResponses` instead. Node multiplies the value by a million.
const NO_LIMIT_MIB = 1_000_000;

// Requests carry images. With HTTP/2's initial window of 64 KiB a sender of 32 MiB waits for 512 window updates, and
// one slow upload delays all others of its connection.
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 1024 * 1024;
