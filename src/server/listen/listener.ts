/** One port for all protocols: HTTP/1.1 and HTTP/2 on the same addresses, distinguished by their first bytes. */

import type { Server as Http1Server } from "node:http";
import type { Http2Server } from "node:http2";
import { createServer, type Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { TlsOptions } from "../../config/tls-files.ts";
import { hasShare, runAfterOthers, runInLaterTurn } from "../../core/loop-turns.ts";
import { setPeerName } from "../access/peer-names.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
  StreamHandler,
  UpgradeHandler,
} from "../base/http-types.ts";
import type { Limits } from "../base/limits.ts";
import { getParserState, getRawSocket, injectConnection, setReading } from "../internals/node-http.ts";
import type { Intake } from "../requests/intake.ts";
import { type ListenAddress, parseAddress } from "./address.ts";
import { bind } from "./bind.ts";
import { createHttp1, createHttp2 } from "./http-servers.ts";
import type { Http2Connection } from "./http2-connection.ts";
import { serveSequentially } from "./sequential-requests.ts";
import { createHandshakes, readPeerName } from "./tls.ts";

/** The parts of a listener. */
export interface ListenerOptions {
  /** Name of the setting that holds the addresses, for errors. */
  readonly field: string;
  /** See `parseAddress`. */
  readonly addresses: readonly string[];
  /** Permissions of Unix sockets. Default 0660. */
  readonly unixSocketMode?: number | undefined;
  /** Its limits apply to connections too. Its timers end with the listener. */
  readonly intake: Pick<Intake, "limits" | "arrivals">;
  readonly handler: HttpHandler;
  /** Asked before the handler for every stream of HTTP/2. */
  readonly streams?: StreamHandler | undefined;
  /** Takes over connections of HTTP/1.1. Undefined if none are upgraded. */
  readonly upgrades?: UpgradeHandler | undefined;
  /** TLS of the TCP addresses. Undefined if there is none. */
  readonly tls?: TlsOptions | undefined;
  /** Called for a connection that is closed at once because too many are open, and none is idle. */
  readonly onRefused?: (() => void) | undefined;
}

/** Addresses that accept connections. */
export interface Listener {
  /** The bound addresses, with real ports. */
  readonly addresses: readonly string[];
  /**
   * Accepts nothing new, sends GOAWAY to every HTTP/2 peer, closes idle connections, and lets requests in flight
   * finish. Resolves when the last connection is closed.
   */
  drain(): Promise<void>;
  /** Aborts all connections. Resolves when everything is closed. */
  close(): Promise<void>;
}

/**
 * Opens all addresses, or none.
 * @throws ConfigurationError for an address that is wrong or cannot be bound.
 */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { field, addresses, unixSocketMode } = options;
  const parsed = addresses.map((address) => parseAddress(address, field));
  const connections = new ConnectionHandler(options);
  try {
    const bound: string[] = [];
    for (const address of parsed)
      bound.push(await bind(connections.createServer(address.kind), address, { field, unixSocketMode }));
    return { addresses: bound, drain: () => connections.drain(), close: () => connections.close() };
  } catch (error) {
    await connections.close();
    throw error;
  }
}

/** An open connection. */
interface OpenConnection {
  /** The socket of HTTP/1.1. With TLS it is not the one that was accepted. */
  http1?: Socket;
  http2?: Http2Connection;
  /** When it was opened or, over HTTP/1.1, its last response ended, by `performance.now()`. */
  usedAt: number;
}

/** Idle time after which a connection may be closed in favour of a new one, in milliseconds. */
const MIN_IDLE_MS = 1000;

/**
 * The most bytes that an HTTP/2 connection may have sent to be served without waiting for connections that take more
 * time: the settings of a client and its first call. They hold at most 2,000 header fields, which take 3 ms.
 */
const MAX_FIRST_BYTES = 2048;

