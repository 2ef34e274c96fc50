import type { Duration } from "@bufbuild/protobuf/wkt";
import { ConfigurationError } from "../../core/errors.ts";
import type { Timeouts } from "../../gen/outrigger/v1/request_pb.ts";

/** Time limits of one exchange over HTTP, in milliseconds. 0 switches a limit off. */
export interface HttpTimeouts {
  /**
   * Maximum time to connect: name lookup, TCP, proxy and TLS. Exceeding it is a NetworkError. Defaults to 10 seconds.
   */
  readonly connectMs: number;
  /**
   * Maximum duration of the whole exchange, from the call to the last byte of the answer, including the wait for a free
   * connection. Exceeding it is a RequestTimeoutError. Defaults to 600 seconds, since reasoning models think for
   * minutes.
   */
  readonly requestMs: number;
  /**
   * Maximum idle time between two reads of the answer after its head has arrived. Time in which the answer waits for
   * its reader does not count. Exceeding it is a RequestTimeoutError. Defaults to 300 seconds.
   */
  readonly betweenBytesMs: number;
}

/** The default limits. */
export const DEFAULT_HTTP_TIMEOUTS: HttpTimeouts = {
  connectMs: 10_000,
  requestMs: 600_000,
  betweenBytesMs: 300_000,
};

/** Maximum delay of a Node timer, about 24 days. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * Returns the limits of `base`, overridden by `limits`. A limit longer than a timer can wait is cut to the timer's
 * maximum. Throws ConfigurationError naming a limit that is negative or no number.
 */
export function mergeTimeouts(limits: Partial<HttpTimeouts> | undefined, base: HttpTimeouts): HttpTimeouts {
  if (limits === undefined) return base;
  return {
    connectMs: checkLimit("connectMs", limits.connectMs ?? base.connectMs),
    requestMs: checkLimit("requestMs", limits.requestMs ?? base.requestMs),
    betweenBytesMs: checkLimit("betweenBytesMs", limits.betweenBytesMs ?? base.betweenBytesMs),
  };
}

function checkLimit(name: keyof HttpTimeouts, limit: number): number {
  if (limit >= 0) return Math.min(limit, LONGEST_TIMER_MS);
  throw new ConfigurationError(`the time limit ${name} is ${limit}; expected 0 (off) or more milliseconds`);
}

/** Returns the limits that a request sets, in milliseconds; undefined if it sets none. */
export function toTimeouts(timeouts: Timeouts | undefined): Partial<HttpTimeouts> | undefined {
  if (timeouts === undefined) return undefined;
  const { connect, request, betweenBytes } = timeouts;
  return {
    ...(connect === undefined ? {} : { connectMs: toMilliseconds(connect) }),
    ...(request === undefined ? {} : { requestMs: toMilliseconds(request) }),
    ...(betweenBytes === undefined ? {} : { betweenBytesMs: toMilliseconds(betweenBytes) }),
  };
}

/**
 * Converts a duration to milliseconds. Rounds up, since a limit of less than a millisecond is still a limit; 0 stays 0,
 * which means none.
 */
export function toMilliseconds({ seconds, nanos }: Duration): number {
  return Math.ceil(Number(seconds) * 1000 + nanos / 1e6);
}
