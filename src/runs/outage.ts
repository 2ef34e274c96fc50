import { setTimeout as delay } from "node:timers/promises";
import { toSdkError } from "../core/errors.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";

/** After how long a read is tried again, in milliseconds. */
const RETRIES_MS: readonly number[] = [50, 200, 500, 1_000, 2_000, 3_000, 3_000];

/** How long a read is tried, in milliseconds: longer than most restarts of a database take. */
const MAX_OUTAGE_MS = 10_000;

/** Reads from a store, again while it cannot be reached, for some seconds or until the reader has left. */
export async function readOverOutage<Result>(
  read: () => Promise<Result>,
  hasLeft: () => boolean,
): Promise<Result> {
  const end = performance.now() + MAX_OUTAGE_MS;
  for (const wait of RETRIES_MS)
    try {
      return await read();
    } catch (thrown) {
      if (hasLeft() || !isOutage(thrown) || performance.now() > end) throw thrown;
      await delay(wait);
    }
  return read();
}

/** Whether a failure of a store passes by itself. */
export function isOutage(thrown: unknown): boolean {
  const { kind, retryable } = toSdkError(thrown);
  return retryable && kind === ErrorKind.SERVER;
}
