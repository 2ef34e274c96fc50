import { Code, ConnectError } from "@connectrpc/connect";
import { boundedText } from "../../status/bounded-text.ts";

/** The longest timer of Node, 24.8 days. A longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Parses the timeout in the header `grpc-timeout` (PROTOCOL-HTTP2, Timeout), in milliseconds. Undefined if there is no
 * header, and for a timeout over 24.8 days, the longest timer: clients without a deadline send such values.
 * @throws ConnectError INVALID_ARGUMENT for other texts.
 */
export function parseTimeout(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const [, digits, unit = ""] = TIMEOUT.exec(header) ?? [];
  const unitMs = UNIT_MS[unit];
  if (digits === undefined || unitMs === undefined) throw invalidTimeout(header);
  const timeoutMs = Number(digits) * unitMs;
  return timeoutMs > MAX_TIMER_MS ? undefined : timeoutMs;
}

const TIMEOUT = /^([0-9]{1,8})([HMSmun])$/;

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

const MAX_SHOWN_BYTES = 32;

function invalidTimeout(header: string): ConnectError {
  const found = JSON.stringify(boundedText(header, MAX_SHOWN_BYTES));
  return new ConnectError(
    `grpc-timeout is ${found}, expected up to 8 digits and one of H, M, S, m, u, n`,
    Code.InvalidArgument,
  );
}
