/** Tests of the table of goals. */
import { describe, expect, it } from "vitest";
import type { Round } from "../../bench/cases/case.ts";
import { tableOfGoals } from "../../bench/goals.ts";
import type { Sample } from "../../bench/measure/metrics.ts";
import type { CaseName } from "../../bench/options.ts";

function createResults(cases: Partial<Record<CaseName, readonly Round["samples"][]>>) {
  const entries = Object.entries(cases) as [CaseName, readonly Round["samples"][]][];
  return new Map(
    entries.map(([name, all]) => [name, { rounds: all.map((samples) => ({ samples, failures: [] })) }]),
  );
}

/** The cells of the rows of a case. */
const rowsIn = (table: string, name: string) =>
  table
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .filter((cells) => cells[2] === name)
    .map((cells) => cells.slice(1, -1));

describe("the table of goals", () => {
  it("compares a measure with another implementation, in each round", () => {
    const samples = (ours: Sample, theirs: Sample) => ({ outrigger: ours, minimal: theirs });
    const table = tableOfGoals(
      createResults({
        stream: [
          samples({ cpuPerCall: 90 }, { cpuPerCall: 100 }),
          samples({ cpuPerCall: 200 }, { cpuPerCall: 100 }),
          samples({ cpuPerCall: 100 }, { cpuPerCall: 100 }),
        ],
      }),
    );
    expect(rowsIn(table, "stream")[0]).toEqual([
      "Stream of 100 events: CPU",
      "stream",
      "1 × minimal",
      "1.00 × (0.90–2.00)",
      "yes",
    ]);
    expect(rowsIn(table, "stream")[1]?.slice(2)).toEqual(["0.35 × stock", "not measured", "no"]);
  });

  it("compares a stream over Connect with the one over gRPC of the same round", () => {
    const ours = (cpuPerCall: number) => ({ outrigger: { cpuPerCall } });
    const table = tableOfGoals(
      createResults({ stream: [ours(100), ours(200)], sse: [ours(150), ours(260)] }),
    );
    expect(rowsIn(table, "sse")[0]?.slice(2)).toEqual(["1.3 × stream", "1.40 × (1.30–1.50)", "no"]);
    const alone = tableOfGoals(createResults({ sse: [ours(150)] }));
    expect(rowsIn(alone, "sse")[0]?.slice(3)).toEqual(["not measured", "no"]);
  });

  it("compares a measure itself, over all cases if the goal names none", () => {
    const ours = (residentAtRest: number) => [{ outrigger: { residentAtRest } }];
    const table = tableOfGoals(createResults({ complete: ours(69), stream: ours(72) }));
    expect(rowsIn(table, "all")[0]).toEqual(["RSS idle", "all", "70 MB", "70.5", "no"]);
  });
});
