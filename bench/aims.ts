/** What was asked of Outrigger, and what it reached. */

import type { Round } from "./cases/case.ts";
import type { ContestantName } from "./contestants/contestant.ts";
import { METRICS, type MetricName } from "./measure/metrics.ts";
import type { CaseName } from "./options.ts";
import { type CaseResult, formatRatio, markdownTable, medianIn, ratioIn } from "./report.ts";

/** A measure that should not be larger than something. */
interface Aim {
  readonly text: string;
  /** Cases that show it; each is judged. Absent: all cases show it alike, and are judged together. */
  readonly cases?: readonly CaseName[];
  readonly metric: MetricName;
  /** Contestant whose measure it is a ratio of. Absent: the measure itself. */
  readonly of?: ContestantName;
  readonly most: number;
}

const AIMS: readonly Aim[] = [
  { text: "Complete: CPU", cases: ["complete"], metric: "cpuPerCall", of: "limit", most: 1.4 },
  { text: "Complete: CPU", cases: ["complete"], metric: "cpuPerCall", of: "stock", most: 0.45 },
  { text: "Stream of 100 events: CPU", cases: ["stream"], metric: "cpuPerCall", of: "limit", most: 1.3 },
  { text: "Stream of 100 events: CPU", cases: ["stream"], metric: "cpuPerCall", of: "stock", most: 0.35 },
  {
    text: "Paced streams: CPU",
    cases: ["paced", "paced-light"],
    metric: "cpuPerEvent",
    of: "limit",
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
    text: "500 stalled readers: RSS over rest, when all stand still",
    cases: ["stalled"],
    metric: "residentHeldGrowth",
    most: 60,
  },
  {
    text: "500 stalled readers: RSS over rest, at its most",
    cases: ["stalled"],
    metric: "residentGrowth",
    most: 60,
  },
  {
    text: "RSS after the load, over before",
    cases: ["complete", "stream", "paced", "cancel"],
    metric: "residentKept",
    most: 15,
  },
  { text: "10,000 cancels: bystanders disturbed", cases: ["cancel"], metric: "bystandersDisturbed", most: 0 },
  { text: "RSS at rest", metric: "residentAtRest", most: 80 },
  { text: "Start-up", metric: "startMs", most: 250 },
];

/** A table of the aims that the cases of a run show. */
export function tableOfAims(results: ReadonlyMap<CaseName, CaseResult>): string {
  const together = [...results.values()].flatMap(({ rounds }) => rounds);
  const rows = AIMS.flatMap((aim) => {
    if (aim.cases === undefined) return [rowOf(aim, "all", together)];
    return aim.cases.flatMap((name) => {
      const result = results.get(name);
      return result === undefined ? [] : [rowOf(aim, name, result.rounds)];
    });
  });
  return markdownTable([["Aim", "case", "at most", "measured", "reached"], ...rows]);
}

function rowOf(aim: Aim, name: string, rounds: readonly Round[]): string[] {
  const { value, text } = measured(aim, rounds);
  const unit = aim.of === undefined ? ` ${METRICS[aim.metric].unit}` : ` × ${aim.of}`;
  return [aim.text, name, `${aim.most}${unit}`.trim(), text, value <= aim.most ? "yes" : "no"];
}

function measured({ metric, of }: Aim, rounds: readonly Round[]): { value: number; text: string } {
  if (of === undefined) {
    const value = medianIn(rounds, "outrigger", metric);
    return { value, text: value.toFixed(METRICS[metric].decimals) };
  }
  const ratio = ratioIn(rounds, of, metric);
  return ratio === undefined
    ? { value: Number.NaN, text: "not measured" }
    : { value: ratio.median, text: formatRatio(ratio) };
}
