import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { warning } from "../call/loss-report.ts";
import { isObject } from "../json/json.ts";

/** Returns a warning if the usage that a provider sent holds a negative count, since the contract has none. */
export function negativeCountsIn(usage: unknown): Warning[] {
  const message = "the provider sent a negative count; it was left out";
  return holdsNegative(usage) ? [warning("usage", "count_mismatch", message)] : [];
}

/** Counts are fields of the usage and of the objects in it. */
function holdsNegative(usage: unknown): boolean {
  if (!isObject(usage)) return false;
  return Object.values(usage)
    .flatMap((value) => (isObject(value) ? Object.values(value) : [value]))
    .some((value) => typeof value === "number" && value < 0);
}
