import { MAX_TIMER_MS } from "../grpc/deadline.ts";

/**
 * Removes a deadline over 24.8 days, the longest timer. Clients without a deadline send such values; as a timer they
 * would overflow and fire at once.
 */
export function withoutEndlessDeadline(header: Headers): Headers {
  const isEndless =
    grpcTimeoutMs(header.get(GRPC_TIMEOUT)) > MAX_TIMER_MS ||
    Number(header.get(CONNECT_TIMEOUT)) > MAX_TIMER_MS;
  if (!isEndless) return header;
  const rest = new Headers(header);
  rest.delete(GRPC_TIMEOUT);
  rest.delete(CONNECT_TIMEOUT);
  return rest;
}

const GRPC_TIMEOUT = "grpc-timeout";
const CONNECT_TIMEOUT = "connect-timeout-ms";

// Milliseconds of those units of gRPC's timeout that can exceed the longest timer with eight digits.
const LONG_UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000 };

function grpcTimeoutMs(timeout: string | null): number {
  const match = /^([0-9]{1,8})([HMS])$/.exec(timeout ?? "");
  return Number(match?.[1] ?? 0) * (LONG_UNITS[match?.[2] ?? ""] ?? 0);
}
