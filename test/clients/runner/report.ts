import type { Outcome } from "./process.ts";

/** How many checks ended how. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What a program's run comes to: its tally, and what to print of it. */
export interface Verdict {
  readonly tally: Tally;
  readonly lines: readonly string[];
}

/**
 * Reads a program's verdicts. A check that must be there and has none has failed, so that a program
 * that crashes, hangs or forgets a check does not pass.
 */
export function judge(checks: readonly string[], outcome: Outcome): Verdict {
  const printed = outcome.stdout.split("\n");
  const lines = checks.map(
    (check) =>
      printed.find((line) => line === `ok ${check}` || line.startsWith(`FAIL ${check}: `)) ??
      `FAIL ${check}: the program gave no verdict`,
  );
  const passed = lines.filter((line) => line.startsWith("ok ")).length;
  if (outcome.code !== 0 && passed === checks.length) {
    lines.push(`FAIL exit: every check passed, yet the program ended with ${outcome.code ?? "a signal"}`);
  }
  return { tally: { passed, failed: lines.length - passed, skipped: 0 }, lines };
}

/** Adds tallies up. */
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
