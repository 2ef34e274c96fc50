import { wireApis } from "./backend.ts";
import type { Cell, Verdict } from "./verdict.ts";

/** A line of the table. */
export interface Row {
  readonly name: string;
  readonly version: string;
  /** The results, or why there are none. */
  readonly results: Verdict["cells"] | string;
}

/** Formats the results as a table with numbered notes. A number without a mark is a limit of the framework itself. */
export function formatTable(rows: readonly Row[]): string {
  const notes: string[] = [];
  const lines = [["framework", "version", ...wireApis], ...rows.map((row) => formatRow(row, notes))];
  const widths = ["framework", "version", ...wireApis].map((_, column) => {
    // A text that stands for all results of a row may be longer than its column.
    const cells = lines.map((line) => (line.length === 3 && column === 2 ? "" : (line[column] ?? "")));
    return Math.max(...cells.map(({ length }) => length));
  });
  const table = lines.map((line) => {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return cells.join("  ").trimEnd();
  });
  return [...table, ...notes.map((note, index) => `(${index + 1}) ${note}`)].join("\n");
}

function formatRow({ name, version, results }: Row, notes: string[]): string[] {
  if (typeof results === "string") return [name, version, results];
  return [name, version, ...wireApis.map((api) => formatCell(results[api], notes))];
}

function formatCell({ failures, limitations }: Cell, notes: string[]): string {
  const numbers = [...failures, ...limitations].map((reason) => {
    if (!notes.includes(reason)) notes.push(reason);
    return `(${notes.indexOf(reason) + 1})`;
  });
  if (numbers.length === 0) return "✓";
  return [...(failures.length === 0 ? [] : ["✗"]), ...numbers].join(" ");
}
