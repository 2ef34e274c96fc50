import { dirname } from "node:path";
import { describe, type Outcome, type Result } from "./run.ts";

/** Fewest mutants whose score is compared with the minimum, if the time was over before all were tried. */
const MIN_JUDGED = 10;

/**
 * Prints the outcomes of the mutants. Returns the exit code: 1 if the score in per cent is below the minimum, unless
 * the time was over too soon to tell.
 */
export function printReport(outcome: Outcome, leastScore: number, print: (line: string) => void): number {
  const { results, untried, stale } = outcome;
  const survivors = results.filter(({ verdict }) => verdict === "survived" || verdict === "no test");
  for (const { mutant, verdict } of survivors) print(`${verdict}: ${describe(mutant)}`);
  for (const { file, line } of stale) print(`equivalents.json: no mutant matches ${file}: ${line}`);
  const folders = [...new Set(results.map(({ mutant }) => dirname(mutant.file)))].sort();
  const inFolder = (folder: string) => results.filter(({ mutant }) => dirname(mutant.file) === folder);
  const rows = folders.map((folder) => toRow(folder, inFolder(folder)));
  printTable([HEADINGS, ...rows, toRow("all", results)], print);
  if (untried > 0) print(`${untried} more were not tried, because the time was over`);
  const score = getScore(results);
  const isTooLow = score !== undefined && score < leastScore && !isTooSmall(outcome);
  if (isTooLow) print(`${score.toFixed(1)} % of the mutants were killed, expected at least ${leastScore} %`);
  return stale.length > 0 || isTooLow ? 1 : 0;
}

const HEADINGS = ["folder", "killed", "timed out", "survived", "no test", "equivalent", "score"];

/** The share of mutants that were noticed, in per cent. Undefined if there are none. */
function getScore(results: readonly Result[]): number | undefined {
  const tried = results.filter(({ verdict }) => verdict !== "equivalent");
  if (tried.length === 0) return undefined;
  const noticed = tried.filter(({ verdict }) => verdict === "killed" || verdict === "timed out");
  return (100 * noticed.length) / tried.length;
}

function isTooSmall({ results, untried }: Outcome): boolean {
  return untried > 0 && results.filter(({ verdict }) => verdict !== "equivalent").length < MIN_JUDGED;
}

function toRow(folder: string, results: readonly Result[]): string[] {
  const count = (verdict: Result["verdict"]) =>
    String(results.filter((result) => result.verdict === verdict).length);
  const score = getScore(results);
  const counts = (["killed", "timed out", "survived", "no test", "equivalent"] as const).map(count);
  return [folder, ...counts, score === undefined ? "-" : `${score.toFixed(1)} %`];
}

function printTable(rows: readonly (readonly string[])[], print: (line: string) => void): void {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const [folder = "", ...cells] of rows) {
    const padded = cells.map((cell, index) => cell.padStart(widths[index + 1] ?? 0));
    print([folder.padEnd(widths[0] ?? 0), ...padded].join("  "));
  }
}
