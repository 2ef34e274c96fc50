/** The results of a run as Markdown, for standard output and RESULTS.md. */
import { tableOfGoals } from "./goals.ts";
import type { CaseName } from "./options.ts";
import { type CaseResult, getFailures, toTable } from "./report.ts";

/** Everything that a run produced. */
export interface RunResults {
  readonly date: Date;
  /** The machine, line by line. */
  readonly machine: readonly string[];
  /** Options of the command line. */
  readonly args: readonly string[];
  /** Table of the throughput of callers and upstream. */
  readonly ceiling: string;
  readonly cases: ReadonlyMap<CaseName, CaseResult>;
}

/** Writes the report of a run. */
export function describeRun({ date, machine, args, ceiling, cases }: RunResults): string {
  return [
    "# Benchmark results",
    ...paragraph(`Written on ${toDay(date)} by`),
    ...["```sh", ["node bench/run.ts", ...args].join(" "), "```"],
    ...paragraph(...machine.map(item)),
    "Compare the ratios: both sides of a ratio were measured within a minute of each other, while absolute numbers",
    "depend on the machine and on its load. A ratio is the median over the rounds, with the minimum and maximum in",
    "brackets. The implementations and the measurements are described in",
    "[README.md](README.md).",
    ...section("Goals", tableOfGoals(cases)),
    ...section("Callers and upstream alone", ceiling, CEILING_NOTE),
    ...[...cases.values()].flatMap((result) => section(result.title, toTable(result), ...notesOn(result))),
    "",
  ].join("\n");
}

const CEILING_NOTE =
  "An implementation that needs more CPU per call than the callers and the upstream limits the run: it has a core to\n" +
  "itself.";

function paragraph(...lines: readonly string[]): string[] {
  return ["", ...lines, ""];
}

function section(title: string, ...blocks: readonly string[]): string[] {
  return ["", `## ${title}`, ...blocks.flatMap((block) => ["", block])];
}

function notesOn(result: CaseResult): string[] {
  const notes = [...result.configurations, ...getFailures(result)];
  return notes.length === 0 ? [] : [notes.map(item).join("\n")];
}

/** Columns of a line of the documentation. */
const MAX_COLUMNS = 120;

/** An item of a list, wrapped. */
function item(text: string): string {
  const lines = [""];
  for (const word of `- ${text}`.split(" ")) {
    const line = lines.at(-1) ?? "";
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length <= MAX_COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(`  ${word}`);
  }
  return lines.join("\n");
}

function toDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}
