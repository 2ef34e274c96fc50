import { connect as connectSocket, type Socket } from "node:net";
import { ConfigurationError } from "../../../src/core/errors.ts";

/** The address of a sidecar. */
export interface Target {
  /** Origin of its URLs: `http://localhost:6190`. */
  readonly origin: string;
  /** Opens the connection if it is not a TCP connection to the origin. */
  readonly connect: (() => Socket) | undefined;
}

/** Address of a sidecar that is not configured otherwise. */
export const DEFAULT_ADDRESS = "localhost:6190";

/**
 * Reads the address of a sidecar: `host:port`, `http://host:port`, `https://host:port` for TLS, or `unix:///path` for a
 * Unix socket.
 * @throws ConfigurationError naming the address and the forms.
 */
export function toTarget(address: string): Target {
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(address)?.[1];
  if (path !== undefined) return { origin: "http://localhost", connect: () => connectSocket(path) };
  const url = URL.parse(/^https?:\/\//.test(address) ? address : `http://${address}`);
  if (url === null || url.hostname === "" || url.pathname !== "/" || url.search !== "")
    throw new ConfigurationError(
      `the address of the sidecar is ${JSON.stringify(address)}; expected host:port, a URL without a path, or unix:///path`,
    );
  return { origin: url.origin, connect: undefined };
}
