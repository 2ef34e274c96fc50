import type { Outcome } from "../../clients/runner/process.ts";
import { judge, type Tally } from "../../clients/runner/report.ts";
import { type WireApi, wireApis } from "./backend.ts";
import { type Framework, frameworkChecks } from "./framework.ts";

/** The result of a framework at one wire API, with a reason for each check that failed. */
export interface Cell {
  readonly failures: string[];
  /** Reasons of failures that the framework itself causes. */
  readonly limitations: string[];
}

/** What the program of a framework printed. */
export interface Verdict {
  readonly cells: Readonly<Record<WireApi, Cell>>;
  readonly tally: Tally;
}

/** Reads the results of a program. A check without a result has failed, and so has one that no longer fails. */
export function readVerdict(framework: Framework, outcome: Outcome): Verdict {
  const checks = listChecks(framework);
  const names = wireApis.flatMap((api) => checks.map((check) => `${api}/${check}`));
  const { lines } = judge(names, outcome);
  const cells = { openai: newCell(), anthropic: newCell(), gemini: newCell(), compatible: newCell() };
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const api of wireApis) {
    for (const check of checks) {
      const line = lines[names.indexOf(`${api}/${check}`)] ?? "";
      const limitation = framework.limitations?.[`${api}/${check}`] ?? framework.limitations?.[check];
      const passes = line.startsWith("ok ");
      if (passes && limitation === undefined) {
        tally.passed += 1;
      } else if (!passes && limitation !== undefined) {
        tally.skipped += 1;
        cells[api].limitations.push(`${framework.name}, ${check}: ${limitation}`);
      } else {
        tally.failed += 1;
        const reason = passes
          ? "passes, so it is no limitation any more"
          : line.slice(`FAIL ${api}/${check}: `.length);
        cells[api].failures.push(`${framework.name}, ${api}/${check}: ${reason}`);
      }
    }
  }
  return { cells, tally };
}

/** The checks of a framework at each wire API. */
export function listChecks({ checks }: Framework): readonly string[] {
  return checks ?? frameworkChecks;
}

function newCell(): Cell {
  return { failures: [], limitations: [] };
}
