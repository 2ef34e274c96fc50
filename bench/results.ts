/** The whole outcome of a run, as Markdown: what is printed, and what goes into RESULTS.md. */
import { tableOfAims } from "./aims.ts";
import type { CaseName } from "./options.ts";
import { type CaseResult, failuresOf, tableOf } from "./report.ts";

/** All that a run has to tell. */
export interface RunResults {
  readonly date: Date;
  /** The machine, line by line. */
  readonly machine: readonly string[];
  /** Options of the command line. */
  readonly args: readonly string[];
  /** Table of what callers and upstream can do by themselves. */
  readonly ceiling: string;
  readonly cases: ReadonlyMap<CaseName, CaseResult>;
}

/** Puts a run into words. */
export function describeRun({ date, machine, args, ceiling, cases }: RunResults): string {
  return [
    "# Results of the benchmark",
    ...paragraph(
      `Written by \`${["node bench/run.ts", ...args].join(" ")}\` on ${dayOf(date)}.`,
      ...machine.map(item),
    ),
    "Read the ratios: both sides of one were measured within a minute of each other, while the numbers themselves",
    "change with the machine and with what else runs on it. A ratio is the median over the rounds; in brackets",
    "stand the least and the most that a round gave. What the contestants are and how they are measured is told in",
    "[README.md](README.md).",
    ...section("Aims", tableOfAims(cases)),
    ...section("Callers and upstream by themselves", ceiling, CEILING_NOTE),
    ...[...cases.values()].flatMap((result) => section(result.title, tableOf(result), ...failuresIn(result))),
    "",
  ].join("\n");
}

const CEILING_NOTE =
  "A contestant that needs more CPU per call than the callers and the upstream has a core to itself and is what " +
  "limits the run.";

function paragraph(...lines: readonly string[]): string[] {
  return ["", ...lines, ""];
}

function section(title: string, ...blocks: readonly string[]): string[] {
  return ["", `## ${title}`, ...blocks.flatMap((block) => ["", block])];
}

function failuresIn(result: CaseResult): string[] {
  const failures = failuresOf(result);
  return failures.length === 0 ? [] : [failures.map(item).join("\n")];
}

function item(text: string): string {
  return `- ${text}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
