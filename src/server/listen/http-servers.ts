/** The two HTTP servers behind a listener. Both are handed their connections; neither listens itself. */
import { createServer as createHttp1Server, type Server as Http1Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { Limits } from "../options.ts";
import type { HttpHandler, StreamHandler } from "./http-types.ts";

/** A server of HTTP/1.1. Is to be closed when its last connection is. */
export function createHttp1(limits: Limits, handler: HttpHandler): Http1Server {
  const server = createHttp1Server(
    {
      maxHeaderSize: limits.maxHeaderListBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, MAX_CHECK_INTERVAL_MS),
    },
    handler,
  );
  // This event is what starts its watch over slow requests and idle connections.
  server.emit("listening");
  return server;
}

/**
 * A server of HTTP/2 without TLS, its limits set rather than inherited.
 * @param streams Asked first. What it does not take becomes a request and a response for the handler.
 */
export function createHttp2(limits: Limits, handler: HttpHandler, streams?: StreamHandler): Http2Server {
  // Never has a connection of its own: it is what makes requests and responses of streams.
  const general = createHttp2Server(handler);
  const server = createHttp2Server({
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderListBytes,
      initialWindowSize: STREAM_WINDOW_BYTES,
    },
    streamResetBurst: limits.streamResetBurst,
    streamResetRate: limits.streamResetRate,
    maxSessionMemory: limits.maxSessionMemoryMiB,
    // Cancelled streams count as open until Node has put them away, so that a client who cancels
    // a lot is over its limit without knowing. Refused streams are tried again; the 101st would
    // by default end the connection.
    maxSessionRejectedStreams: limits.streamResetBurst,
  });
  server.on("stream", (stream, headers, ...rest) => {
    if (!streams?.(stream, headers)) general.emit("stream", stream, headers, ...rest);
  });
  server.on("session", (session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
  return server;
}

const MAX_CHECK_INTERVAL_MS = 5000;

// Requests carry images. With the 64 KiB that HTTP/2 starts with, a sender waits for our answer
// 512 times on the way to 32 MiB, and one slow upload holds up all others of its connection.
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 1024 * 1024;
