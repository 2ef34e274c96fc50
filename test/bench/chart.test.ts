import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { drawChart } from "../../bench/chart.ts";

function read(name: string): string {
  return readFileSync(new URL(`../../bench/${name}`, import.meta.url), "utf8");
}

/** A case of the results with one row. */
function section(title: string, row: string, values: readonly number[]): string {
  const cells = values.map((value) => ` ${value} `).join("|");
  return `\n## ${title}\n\n|  | outrigger | stock | minimal |\n|---|--:|--:|--:|\n| ${row} |${cells}|\n`;
}

/** The widths of the bars, in order. */
function widthsIn(svg: string): number[] {
  return [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
}

describe("the chart of the benchmark", () => {
  it("shows the committed results", () => {
    expect(read("results.svg")).toBe(drawChart(read("RESULTS.md")));
  });

  it("has three bars for each measure, in proportion to the values", () => {
    const svg = drawChart(section("Complete: 50 calls at once", "CPU per call, µs", [200, 400, 100]));
    const [ours = 0, stock = 0, minimal = 0, ...others] = widthsIn(svg);
    expect(others).toEqual([]);
    expect(stock / ours).toBeCloseTo(2);
    expect(ours / minimal).toBeCloseTo(2);
    expect(svg).toContain("200 µs");
  });

  it("shows streams and whole answers of the Responses API alongside gRPC", () => {
    const table = (title: string, values: readonly number[]) =>
      [
        `\n| ${title} | CPU, µs | / gRPC |`,
        "|---|--:|--:|",
        `| gRPC | ${values[0]} | |`,
        `| /v1/responses, store: false | ${values[1]} | 2 × |`,
        `| /v1/responses, stored in SQLite | ${values[2]} | 3 × |`,
        "| LiteLLM's /v1/responses | 90000 | 300 × |\n",
      ].join("\n");
    const svg = drawChart(
      `\n## The Responses API\n${table("Stream of 100 events", [400, 500, 800])}${table("Whole answer", [100, 130, 400])}`,
    );
    const labels = [...svg.matchAll(/>([\d,]+ µs)</g)].map(([, label]) => label);
    expect(labels).toEqual(["400 µs", "500 µs", "800 µs", "100 µs", "130 µs", "400 µs"]);
    const widths = widthsIn(svg);
    expect((widths[2] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(2);
    expect((widths[5] ?? 0) / (widths[3] ?? 1)).toBeCloseTo(4);
  });

  it("leaves out values that a run did not measure", () => {
    const row = "CPU per call, µs";
    const svg = drawChart(
      section("Complete: x", row, [1, 2, 3]) +
        section("Stream of 100 events as JSON, unpaced", row, [4, 5, 6]),
    );
    expect(widthsIn(svg)).toHaveLength(3);
    expect(() => drawChart("# Benchmark results\n")).toThrow("none of the measures");
  });
});
