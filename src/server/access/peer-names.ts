import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";
import type { HttpRequest } from "../base/http-types.ts";

type Connection = Socket | Http2Session;

/** The names that certificates give to callers, by their connections. */
const names = new WeakMap<Connection, string>();

/** Records the name of a connection's caller. */
export function setPeerName(connection: Connection, name: string): void {
  names.set(connection, name);
}

/** Returns the name of a connection's caller, from the caller's certificate. */
export function getPeerName(connection: Connection | undefined): string | undefined {
  return connection === undefined ? undefined : names.get(connection);
}

/** Returns the name of a request's caller, from the caller's certificate. */
export function getRequestPeerName(request: HttpRequest): string | undefined {
  return getPeerName("stream" in request ? request.stream.session : request.socket);
}