/** The connections of a listener, on all its addresses. */
class ConnectionHandler {
  readonly #limits: Limits;
  readonly #options: ListenerOptions;
  readonly #servers: Server[] = [];
  readonly #sockets = new Map<Socket, OpenConnection>();
  readonly #undecided = new Set<Socket>();
  readonly #http1Sockets = new WeakMap<Socket, OpenConnection>();
  readonly #http2Connections = new Set<Http2Connection>();
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #keepalive: NodeJS.Timeout;
  /** Performs the TLS handshake of a connection. */
  readonly #shakeHands: ((socket: Socket) => void) | undefined;
  /** The connection that HTTP/2 takes over at this moment, and the name of its caller. */
  #arriving:
    | { readonly connection: OpenConnection | undefined; readonly peerName?: string | undefined }
    | undefined;
  #draining = false;
  #closed: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    const { intake, handler, streams, upgrades, tls } = options;
    const { limits } = intake;
    this.#options = options;
    this.#limits = limits;
    const handle: HttpHandler = (request, response) => {
      if (request.httpVersionMajor === 1) this.#followHttp1(request, response);
      handler(request, response);
    };
    this.#http1 = createHttp1(limits, handle, upgrades);
    this.#http2 = createHttp2(limits, handle, streams, (connection, session) => {
      this.#http2Connections.add(connection);
      const { connection: open, peerName } = this.#arriving ?? {};
      if (open !== undefined) open.http2 = connection;
      if (peerName !== undefined) setPeerName(session, peerName);
      session.once("close", () => this.#http2Connections.delete(connection));
      if (this.#draining) connection.closeGracefully();
    });
    if (tls !== undefined)
      this.#shakeHands = createHandshakes(tls, limits.protocolTimeoutMs, (socket) => this.#serveTls(socket));
    // One timer for all connections.
    this.#keepalive = setInterval(() => {
      for (const connection of this.#http2Connections) connection.checkPeer();
    }, limits.keepaliveIntervalMs);
  }

  /** Creates a server for one address, without binding it. */
  createServer(kind: ListenAddress["kind"]): Server {
    const isTls = kind === "tcp" && this.#shakeHands !== undefined;
    // Half-open like Node's HTTP server: a client may close its side before it has its response.
    const server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (socket) =>
      this.#accept(socket, isTls),
    );
    this.#servers.push(server);
    return server;
  }

  drain(): Promise<void> {
    const closed = this.#stopAccepting();
    for (const socket of this.#undecided) socket.destroy();
    for (const connection of this.#http2Connections) connection.closeGracefully();
    this.#http1.closeIdleConnections();
    return closed;
  }

  close(): Promise<void> {
    const closed = this.#stopAccepting();
    for (const connection of this.#http2Connections) connection.destroy();
    for (const socket of this.#sockets.keys()) socket.destroy();
    return closed;
  }

  #accept(socket: Socket, isTls: boolean): void {
    if (this.#sockets.size >= this.#limits.maxConnections && !this.#makeRoom()) {
      socket.destroy();
      this.#options.onRefused?.();
      return;
    }
    const connection: OpenConnection = { usedAt: performance.now() };
    this.#sockets.set(socket, connection);
    this.#undecided.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#undecided.delete(socket);
    });
    if (isTls) {
      // A peer that closes its side during the handshake has disconnected.
      socket.allowHalfOpen = false;
      return this.#shakeHands?.(socket);
    }
    sniff(socket, this.#limits.protocolTimeoutMs, (version) => {
      this.#undecided.delete(socket);
      if (version === "http1") return this.#serveHttp1(socket, connection);
      // Node parses all bytes that have arrived in one go. They can hold 60,000 header fields, which take 100 ms.
      if (hasShare()) return this.#serveHttp2(socket, connection);
      socket.on("error", ignore);
      // The end of a connection that is read here would be unknown to HTTP/2.
      setReading(socket, false);
      const run = socket.readableLength > MAX_FIRST_BYTES ? runAfterOthers : runInLaterTurn;
      run(() => {
        setReading(socket, true);
        if (!socket.destroyed) this.#serveHttp2(socket, connection);
      });
    });
  }

  /** Closes the connection that has been idle longest. Returns false if none has been for long enough. */
  #makeRoom(): boolean {
    let longest: { readonly socket: Socket; readonly since: number } | undefined;
    for (const [socket, connection] of this.#sockets) {
      const since = getIdleSince(connection);
      if (since !== undefined && since < (longest?.since ?? performance.now() - MIN_IDLE_MS))
        longest = { socket, since };
    }
    if (longest === undefined) return false;
    this.#sockets.delete(longest.socket);
    longest.socket.destroy();
    return true;
  }

  /** Serves a connection after its handshake, by the protocol that both sides agreed on. Without any: HTTP/1.1. */
  #serveTls(socket: TLSSocket): void {
    const raw = getRawSocket(socket);
    const connection = raw instanceof Socket ? this.#sockets.get(raw) : undefined;
    if (raw instanceof Socket) this.#undecided.delete(raw);
    if (this.#draining) return void socket.destroy();
    socket.allowHalfOpen = true;
    const name = readPeerName(socket);
    if (name !== undefined) setPeerName(socket, name);
    if (socket.alpnProtocol === "h2") this.#serveHttp2(socket, connection, name);
    else this.#serveHttp1(socket, connection);
  }

  #serveHttp1(socket: Socket, connection: OpenConnection | undefined): void {
    if (connection !== undefined) {
      connection.http1 = socket;
      this.#http1Sockets.set(socket, connection);
    }
    injectConnection(this.#http1, socket);
    serveSequentially(socket);
  }

  #serveHttp2(socket: Socket, connection: OpenConnection | undefined, peerName?: string): void {
    // A peer that closes its side has disconnected.
    socket.allowHalfOpen = false;
    this.#arriving = { connection, peerName };
    injectConnection(this.#http2, socket);
    this.#arriving = undefined;
  }

  /** Records the end of a response, and closes its connection if a drain has started since. */
  #followHttp1({ socket }: HttpRequest, response: HttpResponse): void {
    if (this.#draining) response.setHeader("connection", "close");
    response.once("close", () => {
      const connection = this.#http1Sockets.get(socket);
      if (connection !== undefined) connection.usedAt = performance.now();
      if (this.#draining) this.#http1.closeIdleConnections();
    });
  }

  /** Resolves when the addresses are free and all their connections are closed. */
  #stopAccepting(): Promise<void> {
    this.#draining = true;
    this.#closed ??= Promise.all(this.#servers.map(closeServer)).then(() => this.#stopTimers());
    return this.#closed;
  }

  #stopTimers(): void {
    clearInterval(this.#keepalive);
    this.#options.intake.arrivals.stop();
    // Stops its connection checks. The error would say that the server never listened itself.
    this.#http1.close(() => {});
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

/** Returns when a connection became idle, by `performance.now()`; undefined while it has a request or is upgraded. */
function getIdleSince({ http1, http2, usedAt }: OpenConnection): number | undefined {
  if (http2 !== undefined) return http2.idleSince;
  if (http1 === undefined) return usedAt;
  const { isParsing, response } = getParserState(http1);
  return isParsing && response === undefined ? usedAt : undefined;
}

/** The HTTP version of a connection. */
type HttpVersion = "http1" | "http2";

/**
 * Reads the first bytes of a connection until they show its HTTP version, and puts them back.
 * @param timeoutMs A socket that is still undecided by then is destroyed.
 * @param decide Called once, unless the socket closes first.
 */
function sniff(socket: Socket, timeoutMs: number, decide: (version: HttpVersion) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", onEnd).off("close", stop).off("error", ignore);
  };
  const onEnd = () => socket.destroy();
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const version = readVersion(seen);
    if (version === undefined) return;
    stop();
    socket.unshift(seen);
    decide(version);
  };
  // Without a listener an error would be thrown; `close` follows it.
  socket.on("readable", onReadable).on("end", onEnd).on("close", stop).on("error", ignore);
}

/** Returns the version that the first bytes of a connection show; undefined while both are possible. */
export function readVersion(bytes: Uint8Array): HttpVersion | undefined {
  const length = Math.min(bytes.length, HTTP2_PREFACE.length);
  if (HTTP2_PREFACE.compare(bytes, 0, length, 0, length) !== 0) return "http1";
  return length === HTTP2_PREFACE.length ? "http2" : undefined;
}

// RFC 9113 §3.4
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

function ignore(): void {
  // Empty: see the comment at the use.
}
