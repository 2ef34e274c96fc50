/** WebSockets on HTTP/1.1: the checks of a request to upgrade its connection, and the handshake. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import type { WebSocket, WebSocketServer } from "ws";
import type { UpgradeHandler } from "../base/http-types.ts";
import type { Limits } from "../base/limits.ts";
import type { Rejection } from "../http/rejection.ts";
import type { RequestChecks } from "../http/request-handler.ts";
import { TurnStream } from "../listen/turn-stream.ts";
import { disconnectedOutcome } from "../telemetry/call-observer.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import { REQUEST_ID_HEADER } from "../telemetry/call-recorder.ts";
import type { WebSockets } from "./web-sockets.ts";

/** Options of upgrades. */
export interface UpgradesOptions {
  readonly limits: Limits;
  readonly checks: RequestChecks;
  readonly sockets: WebSockets;
}

/** Upgrades connections for the routes that take WebSockets. */
export function createUpgrades({ limits, checks, sockets }: UpgradesOptions): UpgradeHandler {
  const handshake = new Handshake(limits.maxMessageBytes);
  return {
    takes(request) {
      const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
      return isWebSocket && !sockets.isDraining && checks.find(request).serveSocket !== undefined;
    },
    serve(request, connection, head) {
      connection.on("error", () => {});
      void serveUpgrade(request, connection, head, { checks, handshake });
    },
  };
}

async function serveUpgrade(
  request: IncomingMessage,
  connection: Socket,
  head: Buffer,
  { checks, handshake }: { readonly checks: RequestChecks; readonly handshake: Handshake },
): Promise<void> {
  const response = new ServerResponse(request);
  const checked = await checks.check(request, response);
  if (checked === "answered") return answerOn(connection, response);
  const { route, recorder, rejection, admitAgain: admit } = checked;
  // The peer may have left while its token was verified.
  if (connection.destroyed) return recorder.end(disconnectedOutcome());
  const refusal = rejection ?? (isHandshake(request) ? undefined : NO_HANDSHAKE);
  if (refusal !== undefined) {
    answerOn(connection, response);
    return recorder.end(route.reject(request, response, refusal));
  }
  const accepted = await handshake.accept(request, connection, head, recorder);
  if (accepted === undefined) return recorder.end(disconnectedOutcome());
  if (route.serveSocket === undefined) throw new TypeError(`${route.name} does not accept WebSockets`);
  recorder.end(await route.serveSocket({ ...accepted, request, recorder, admit }));
}

/** Sends a response on a connection that is not upgraded after all, and ends it. */
function answerOn(connection: Socket, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  response.assignSocket(connection);
  response.once("finish", () => connection.destroySoon());
}

const NO_HANDSHAKE: Rejection = {
  status: 400,
  code: Code.InvalidArgument,
  message:
    "this is not a WebSocket handshake: expected GET with a Sec-WebSocket-Key and Sec-WebSocket-Version: 13",
  headers: { "sec-websocket-version": "13" },
};

/** The handshakes of WebSockets. Loads the library at the first one, since most sidecars never have any. */
class Handshake {
  readonly #maxMessageBytes: number;
  #server: Promise<WebSocketServer> | undefined;

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Returns the socket, or undefined if the peer has disconnected. */
  async accept(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    { call }: CallRecorder,
  ): Promise<{ readonly socket: WebSocket; readonly connection: Duplex } | undefined> {
    this.#server ??= this.#load();
    const server = await this.#server;
    // A peer that disconnected meanwhile may have ended only its side.
    if (!socket.readable) socket.destroy();
    if (socket.destroyed) return undefined;
    const connection = new TurnStream(socket);
    return new Promise((resolve) => {
      const addHeaders = (headers: string[], answered: IncomingMessage) => {
        if (answered === request) headers.push(`${REQUEST_ID_HEADER}: ${call.requestId}`);
      };
      connection.once("close", () => resolve(undefined));
      server.on("headers", addHeaders);
      server.handleUpgrade(request, connection, head, (accepted) =>
        resolve({ socket: accepted, connection }),
      );
      server.off("headers", addHeaders);
    });
  }

  async #load(): Promise<WebSocketServer> {
    const { WebSocketServer: Server } = await import("ws");
    return new Server({
      noServer: true,
      clientTracking: false,
      maxPayload: this.#maxMessageBytes,
      // A small message could expand to a huge one, and each connection would keep a window for each direction.
      perMessageDeflate: false,
      handleProtocols: () => false,
    });
  }
}

/** Checks the parts of a handshake for which the library would answer with errors of another form. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  const { "sec-websocket-key": key = "", "sec-websocket-version": version } = headers;
  return method === "GET" && /^[+/0-9A-Za-z]{22}==$/.test(key) && (version === "13" || version === "8");
}
