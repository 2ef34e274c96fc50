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
      const kind = addResult(framework, cells[api], { api, check, line });
      tally[kind] += 1;
    }
  }
  return { cells, tally };
}

/** The line that a program printed for a check. */
interface CheckResult {
  readonly api: WireApi;
  readonly check: string;
  readonly line: string;
}

function addResult(
  { name, limitations = [] }: Framework,
  cell: Cell,
  { api, check, line }: CheckResult,
): keyof Tally {
  const passes = line.startsWith("ok ");
  const limitation = limitations.find((each) => each.api === api && each.checks.includes(check));
  if (limitation === undefined && passes) return "passed";
  if (limitation !== undefined && !passes && line.includes(limitation.error)) {
    const note = `${name}, ${limitation.checks.join(", ")}: ${limitation.reason}`;
    if (!cell.limitations.includes(note)) cell.limitations.push(note);
    return "skipped";
  }
  const reason = passes
    ? "passes, so it is no limitation any more"
    : line.slice(`FAIL ${api}/${check}: `.length);
  cell.failures.push(`${name}, ${api}/${check}: ${reason}`);
  return "failed";
}

/** The checks of a framework at each wire API. */
export function listChecks({ checks }: Framework): readonly string[] {
  return checks ?? frameworkChecks;
}

function newCell(): Cell {
  return { failures: [], limitations: [] };
}
