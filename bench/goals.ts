/** Performance goals of Outrigger, and whether a run met them. */

import type { Round } from "./cases/case.ts";
import type { ImplementationName } from "./implementations/implementation.ts";
import { METRICS, type MetricName } from "./measure/metrics.ts";
import type { CaseName } from "./options.ts";
import { type CaseResult, formatRatio, markdownTable, medianIn, ratioBetween, ratioIn } from "./report.ts";

/** An upper bound for a measure. */
interface Goal {
  readonly text: string;
  /** Cases that the goal applies to, each separately. Absent: it applies to all cases together. */
  readonly cases?: readonly CaseName[];
  readonly metric: MetricName;
  /** The measure is divided by the same measure of another implementation, or of outrigger in another case. */
  readonly of?: ImplementationName | { readonly case: CaseName };
  readonly most: number;
}

const GRPC_STREAM = { case: "stream" } as const;

const GOALS: readonly Goal[] = [
  { text: "Complete: CPU", cases: ["complete"], metric: "cpuPerCall", of: "minimal", most: 1.5 },
  { text: "Complete: CPU", cases: ["complete"], metric: "cpuPerCall", of: "stock", most: 0.45 },
  {
    text: "A lone Complete: added time",
    cases: ["complete"],
    metric: "addedCallP50",
    of: "minimal",
    most: 1.2,
  },
  { text: "Stream of 100 events: CPU", cases: ["stream"], metric: "cpuPerCall", of: "minimal", most: 1 },
  { text: "Stream of 100 events: CPU", cases: ["stream"], metric: "cpuPerCall", of: "stock", most: 0.35 },
  {
    text: "Stream of 100 events: CPU",
    cases: ["connect-json", "connect-proto", "sse"],
    metric: "cpuPerCall",
    of: GRPC_STREAM,
    most: 1.3,
  },
  {
    text: "Paced streams: CPU",
    cases: ["paced", "paced-light"],
    metric: "cpuPerEvent",
    of: "minimal",
    most: 1.1,
  },
  {
    text: "Paced streams: CPU",
    cases: ["paced", "paced-light"],
    metric: "cpuPerEvent",
    of: "stock",
    most: 0.5,
  },
  {
    text: "500 stalled readers: RSS above idle, all streams stalled",
    cases: ["stalled"],
    metric: "residentHeldGrowth",
    most: 60,
  },
  {
    text: "RSS under load, peak",
    cases: ["complete", "stream", "connect-json", "connect-proto", "sse", "paced-light"],
    metric: "residentPeak",
    most: 130,
  },
  {
    text: "RSS kept after the load",
    cases: ["complete", "stream", "connect-json", "connect-proto", "sse", "paced-light", "cancel"],
    metric: "residentKept",
    most: 30,
  },
  { text: "10,000 cancels: bystanders disturbed", cases: ["cancel"], metric: "bystandersDisturbed", most: 0 },
  { text: "RSS idle", metric: "residentAtRest", most: 70 },
  { text: "Start-up", metric: "startMs", most: 200 },
];

/** The rounds of the cases of a run. */
type Rounds = ReadonlyMap<CaseName, Pick<CaseResult, "rounds">>;

/** A table of the goals that the cases of a run measure. */
export function tableOfGoals(results: Rounds): string {
  const together = [...results.values()].flatMap(({ rounds }) => rounds);
  const rows = GOALS.flatMap((goal) => {
    if (goal.cases === undefined) return [toRow(goal, "all", together, results)];
    return goal.cases.flatMap((name) => {
      const result = results.get(name);
      return result === undefined ? [] : [toRow(goal, name, result.rounds, results)];
    });
  });
  return markdownTable([["Goal", "case", "at most", "measured", "reached"], ...rows]);
}

function toRow(goal: Goal, name: string, rounds: readonly Round[], results: Rounds): string[] {
  const { text, metric, most } = goal;
  const { value, found } = measure(goal, rounds, results);
  return [text, name, `${most}${toUnit(goal, METRICS[metric].unit)}`, found, value <= most ? "yes" : "no"];
}

function toUnit({ of }: Goal, unit: string): string {
  if (of === undefined) return unit === "" ? "" : ` ${unit}`;
  return ` × ${typeof of === "string" ? of : of.case}`;
}

function measure(
  { metric, of }: Goal,
  rounds: readonly Round[],
  results: Rounds,
): { readonly value: number; readonly found: string } {
  if (of === undefined) {
    const value = medianIn(rounds, "outrigger", metric);
    return { value, found: value.toFixed(METRICS[metric].decimals) };
  }
  const ratio =
    typeof of === "string"
      ? ratioIn(rounds, of, metric)
      : ratioBetween(rounds, results.get(of.case)?.rounds ?? [], metric);
  return ratio === undefined
    ? { value: Number.NaN, found: "not measured" }
    : { value: ratio.median, found: formatRatio(ratio) };
}
