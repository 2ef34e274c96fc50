import { describe, expect, it } from "vitest";
import { compareFigures, formatMedian, medianIn, ratioIn } from "../../../bench/responses/figures.ts";

/** The cells of a Markdown table, without its header. */
function readRows(table: string): string[][] {
  const [, , ...rows] = table.split("\n");
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe("the figures of several rounds", () => {
  it("have a median over the rounds that measured them", () => {
    const rounds = [{ "time, ms": 1 }, {}, { "time, ms": 3 }];
    expect(medianIn(rounds, "time, ms")).toBe(2);
    expect(formatMedian(rounds, "time, ms", 1)).toBe("2.0");
    expect(formatMedian(rounds, "calls", 1)).toBe("");
  });

  it("are divided within each round", () => {
    const rounds = [
      { a: 2, b: 1 },
      { a: 30, b: 10 },
      { a: 100, b: 100 },
    ];
    expect(ratioIn(rounds, "a", "b")).toEqual({ median: 2, least: 1, most: 3 });
  });
});

describe("the comparison of two programs", () => {
  it("has the medians of both and the ratios within each round", () => {
    const base = [{ "time, ms": 1 }, { "time, ms": 200 }, { "time, ms": 4 }];
    const current = [{ "time, ms": 2 }, { "time, ms": 100 }, { "time, ms": 4 }];
    expect(readRows(compareFigures(base, current))).toEqual([["time, ms", "4", "4", "1.00 × (0.50–2.00)"]]);
  });

  it("has no ratio of figures that are 0 or that one program does not have", () => {
    expect(readRows(compareFigures([{ failed: 0 }], [{ failed: 0, "new, ms": 0.25 }]))).toEqual([
      ["failed", "0", "0", ""],
      ["new, ms", "", "0.25", ""],
    ]);
  });
});
