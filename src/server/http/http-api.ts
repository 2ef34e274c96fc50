import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { HttpRequest, HttpResponse } from "../base/http-types.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import type { TransportOutcome } from "../telemetry/outcome.ts";
import type { Rejection } from "./rejection.ts";

/** A part of what a listener serves over HTTP/1.1 and HTTP/2: it finds its routes, and has its own form of error. */
export interface HttpApi {
  /**
   * The route of a request; undefined where this API has none.
   * @param path Without the query.
   */
  find(path: string, method: string): HttpRoute | undefined;
  /** Answers a request to one of its routes that the server rejects, in the form of this API's errors. */
  reject(request: HttpRequest, response: HttpResponse, rejection: Rejection): TransportOutcome;
}

/** What answers the requests to a path. */
export interface HttpRoute {
  /** Its name in logs and metrics, for instance `outrigger.v1.InferenceService/Stream`. */
  readonly name: string;
  /** False for routes whose requests are no calls and go to no observer: probes and scrapes. */
  readonly isObserved: boolean;
  /** The protocol that it speaks, for logs and metrics. Absent where the headers of a request say it. */
  readonly protocol?: string;
  /** Whether its requests need no access key. Default false. */
  readonly isOpen?: boolean;
  /** Serves one request to its end. Never rejects. */
  serve(request: HttpRequest, response: HttpResponse, recorder: CallRecorder): Promise<TransportOutcome>;
  /** Serves a WebSocket to its end. Absent: its path takes none. Never rejects. */
  serveSocket?(upgraded: UpgradedConnection): Promise<TransportOutcome>;
}

/** A connection of HTTP/1.1 that is a WebSocket now. */
export interface UpgradedConnection {
  readonly socket: WebSocket;
  readonly connection: Duplex;
  /** The request that it began with. */
  readonly request: IncomingMessage;
  readonly recorder: CallRecorder;
  /** Counts a further request of the same caller. Throws SDKError where it is one too many, or its key is gone. */
  readonly admit: () => void;
}

/** The path of a request, without the query. */
export function getPath({ url = "" }: HttpRequest): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
