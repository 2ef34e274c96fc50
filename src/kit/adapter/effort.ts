import type { LossReport } from "../call/loss-report.ts";

/** The effort levels that providers have in common, lowest first. */
export const EFFORTS: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/**
 * Returns the effort level to send: the requested one if the model has it, else the nearest (of two equally near ones,
 * the lower and cheaper), with a warning. A request for some reasoning is never lowered to none. An uncommon level
 * passes through, since providers add levels.
 * @param allowed Levels that the model has; undefined if they are unknown.
 * @returns Undefined if nothing is to be sent.
 */
export function effortFor(
  wanted: string,
  allowed: readonly string[] | undefined,
  loss: LossReport,
): string | undefined {
  if (wanted === "") return undefined;
  if (allowed === undefined || allowed.includes(wanted) || !EFFORTS.includes(wanted)) return wanted;
  const nearest = nearestEffort(wanted, allowed);
  if (nearest !== undefined) {
    const message = `the model has no effort "${wanted}"; the nearest, "${nearest}", was sent`;
    loss.lose("reasoning_effort", "adjusted_setting", message);
  } else if (wanted !== "none") {
    loss.lose(
      "reasoning_effort",
      "unsupported_setting",
      "the model does not reason; the effort was left out",
    );
  }
  return nearest;
}

function nearestEffort(wanted: string, allowed: readonly string[]): string | undefined {
  const rank = EFFORTS.indexOf(wanted);
  const distance = (effort: string) => Math.abs(EFFORTS.indexOf(effort) - rank);
  return allowed
    .filter((effort) => EFFORTS.includes(effort) && (effort !== "none" || wanted === "none"))
    .sort(
      (left, right) => distance(left) - distance(right) || EFFORTS.indexOf(left) - EFFORTS.indexOf(right),
    )[0];
}
