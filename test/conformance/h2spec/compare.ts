import type { Verdict } from "../../clients/runner/report.ts";
import type { CaseResult } from "./report.ts";

/** Cases that only our listener fails, and why that is intended. */
const DIFFERENCES: ReadonlyMap<string, string> = new Map([
  [
    "http2/3.5: Sends invalid connection preface",
    "our port treats what does not begin as HTTP/2 as HTTP/1.1: the response is its status 400, and then the connection is closed",
  ],
]);

/**
 * Compares our results with the results of Node's server. A case that we fail and Node passes has
 * failed, unless it is a known difference; so has a known difference that no longer exists. Our other
 * failures count as skipped.
 */
export function compare(ours: readonly CaseResult[], plain: readonly CaseResult[]): Verdict {
  const nodes = new Set(failuresIn(plain));
  const mine = failuresIn(ours);
  const extra = mine.filter((name) => !nodes.has(name) && !DIFFERENCES.has(name));
  const stale = [...DIFFERENCES.keys()].filter((name) => !mine.includes(name) || nodes.has(name));
  const lines = [
    `Node alone fails ${nodes.size} of ${plain.length}, our listener ${mine.length} of ${ours.length}`,
    ...mine.map((name) => `${remarkOn(name, nodes)} ${name}`),
    ...stale.map((name) => `FAIL the known difference is none any more: ${name}`),
  ];
  if (ours.length !== plain.length || ours.length === 0) lines.push("FAIL both must have the same cases");
  const failed = lines.filter((line) => line.startsWith("FAIL ")).length;
  const tally = { passed: ours.length - mine.length, failed, skipped: mine.length - extra.length };
  return { tally, lines };
}

function remarkOn(name: string, nodes: ReadonlySet<string>): string {
  if (nodes.has(name)) return "like Node:";
  const reason = DIFFERENCES.get(name);
  return reason === undefined ? "FAIL unlike Node:" : `intended (${reason}):`;
}

function failuresIn(results: readonly CaseResult[]): string[] {
  return results.filter(({ passed }) => !passed).map(({ name }) => name);
}
