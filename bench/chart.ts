/**
 * Draws the results of a run as a chart, for those who look before they read.
 *
 *   node bench/chart.ts
 *
 * Reads bench/RESULTS.md and writes bench/results.svg beside it, as `node bench/run.ts --write` and
 * `node bench/responses.ts --write` do.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A group of bars: one measure. */
interface Panel {
  readonly title: string;
  /** Beginning of the heading of its section in the results. */
  readonly section: string;
  readonly unit: string;
  /** Takes the values from the rows of the section's tables; undefined for a bar that was not measured. */
  readonly getBars: (rows: readonly Row[]) => readonly (Bar | undefined)[];
}

interface Bar {
  readonly label: string;
  readonly isOurs: boolean;
  readonly value: number;
}

/** The cells of a row of a table. */
type Row = readonly string[];

const CPU_OF_CALL = "CPU per call, µs";

/** The measures that interest readers most. Less is better in each. */
const PANELS: readonly Panel[] = [
  {
    title: "CPU of a streamed answer of 100 events",
    section: "Stream of 100 events, unpaced",
    unit: "µs",
    getBars: compareImplementations(CPU_OF_CALL),
  },
  {
    title: "CPU of a whole answer",
    section: "Complete",
    unit: "µs",
    getBars: compareImplementations(CPU_OF_CALL),
  },
  {
    title: "CPU of a streamed answer of 100 events over gRPC and /v1/responses",
    section: "The Responses API",
    unit: "µs",
    getBars: compareApis("Stream of 100 events"),
  },
  {
    title: "CPU of a whole answer over gRPC and /v1/responses",
    section: "The Responses API",
    unit: "µs",
    getBars: compareApis("Whole answer"),
  },
  {
    title: "Memory while 500 callers do not read their streams",
    section: "500 streams whose callers stop reading",
    unit: "MB",
    getBars: compareImplementations("RSS while stalled, MB"),
  },
];

/** Bars for a row of a case, whose columns are implementations. */
function compareImplementations(row: string): Panel["getBars"] {
  return (rows) => {
    const header = rows.find((cells) => cells.includes("outrigger")) ?? [];
    const found = rows.find(([label]) => label === row) ?? [];
    return [
      toBar("Outrigger", true, found[header.indexOf("outrigger")]),
      toBar("the same on connect-node", false, found[header.indexOf("stock")]),
      toBar("a minimal Node program", false, found[header.indexOf("minimal")]),
    ];
  };
}

/** Bars for the column of the CPU in a table whose rows are the APIs of one sidecar. */
function compareApis(table: string): Panel["getBars"] {
  return (rows) => {
    const start = rows.findIndex(([title]) => title === table);
    const column = rows[start]?.indexOf("CPU, µs") ?? -1;
    const find = (label: string) => rows.slice(start).find(([cell]) => cell === label)?.[column];
    return [
      toBar("gRPC", true, find("gRPC")),
      toBar("/v1, store: false", true, find("/v1/responses, store: false")),
      toBar("/v1, stored in SQLite", true, find("/v1/responses, stored in SQLite")),
    ];
  };
}

function toBar(label: string, isOurs: boolean, cell = ""): Bar | undefined {
  const value = Number.parseFloat(cell);
  return Number.isNaN(value) ? undefined : { label, isOurs, value };
}

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
    const bars = panel.getBars(readRows(panel.section, results));
    if (!bars.every((bar) => bar !== undefined)) return [];
    const top = y;
    y += TITLE_HEIGHT + bars.length * BAR_DISTANCE + PANEL_DISTANCE;
    return [`<g transform="translate(0 ${top})">\n${drawPanel(panel, bars)}\n</g>`];
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

function drawPanel({ title, unit }: Panel, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ value }) => value));
  const drawn = bars.map((bar, index) => {
    const y = TITLE_HEIGHT + index * BAR_DISTANCE;
    const width = ((WIDTH - LABEL_WIDTH - VALUE_WIDTH) * bar.value) / most;
    return drawBar(bar, y, width, `${Math.round(bar.value).toLocaleString("en-US")} ${unit}`);
  });
  return [`<text class="title" x="0" y="20">${title} (less is better)</text>`, ...drawn].join("\n");
}

function drawBar({ label, isOurs }: Bar, y: number, width: number, value: string): string {
  const baseline = y + BAR_HEIGHT - 4;
  const kind = isOurs ? "ours" : "other";
  return [
    `<text x="${LABEL_WIDTH - 10}" y="${baseline}" text-anchor="end">${label}</text>`,
    `<rect class="${kind}" x="${LABEL_WIDTH}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<text x="${(LABEL_WIDTH + width + 8).toFixed(1)}" y="${baseline}">${value}</text>`,
  ].join("\n");
}

/** Returns the rows of all tables in the section whose heading begins with `section`. */
function readRows(section: string, results: string): Row[] {
  const [, text = ""] = results.split(`\n## ${section}`);
  return (text.split("\n## ")[0] ?? "").split("\n").map(splitCells);
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
