import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Violations } from "./violations.ts";

/** Records a violation if a time limit or a delay is negative. */
export function checkDuration(duration: Duration | undefined, field: string, violations: Violations): void {
  if (duration === undefined || (duration.seconds >= 0n && duration.nanos >= 0)) return;
  violations.add(field, "is negative, expected 0 or more");
}
