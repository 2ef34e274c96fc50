/** Performance goals of Outrigger, and whether a run met them. */

import type { Round } from "./cases/case.ts";
import type { ImplementationName } from "./implementations/implementation.ts";
import { METRICS, type MetricName } from "./measure/metrics.ts";
import type { CaseName } from "./options.ts";
import { type CaseResult, formatRatio, markdownTable, medianIn, ratioIn } from "./report.ts";

/** An upper bound for a measure. */
interface Goal {
  readonly text: string;
  /** Cases that the goal applies to, each separately. Absent: it applies to all cases together. */
  readonly cases?: readonly CaseName[];
  readonly metric: MetricName;
  /** Implementation that the measure is divided by. Absent: the measure itself is compared. */
  readonly of?: ImplementationName;
  readonly most: number;
}

const GOALS: readonly Goal[] = [
  { text: "Complete: CPU", cases: ["complete"], metric: "cpuPerCall", of: "minimal", most: 1.4 },
  { text: "Complete: CPU", cases: ["complete"], metric: "cpuPerCall", of: "stock", most: 0.45 },
  { text: "Stream of 100 events: CPU", cases: ["stream"], metric: "cpuPerCall", of: "minimal", most: 1.3 },
  { text: "Stream of 100 events: CPU", cases: ["stream"], metric: "cpuPerCall", of: "stock", most: 0.35 },
  {
    text: "Stream of 100 events: CPU",
    cases: ["connect-json", "connect-proto"],
    metric: "cpuPerCall",
    of: "stock",
    most: 0.45,
  },
  {
    text: "Paced streams: CPU",
    cases: ["paced", "paced-light"],
    metric: "cpuPerEvent",
    of: "minimal",
    most: 1.25,
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
    text: "500 stalled readers: RSS above idle, peak",
    cases: ["stalled"],
    metric: "residentGrowth",
    most: 60,
  },
  {
    text: "RSS growth after the load",
    cases: ["complete", "stream", "paced", "cancel"],
    metric: "residentKept",
    most: 15,
  },
  { text: "10,000 cancels: bystanders disturbed", cases: ["cancel"], metric: "bystandersDisturbed", most: 0 },
  { text: "RSS idle", metric: "residentAtRest", most: 80 },
  { text: "Start-up", metric: "startMs", most: 250 },
];

/** A table of the goals that the cases of a run measure. */
export function tableOfGoals(results: ReadonlyMap<CaseName, CaseResult>): string {
  const together = [...results.values()].flatMap(({ rounds }) => rounds);
  const rows = GOALS.flatMap((goal) => {
    if (goal.cases === undefined) return [toRow(goal, "all", together)];
    return goal.cases.flatMap((name) => {
      const result = results.get(name);
      return result === undefined ? [] : [toRow(goal, name, result.rounds)];
    });
  });
  return markdownTable([["Goal", "case", "at most", "measured", "reached"], ...rows]);
}

function toRow(goal: Goal, name: string, rounds: readonly Round[]): string[] {
  const { value, text } = measured(goal, rounds);
  const unit = goal.of === undefined ? ` ${METRICS[goal.metric].unit}` : ` × ${goal.of}`;
  return [goal.text, name, `${goal.most}${unit}`.trim(), text, value <= goal.most ? "yes" : "no"];
}

function measured({ metric, of }: Goal, rounds: readonly Round[]): { value: number; text: string } {
  if (of === undefined) {
    const value = medianIn(rounds, "outrigger", metric);
    return { value, text: value.toFixed(METRICS[metric].decimals) };
  }
  const ratio = ratioIn(rounds, of, metric);
  return ratio === undefined
    ? { value: Number.NaN, text: "not measured" }
    : { value: ratio.median, text: formatRatio(ratio) };
}
