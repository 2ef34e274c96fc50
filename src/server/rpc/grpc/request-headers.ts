/** Reads the headers of a gRPC request that say how it is served. */
import { Code, ConnectError } from "@connectrpc/connect";
import { boundedText } from "../../../core/text.ts";

/** A header of Node. It joins one that was sent twice into one text, which is not a valid value. */
type Header = string | readonly string[] | undefined;

/** The longest timer of Node, 24.8 days. A longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Parses the timeout in the header `grpc-timeout` (PROTOCOL-HTTP2, Timeout), in milliseconds. Undefined if there is no
 * header, and for a timeout over 24.8 days, the longest timer: clients without a deadline send such values.
 * @throws ConnectError INVALID_ARGUMENT for other texts.
 */
export function parseTimeout(header: Header): number | undefined {
  if (header === undefined) return undefined;
  const [, digits, unit = ""] = TIMEOUT.exec(String(header)) ?? [];
  const unitMs = UNIT_MS[unit];
  if (digits === undefined || unitMs === undefined) throw invalidTimeout(String(header));
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

/** The compressions of this server other than `identity`; the value of `grpc-accept-encoding`. */
export const ACCEPTED_ENCODINGS = "gzip";

/**
 * Returns the compression that a request announces by `grpc-encoding`; undefined if there is none.
 * @throws ConnectError UNIMPLEMENTED for an unknown one (gRPC's compression.md).
 */
export function getCompression(header: Header): "gzip" | undefined {
  if (header === undefined || header === "identity") return undefined;
  if (header === "gzip") return header;
  const found = JSON.stringify(boundedText(String(header), MAX_SHOWN_BYTES));
  throw new ConnectError(`grpc-encoding is ${found}, expected identity or gzip`, Code.Unimplemented);
}

/** Reports whether a list of encodings, as in `grpc-accept-encoding`, contains gzip. */
export function acceptsGzip(header: Header): boolean {
  return String(header ?? "")
    .split(",")
    .some((name) => name.trim() === "gzip");
}
