/** The errors of requests that exceed a limit. */
import { Code, ConnectError } from "@connectrpc/connect";
import { RateLimitError, RequestTimeoutError, type SDKError, toSdkError } from "../../core/errors.ts";
import { toConnectError, toFailure } from "../status/status.ts";

/** Seconds after which a refused client should come again: most calls end sooner or free some memory by then. */
const RETRY_AFTER_SECONDS = 1;

/** A message of too many fields or values. */
export function tooManyElements(max: number): ConnectError {
  return new ConnectError(
    `the message has too many elements: expected at most ${max} fields and values (limits.max_message_elements)`,
    Code.ResourceExhausted,
  );
}

/** A message that is over the limit, before or after decompression. */
export function tooLarge(found: string, maxBytes: number): ConnectError {
  return new ConnectError(
    `the message is too large: expected at most ${maxBytes} bytes (limits.max_message_bytes), found ${found}`,
    Code.ResourceExhausted,
  );
}

/** A compressed message that unfolds more than any real one. */
export function tooCompressed(found: number, maxRatio: number): ConnectError {
  return new ConnectError(
    `the message is compressed too much: ${found} bytes are more than ${maxRatio} times as many after decompression ` +
      "(limits.max_compression_ratio)",
    Code.ResourceExhausted,
  );
}

/** A call beyond the number of calls that are served at once. */
export function tooManyCalls(max: number): ConnectError {
  return overloaded(`${max} calls are under way, as many as are served at once (limits.max_calls)`);
}

/** A call of an access key that has more calls under way than one key may have. */
export function tooManyCallsOfOwner(max: number): ConnectError {
  return overloaded(
    `${max} calls of this access key are under way, as many as one key may have (three quarters of limits.max_calls)`,
  );
}

/** A request whose bytes do not come. */
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
