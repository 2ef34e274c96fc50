import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Timeouts } from "../../gen/outrigger/v1/request_pb.ts";
import type { HttpTimeouts } from "./transport.ts";

/** Returns the limits that a request sets, in milliseconds. Limits that it does not set are absent. */
export function toTimeouts(timeouts: Timeouts | undefined): Partial<HttpTimeouts> {
  if (timeouts === undefined) return {};
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
