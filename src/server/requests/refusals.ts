/** The errors of requests that exceed a limit. */
import { Code, ConnectError } from "@connectrpc/connect";
import { RateLimitError, RequestTimeoutError, type SDKError, toSdkError } from "../../core/errors.ts";
import { toConnectError, toFailure } from "../status/status.ts";

/** Seconds after which a refused client should try again: most calls end or free some memory within that time. */
const RETRY_AFTER_SECONDS = 1;

/** Creates the error for a message with too many fields or values. */
export function tooManyElements(max: number): ConnectError {
  return new ConnectError(
    `the message has too many elements: expected at most ${max} fields and values (limits.max_message_elements)`,
    Code.ResourceExhausted,
  );
}

/** Creates the error for a message over the limit, before or after decompression. */
export function tooLarge(found: string, maxBytes: number): ConnectError {
  return new ConnectError(
    `the message is too large: expected at most ${maxBytes} bytes (limits.max_message_bytes), found ${found}`,
    Code.ResourceExhausted,
  );
}

/** Creates the error for a compressed message that expands more than any ordinary one. */
export function tooCompressed(found: number, maxRatio: number): ConnectError {
  return new ConnectError(
    `the message is compressed too much: ${found} bytes are more than ${maxRatio} times as many after decompression ` +
      "(limits.max_compression_ratio)",
    Code.ResourceExhausted,
  );
}

/** Creates the error for a call beyond the number of concurrent calls. */
export function tooManyCalls(max: number): ConnectError {
  return overloaded(`${max} calls are in progress, the maximum (limits.max_calls)`);
}

/** Creates the error for a call of an access key that has reached its number of concurrent calls. */
export function tooManyOwnerCalls(max: number): ConnectError {
  return overloaded(
    `${max} calls of this access key are in progress, the maximum for one key (three quarters of limits.max_calls)`,
  );
}

/** Creates the error for a request whose bytes do not arrive. */
export function tooSlow(limit: string, ms: number): ConnectError {
  return toConnectError(
    new RequestTimeoutError(`the request did not arrive in time: waited ${ms} ms (limits.${limit})`),
  );
}

function overloaded(message: string): ConnectError {
  return toConnectError(new RateLimitError(message, { retryable: true, retryAfter: RETRY_AFTER_SECONDS }));
}

/** RPC name in the texts of refusals that an HTTP API converts. */
const ENDPOINT_RPC = "outrigger.endpoint";

/** Converts a refusal, which limits throw as a status, to one of our errors. */
export function toRefusalError(thrown: unknown): SDKError {
  return toSdkError(toFailure(thrown, ENDPOINT_RPC).status.cause ?? thrown);
}
