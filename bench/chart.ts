/**
 * Draws the results of a run as a chart, for those who look before they read.
 *
 *   node bench/chart.ts
 *
 * Reads bench/RESULTS.md and writes bench/results.svg beside it. `node bench/run.ts --write` does it too.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A group of bars: one measure of one case. */
interface Panel {
  readonly title: string;
  /** Beginning of the heading of the case in the results. */
  readonly section: string;
  /** Label of the row in the case's table. */
  readonly row: string;
  readonly unit: string;
}

/** The measures that interest readers most. Less is better in each. */
const PANELS: readonly Panel[] = [
  {
    title: "CPU of a streamed answer of 100 events",
    section: "Stream of 100 events, unpaced",
    row: "CPU per call, µs",
    unit: "µs",
  },
  { title: "CPU of a whole answer", section: "Complete", row: "CPU per call, µs", unit: "µs" },
  {
    title: "Memory while 500 callers do not read their streams",
    section: "500 streams whose callers stop reading",
    row: "RSS while stalled, MB",
    unit: "MB",
  },
];

/** The implementations in the order of their bars: column of the tables, and label for the reader. */
const BARS = [
  ["outrigger", "Outrigger"],
  ["stock", "the same on connect-node"],
  ["minimal", "a minimal Node program"],
] as const;

const WIDTH = 840;
const LABEL_WIDTH = 220;
/** Room for a value after the longest bar. */
const VALUE_WIDTH = 90;
const TITLE_HEIGHT = 34;
const BAR_HEIGHT = 18;
const BAR_DISTANCE = 24;
const PANEL_DISTANCE = 18;

/** Draws the chart of the results that a run wrote as Markdown. Cases that it did not measure are left out. */
export function drawChart(results: string): string {
  let y = 0;
  const drawn = PANELS.flatMap((panel) => {
    const values = collectValues(panel, results);
    if (values === undefined) return [];
    const top = y;
    y += TITLE_HEIGHT + values.length * BAR_DISTANCE + PANEL_DISTANCE;
    return [`<g transform="translate(0 ${top})">\n${drawPanel(panel, values)}\n</g>`];
  });
  if (drawn.length === 0) throw new Error("the results have none of the measures that the chart shows");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="sans-serif" font-size="14">`,
    "<title>CPU and memory of Outrigger, of the same on connect-node, and of a minimal Node program</title>",
    STYLE,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

// Legible on light and dark pages.
const STYLE = `<style>
text { fill: #57606a; } .title { fill: #24292f; font-weight: bold; } .other { fill: #afb8c1; } .ours { fill: #0969da; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; } .title { fill: #f0f6fc; } .other { fill: #59636e; } .ours { fill: #4493f8; }
}
</style>`;

function drawPanel({ title, unit }: Panel, values: readonly number[]): string {
  const most = Math.max(...values);
  const bars = values.map((value, index) => {
    const y = TITLE_HEIGHT + index * BAR_DISTANCE;
    const width = ((WIDTH - LABEL_WIDTH - VALUE_WIDTH) * value) / most;
    return drawBar(index, y, width, `${Math.round(value).toLocaleString("en-US")} ${unit}`);
  });
  return [`<text class="title" x="0" y="20">${title} (less is better)</text>`, ...bars].join("\n");
}

function drawBar(index: number, y: number, width: number, value: string): string {
  const [name, label] = BARS[index] ?? ["", ""];
  const baseline = y + BAR_HEIGHT - 4;
  const kind = name === "outrigger" ? "ours" : "other";
  return [
    `<text x="${LABEL_WIDTH - 10}" y="${baseline}" text-anchor="end">${label}</text>`,
    `<rect class="${kind}" x="${LABEL_WIDTH}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<text x="${(LABEL_WIDTH + width + 8).toFixed(1)}" y="${baseline}">${value}</text>`,
  ].join("\n");
}

/** Returns the values of a measure, in the order of the bars. Undefined if the run did not measure it. */
function collectValues({ section, row }: Panel, results: string): number[] | undefined {
  const [, text = ""] = results.split(`\n## ${section}`);
  const rows = (text.split("\n## ")[0] ?? "").split("\n").map(splitCells);
  const header = rows.find((cells) => cells.includes("outrigger")) ?? [];
  const found = rows.find(([label]) => label === row);
  if (found === undefined) return undefined;
  const values = BARS.map(([name]) => Number.parseFloat(found[header.indexOf(name)] ?? ""));
  return values.some(Number.isNaN) ? undefined : values;
}

function splitCells(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Draws the chart of bench/RESULTS.md. */
export function writeChart(): void {
  const toPath = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  writeFileSync(toPath("results.svg"), drawChart(readFileSync(toPath("RESULTS.md"), "utf8")));
}

if (import.meta.main) writeChart();
