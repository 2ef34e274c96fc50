/** Counters, gauges and histograms in Prometheus' text format (version 0.0.4). */

/** Buckets of durations in seconds: from a health check to a reasoning model that thinks for ten minutes. */
export const SECONDS_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** A metric that can write its samples. */
export interface Metric {
  /** Returns its lines, `# HELP` and `# TYPE` first, each with its line break. */
  render(): string;
}

/** Name and meaning of a metric. */
export interface MetricInit {
  readonly name: string;
  readonly help: string;
  /** Names of its labels, in the order of the label values. */
  readonly labels?: readonly string[];
}

/** A count that only increases. */
export interface Counter extends Metric {
  /** @param amount Default 1. Less than 0 counts as 0: a provider may report anything. */
  add(labelValues: readonly string[], amount?: number): void;
}

/** Counts of values by ranges. */
export interface Histogram extends Metric {
  observe(labelValues: readonly string[], value: number): void;
}

/** Creates a counter. Its name ends in `_total`. */
export function createCounter(init: MetricInit): Counter {
  const samples = new Map<string, number>();
  const getLabels = createLabels(init);
  return {
    add(labelValues, amount = 1) {
      const labels = getLabels(labelValues);
      samples.set(labels, (samples.get(labels) ?? 0) + Math.max(0, amount));
    },
    render: () =>
      head(init, "counter") +
      [...samples].map(([labels, value]) => sample(init.name, labels, value)).join(""),
  };
}

/** Creates a gauge with fixed labels that is read when the metrics are rendered. */
export function createGauge(
  init: Omit<MetricInit, "labels">,
  read: () => number,
  labels: Readonly<Record<string, string>> = {},
): Metric {
  const text = pairs(Object.entries(labels));
  return { render: () => head(init, "gauge") + sample(init.name, text, read()) };
}

/** A value for each combination of labels, which may go up and down. */
export interface GaugeSet extends Metric {
  set(labelValues: readonly string[], value: number): void;
}

/** Creates a gauge whose values are set. */
export function createGaugeSet(init: MetricInit): GaugeSet {
  const samples = new Map<string, number>();
  const getLabels = createLabels(init);
  return {
    set: (labelValues, value) => void samples.set(getLabels(labelValues), value),
    render: () =>
      head(init, "gauge") + [...samples].map(([labels, value]) => sample(init.name, labels, value)).join(""),
  };
}

/** Creates a gauge whose values are read when the metrics are rendered. Values that are left out are not served. */
export function createReadGaugeSet(
  init: MetricInit,
  read: () => readonly (readonly [labelValues: readonly string[], value: number])[],
): Metric {
  return {
    render() {
      const gauge = createGaugeSet(init);
      for (const [labelValues, value] of read()) gauge.set(labelValues, value);
      return gauge.render();
    },
  };
}

/** Creates a counter without labels that is read when the metrics are rendered. Its name ends in `_total`. */
export function createReadCounter(init: Omit<MetricInit, "labels">, read: () => number): Metric {
  return { render: () => head(init, "counter") + sample(init.name, "", read()) };
}

/** Creates a histogram. `buckets` are upper bounds, lowest first; `+Inf` is added. */
export function createHistogram(init: MetricInit, buckets: readonly number[]): Histogram {
  const series = new Map<string, Distribution>();
  const getLabels = createLabels(init);
  return {
    observe(labelValues, value) {
      const labels = getLabels(labelValues);
      const distribution = series.get(labels) ?? { counts: buckets.map(() => 0), count: 0, sum: 0 };
      series.set(labels, distribution);
      distribution.count += 1;
      distribution.sum += value;
      let index = 0;
      while (index < buckets.length && value > (buckets[index] ?? 0)) index += 1;
      if (index < buckets.length) distribution.counts[index] = (distribution.counts[index] ?? 0) + 1;
    },
    render: () =>
      head(init, "histogram") +
      [...series]
        .map(([labels, distribution]) => renderDistribution(init.name, labels, distribution, buckets))
        .join(""),
  };
}

interface Distribution {
  /** Per bucket, not cumulative. */
  readonly counts: number[];
  count: number;
  sum: number;
}

function renderDistribution(
  name: string,
  labels: string,
  { counts, count, sum }: Distribution,
  buckets: readonly number[],
): string {
  let cumulative = 0;
  const lines = buckets.map((bound, index) => {
    cumulative += counts[index] ?? 0;
    return sample(`${name}_bucket`, join(labels, `le="${bound}"`), cumulative);
  });
  lines.push(sample(`${name}_bucket`, join(labels, 'le="+Inf"'), count));
  lines.push(sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, count));
  return lines.join("");
}

function head({ name, help }: MetricInit, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

/** Formats the labels of a metric. Results are cached: labels are needed for every call, and combinations are few. */
function createLabels({ labels = [] }: MetricInit): (values: readonly string[]) => string {
  const known = new Map<string, string>();
  return (values) => {
    const key = values.join("\0");
    let text = known.get(key);
    if (text === undefined) {
      text = pairs(labels.map((label, index) => [label, values[index] ?? ""]));
      known.set(key, text);
    }
    return text;
  };
}

function pairs(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(",");
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function join(labels: string, label: string): string {
  return labels === "" ? label : `${labels},${label}`;
}
