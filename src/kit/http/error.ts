import {
  AbortError,
  ConfigurationError,
  NetworkError,
  RequestTimeoutError,
  type SDKError,
} from "../../core/errors.ts";
import { NOT_PRIVATE } from "./private-address.ts";
import type { HttpTimeouts } from "./timeouts.ts";

/** Largest head of a response, in bytes. Providers send about four thousand. */
export const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

const CLOSED = "closed by the other side";

/** How far an exchange had come when it failed. */
export type ExchangePhase = "connecting" | "waiting" | "reading";

/** The facts about a failed exchange that an error may show. */
export interface FailedExchange {
  /** Host and port. */
  readonly peer: string;
  readonly phase: ExchangePhase;
  readonly timeouts: HttpTimeouts;
}

/**
 * Converts a failure of undici, TLS or the network to an SDKError; no other function does. The text names the peer and
 * a code; it holds no path, no header and no part of a body.
 */
export function toHttpError(error: Error, exchange: FailedExchange): SDKError {
  const { peer, timeouts } = exchange;
  switch (getCode(error)) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return new NetworkError(`no connection to ${peer} within ${toSeconds(timeouts.connectMs)}`);
    case NOT_PRIVATE:
      return notLocal(peer);
    case "UND_ERR_HEADERS_OVERFLOW":
      return new NetworkError(`the response head of ${peer} is over ${MAX_RESPONSE_HEADER_BYTES} bytes`);
    case "UND_ERR_DESTROYED":
    case "UND_ERR_CLOSED":
      return new AbortError("the connections to the provider were closed");
    default:
      return toConfigurationError(error, peer) ?? toNetworkError(error, exchange);
  }
}

/** Creates the error for a provider outside of the networks to which it is confined. */
export function notLocal(peer: string): ConfigurationError {
  return new ConfigurationError(
    `${peer} is not on this machine or in a private network, as local_only requires`,
  );
}

/** Creates the error of an exchange that exceeded its time limit. */
export function toRequestTimeout({ peer, timeouts }: Omit<FailedExchange, "phase">): RequestTimeoutError {
  return new RequestTimeoutError(
    `no complete answer from ${peer} within ${toSeconds(timeouts.requestMs)}, the limit of a request`,
  );
}

/** Creates the error of an answer that was silent for longer than its limit. */
export function toSilenceTimeout({ peer, timeouts }: Omit<FailedExchange, "phase">): RequestTimeoutError {
  return new RequestTimeoutError(
    `${peer} sent nothing for ${toSeconds(timeouts.betweenBytesMs)}, the limit between bytes`,
  );
}

/**
 * Recognizes mistakes of the configuration: requests that undici refuses to send, or that a proxy refuses without
 * credentials.
 */
function toConfigurationError(error: Error, peer: string): ConfigurationError | undefined {
  const code = getCode(error);
  if (code !== "UND_ERR_INVALID_ARG" && code !== "UND_ERR_ABORTED") return undefined;
  if (error.message.includes("(407)")) {
    return new ConfigurationError(`the proxy for ${peer} requires credentials (407)`, { cause: error });
  }
  if (code === "UND_ERR_ABORTED") return undefined;
  return new ConfigurationError(`the request to ${peer} cannot be sent: ${error.message}`, { cause: error });
}

function toNetworkError(error: Error, { peer, phase }: FailedExchange): NetworkError {
  if (breaksHttp(error, phase)) return new NetworkError(`the answer of ${peer} breaks HTTP/1.1`);
  if (error.name !== "HTTPParserError") {
    return new NetworkError(`${describeLoss(phase, peer)} (${getReason(error)})`, { cause: error });
  }
  // The parser's error carries the bytes that it could not read: part of an answer, not for a log.
  if (error.message.includes("(Invalid EOF state)")) {
    return new NetworkError(`${describeLoss(phase, peer)} (${CLOSED})`);
  }
  return new NetworkError(`the answer of ${peer} breaks HTTP/1.1`);
}

/** Reports whether undici has closed the connection because of the head of the answer. */
function breaksHttp(error: Error, phase: ExchangePhase): boolean {
  if (phase !== "waiting") return false;
  const code = getCode(error);
  // Two lengths, or a length and chunks; a switch to another protocol.
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return true;
  return code === "UND_ERR_SOCKET" && /^bad (response|upgrade)$/.test(error.message);
}

function describeLoss(phase: ExchangePhase, peer: string): string {
  switch (phase) {
    case "connecting":
      return `cannot connect to ${peer}`;
    case "waiting":
      return `the connection to ${peer} was lost before the answer`;
    case "reading":
      return `the connection to ${peer} was lost in the middle of the answer`;
  }
}

function getReason(error: Error): string {
  const code = getCode(error);
  switch (code) {
    case "UND_ERR_SOCKET":
    case "UND_ERR_PRX_CONN":
    case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
      return CLOSED;
    case "UND_ERR_ABORTED":
      // Only a proxy's tunnel gets here; aborts by Outrigger never do.
      return error.message;
    default:
      return code || error.name;
  }
}

/** Returns the machine-readable code; empty if there is none, or none that reads like one. */
function getCode(error: Error): string {
  const code: unknown = "code" in error ? error.code : undefined;
  // OpenSSL has codes like ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE.
  return typeof code === "string" && /^[A-Z0-9_/]{1,64}$/.test(code) ? code : "";
}

function toSeconds(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
