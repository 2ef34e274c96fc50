/** Tables of providers as tests: one test for each row and provider, and the table itself at the end. */
import { afterAll, describe, it } from "vitest";
import { type Column, type ColumnName, columns } from "./columns.ts";

/** A row of a table. */
export interface Row {
  /** The statement that the row verifies. */
  readonly title: string;
  /** Providers that the row applies to. Defaults to all. */
  readonly only?: readonly ColumnName[];
  /** Throws if the statement does not hold for a provider. */
  readonly verify: (column: Column) => Promise<void> | void;
}

/** Tests a table cell by cell, and prints it with a mark in each cell. */
export function testTable(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    const marks = new Map<string, string>();
    for (const row of rows) {
      describe(row.title, () => {
        for (const column of columns.filter(({ name }) => row.only?.includes(name) ?? true)) {
          const cell = describeCell(row, column);
          it(column.title, async () => {
            marks.set(cell, "✗");
            await row.verify(column);
            marks.set(cell, "✓");
          });
        }
      });
    }
    afterAll(() => {
      process.stdout.write(`\n${formatTable(title, rows, marks)}\n`);
    });
  });
}

function describeCell({ title }: Row, { name }: Column): string {
  return `${title} › ${name}`;
}

/** A cell is empty if the row does not apply to the provider, or did not run. */
function formatTable(title: string, rows: readonly Row[], marks: ReadonlyMap<string, string>): string {
  const width = Math.max(title.length, ...rows.map((row) => row.title.length));
  const line = (head: string, cells: readonly string[]) => {
    const padded = columns.map((column, index) => (cells[index] ?? "").padEnd(column.title.length));
    return `| ${[head.padEnd(width), ...padded].join(" | ")} |`;
  };
  const rule = columns.map((column) => "-".repeat(column.title.length));
  return [
    line(
      title,
      columns.map((column) => column.title),
    ),
    line("-".repeat(width), rule),
    ...rows.map((row) => {
      const cells = columns.map((column) => marks.get(describeCell(row, column)) ?? "");
      return line(row.title, cells);
    }),
  ].join("\n");
}
