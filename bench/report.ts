/** Results as tables. */
import type { Round, SampleOwner } from "./cases/case.ts";
import { METRICS, type Metric, type MetricName } from "./measure/metrics.ts";
import { getMedian, getSpread, type Spread } from "./measure/statistics.ts";

/** The results of all rounds of a case. */
export interface CaseResult {
  readonly title: string;
  readonly rounds: readonly Round[];
  /** How the programs of others are set up. */
  readonly configurations: readonly string[];
}

const COLUMNS: readonly SampleOwner[] = ["outrigger", "stock", "minimal", "litellm", "portkey", "direct"];

/** Implementations that outrigger's costs are divided by. */
const COMPARED: readonly SampleOwner[] = ["minimal", "stock", "litellm", "portkey"];

/** The table of a case, in Markdown: medians over the rounds, and ratios of the costs. */
export function toTable({ rounds }: CaseResult): string {
  const columns = COLUMNS.filter((owner) => rounds.some(({ samples }) => samples[owner] !== undefined));
  const others = COMPARED.filter((owner) => columns.includes(owner));
  const header = ["", ...columns, ...others.map((other) => `outrigger / ${other}`)];
  const rows = (Object.keys(METRICS) as MetricName[])
    .map((name) => toRow(name, rounds, columns, others))
    .filter((row) => row !== undefined);
  return markdownTable([header, ...rows]);
}

/** The failures of a case, one line each. */
export function getFailures({ rounds }: CaseResult): string[] {
  return rounds.flatMap(({ failures }, index) => failures.map((failure) => `round ${index + 1}: ${failure}`));
}

/** Returns the median of a measure over the rounds; NaN if it was not measured. */
export function medianIn(rounds: readonly Round[], owner: SampleOwner, metric: MetricName): number {
  return getMedian(valuesIn(rounds, owner, metric));
}

/** Ratios of outrigger to another implementation, per round, since the machine's load changes between rounds. */
export function ratioIn(
  rounds: readonly Round[],
  other: SampleOwner,
  metric: MetricName,
): Spread | undefined {
  const ratios = rounds.flatMap(({ samples }) => {
    const [ours, theirs] = [samples.outrigger?.[metric], samples[other]?.[metric]];
    return ours === undefined || theirs === undefined ? [] : [ours / theirs];
  });
  return ratios.length === 0 ? undefined : getSpread(ratios);
}

/** Ratios of outrigger in one case to outrigger in another one, per round of the same number. */
export function ratioBetween(
  rounds: readonly Round[],
  others: readonly Round[],
  metric: MetricName,
): Spread | undefined {
  const ratios = rounds.flatMap(({ samples }, index) => {
    const [ours, theirs] = [samples.outrigger?.[metric], others[index]?.samples.outrigger?.[metric]];
    return ours === undefined || theirs === undefined ? [] : [ours / theirs];
  });
  return ratios.length === 0 ? undefined : getSpread(ratios);
}

/** A ratio with its range over the rounds. */
export function formatRatio({ median, least, most }: Spread): string {
  return `${median.toFixed(2)} × (${least.toFixed(2)}–${most.toFixed(2)})`;
}

/** Rows as a Markdown table with aligned columns. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  const [header = [], ...body] = rows;
  return [line(header), rule, ...body.map(line)].join("\n");
}

function toRow(
  name: MetricName,
  rounds: readonly Round[],
  columns: readonly SampleOwner[],
  others: readonly SampleOwner[],
): string[] | undefined {
  const metric: Metric = METRICS[name];
  const medians = columns.map((owner) => medianIn(rounds, owner, name));
  if (medians.every(Number.isNaN)) return undefined;
  const label = metric.unit === "" ? metric.label : `${metric.label}, ${metric.unit}`;
  const ratios = others.map((other) => (metric.isCost ? formatOptional(ratioIn(rounds, other, name)) : ""));
  return [label, ...medians.map((value) => formatNumber(value, metric)), ...ratios];
}

function valuesIn(rounds: readonly Round[], owner: SampleOwner, metric: MetricName): number[] {
  return rounds.map(({ samples }) => samples[owner]?.[metric] ?? Number.NaN).filter(isKnown);
}

/** Measures that are missing because an implementation died are NaN. */
function isKnown(value: number): boolean {
  return !Number.isNaN(value);
}

function formatNumber(value: number, { decimals }: Metric): string {
  return Number.isNaN(value) ? "" : value.toFixed(decimals);
}

function formatOptional(ratio: Spread | undefined): string {
  return ratio === undefined ? "" : formatRatio(ratio);
}
