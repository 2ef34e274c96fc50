/** Counters, gauges and histograms in Prometheus' text format (version 0.0.4). */

/** Buckets of durations in seconds: from a health check to a reasoning model that thinks for ten minutes. */
const SECONDS_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** A count that only increases. */
export interface Counter {
  /** @param amount Default 1. Less than 0 counts as 0: a provider may report anything. */
  add(labelValues: readonly string[], amount?: number): void;
}

/** A value for each combination of labels, which may go up and down. */
export interface Gauge {
  set(labelValues: readonly string[], value: number): void;
}

/** Counts of values by ranges. */
export interface Histogram {
  observe(labelValues: readonly string[], value: number): void;
}

/** A value that is read when the metrics are rendered, or one for each combination of labels. */
export type ReadValue = () => number | readonly (readonly [labelValues: readonly string[], value: number])[];

/**
 * Metrics, which are rendered in the order in which they were added. Each has a name, a meaning, and the names of its
 * labels, in the order of the label values.
 */
export class MetricSet {
  readonly #metrics: (() => string)[] = [];

  /** Adds a counter. Its name ends in `_total`. */
  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const samples = new Map<string, number>();
    const format = createFormat(labels);
    this.#add("counter", name, help, () => toSamples(name, samples));
    return {
      add(labelValues, amount = 1) {
        const key = format(labelValues);
        samples.set(key, (samples.get(key) ?? 0) + Math.max(0, amount));
      },
    };
  }

  /** Adds a gauge whose values are set. */
  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    const samples = new Map<string, number>();
    const format = createFormat(labels);
    this.#add("gauge", name, help, () => toSamples(name, samples));
    return { set: (labelValues, value) => void samples.set(format(labelValues), value) };
  }

  /** Adds a gauge, or a counter whose name ends in `_total`, that is read. Values that are left out are not served. */
  read(name: string, help: string, read: ReadValue, labels: readonly string[] = []): void {
    const format = createFormat(labels);
    this.#add(name.endsWith("_total") ? "counter" : "gauge", name, help, () => {
      const found = read();
      const values = typeof found === "number" ? [[[], found] as const] : found;
      return toSamples(
        name,
        values.map(([labelValues, value]) => [format(labelValues), value]),
      );
    });
  }

  /** Adds a histogram. @param buckets Upper bounds, lowest first; `+Inf` is added. Default: durations in seconds. */
  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[] = SECONDS_BUCKETS,
  ): Histogram {
    const series = new Map<string, Distribution>();
    const format = createFormat(labels);
    this.#add("histogram", name, help, () =>
      [...series].map(([key, distribution]) => renderDistribution(name, key, distribution, buckets)).join(""),
    );
    return {
      observe(labelValues, value) {
        const key = format(labelValues);
        const distribution = series.get(key) ?? { counts: buckets.map(() => 0), count: 0, sum: 0 };
        series.set(key, distribution);
        distribution.count += 1;
        distribution.sum += value;
        let index = 0;
        while (index < buckets.length && value > (buckets[index] ?? 0)) index += 1;
        if (index < buckets.length) distribution.counts[index] = (distribution.counts[index] ?? 0) + 1;
      },
    };
  }

  /** Renders all metrics in the text format. */
  render(): string {
    return this.#metrics.map((render) => render()).join("");
  }

  #add(type: string, name: string, help: string, renderSamples: () => string): void {
    const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    this.#metrics.push(() => head + renderSamples());
  }
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
    return toSample(`${name}_bucket`, join(labels, `le="${bound}"`), cumulative);
  });
  lines.push(toSample(`${name}_bucket`, join(labels, 'le="+Inf"'), count));
  lines.push(toSample(`${name}_sum`, labels, sum), toSample(`${name}_count`, labels, count));
  return lines.join("");
}

function toSamples(name: string, samples: Iterable<readonly [labels: string, value: number]>): string {
  return Array.from(samples, ([labels, value]) => toSample(name, labels, value)).join("");
}

function toSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

/** Formats the labels of a metric. Results are cached: labels are needed for every call, and combinations are few. */
function createFormat(labels: readonly string[]): (values: readonly string[]) => string {
  const known = new Map<string, string>();
  return (values) => {
    const key = values.join("\0");
    let text = known.get(key);
    if (text === undefined) {
      text = labels.map((label, index) => `${label}="${escapeValue(values[index] ?? "")}"`).join(",");
      known.set(key, text);
    }
    return text;
  };
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function join(labels: string, label: string): string {
  return labels === "" ? label : `${labels},${label}`;
}
