import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { HttpRequest, HttpResponse } from "../base/http-types.ts";
import type { TransportOutcome } from "../telemetry/call-observer.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import type { Rejection } from "./rejection.ts";

/** Returns the route of a request; undefined if there is none. @param path Without the query. */
export type FindRoute = (path: string, method: string) => Route | undefined;

/** A path of a listener and its handler: a method of a service, a route of an HTTP API, or a page. */
export interface Route {
  /** Its name in logs and metrics, for instance `outrigger.v1.InferenceService/Stream`. */
  readonly name: string;
  /** False for requests that are not calls and are not reported to observers: probes and scrapes. */
  readonly isObserved: boolean;
  /** The protocol of the route, for logs and metrics. Absent if it follows from the headers of a request. */
  readonly protocol?: string;
  /** Parameter of the query that may have the access key. Absent: headers only. */
  readonly keyParameter?: string | undefined;
  /** The API's header for the id of the request. Every answer has it in addition to `x-request-id`. Absent: none. */
  readonly requestIdHeader?: string | undefined;
  /** Whether its requests need no access key. Default false. */
  readonly isOpen?: boolean;
  /** Serves one request to its end. Never rejects. */
  serve(request: HttpRequest, response: HttpResponse, recorder: CallRecorder): Promise<TransportOutcome>;
  /** Serves a WebSocket to its end. Absent if the path accepts none. Never rejects. */
  serveSocket?(upgraded: UpgradedConnection): Promise<TransportOutcome>;
  /** Answers a request that the server rejects, in the form of the route's errors. */
  reject(request: HttpRequest, response: HttpResponse, rejection: Rejection): TransportOutcome;
}

/** An HTTP/1.1 connection that was upgraded to a WebSocket. */
export interface UpgradedConnection {
  readonly socket: WebSocket;
  readonly connection: Duplex;
  /** The request that opened the WebSocket. */
  readonly request: IncomingMessage;
  readonly recorder: CallRecorder;
  /**
   * Counts a further request of the same caller. Throws SDKError if it exceeds a limit, or the caller's key was
   * removed; rejects if sidecars count together.
   */
  readonly admit: () => Promise<void> | undefined;
}

/** Returns the access key in the query of a request; empty if its route allows none there. */
export function getKeyInQuery({ url = "" }: HttpRequest, { keyParameter }: Route): string {
  const start = url.indexOf("?");
  if (keyParameter === undefined || start < 0) return "";
  return new URLSearchParams(url.slice(start)).get(keyParameter) ?? "";
}

/** Returns the path of a request, without the query. */
export function getPath({ url = "" }: HttpRequest): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
