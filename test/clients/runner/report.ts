import type { Outcome } from "./process.ts";

/** Number of checks by result. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The result of a program: its tally, and the lines to print. */
export interface Verdict {
  readonly tally: Tally;
  readonly lines: readonly string[];
}

/**
 * Reads a program's results. An expected check without a result has failed, so that a program that
 * crashes, hangs or omits a check does not pass.
 */
export function judge(checks: readonly string[], outcome: Outcome): Verdict {
  const printed = outcome.stdout.split("\n");
  const lines = checks.map(
    (check) =>
      printed.find((line) => line === `ok ${check}` || line.startsWith(`FAIL ${check}: `)) ??
      `FAIL ${check}: the program reported no result`,
  );
  const passed = lines.filter((line) => line.startsWith("ok ")).length;
  if (outcome.code !== 0 && passed === checks.length) {
    lines.push(`FAIL exit: every check passed, yet the program ended with ${outcome.code ?? "a signal"}`);
  }
  return { tally: { passed, failed: lines.length - passed, skipped: 0 }, lines };
}

/** The sum of tallies. */
export function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (total, tally) => ({
      passed: total.passed + tally.passed,
      failed: total.failed + tally.failed,
      skipped: total.skipped + tally.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}
