import type { Verdict } from "../../clients/runner/report.ts";
import type { CaseResult } from "./report.ts";

/** What h2spec finds with us alone, and why it is right as it is. */
const DIFFERENCES: ReadonlyMap<string, string> = new Map([
  [
    "http2/3.5: Sends invalid connection preface",
    "what does not begin as HTTP/2 is HTTP/1.1 on our port: the answer is its status 400, and then the connection is closed",
  ],
]);

/**
 * Holds our results against those of Node's own server. A case has failed that we fail and Node
 * passes, unless it is a known difference; and a known difference that is none any more. What
 * else we fail counts as skipped.
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
  return reason === undefined ? "FAIL not like Node:" : `by intent (${reason}):`;
}

function failuresIn(results: readonly CaseResult[]): string[] {
  return results.filter(({ passed }) => !passed).map(({ name }) => name);
}
