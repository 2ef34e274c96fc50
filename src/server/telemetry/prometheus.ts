/** Counters, gauges and histograms in Prometheus' text format (version 0.0.4). */

/** Upper bounds of durations in seconds: from a health check to a reasoning model that thinks for ten minutes. */
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

/** Counts of values by range. */
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
    const samples = new Map<string, Sample>();
    this.#add("counter", name, help, () => renderSamples(name, samples.values()));
    return {
      add(labelValues, amount = 1) {
        const key = labelValues.join(SEPARATOR);
        let sample = samples.get(key);
        if (sample === undefined) {
          sample = { labels: formatLabels(labels, labelValues), value: 0 };
          samples.set(key, sample);
        }
        sample.value += Math.max(0, amount);
      },
    };
  }

  /** Adds a gauge whose values are set. */
  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    const samples = new Map<string, Sample>();
    this.#add("gauge", name, help, () => renderSamples(name, samples.values()));
    return {
      set(labelValues, value) {
        samples.set(labelValues.join(SEPARATOR), { labels: formatLabels(labels, labelValues), value });
      },
    };
  }

  /**
   * Adds a metric that is read when the metrics are rendered: a counter if its name ends in `_total`, else a gauge.
   */
  read(name: string, help: string, read: ReadValue, labels: readonly string[] = []): void {
    this.#add(name.endsWith("_total") ? "counter" : "gauge", name, help, () => {
      const found = read();
      const values = typeof found === "number" ? [[[], found] as const] : found;
      const samples = values.map(([labelValues, value]) => ({
        labels: formatLabels(labels, labelValues),
        value,
      }));
      return renderSamples(name, samples);
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
    this.#add("histogram", name, help, () =>
      Array.from(series.values(), (distribution) => renderDistribution(name, distribution, buckets)).join(""),
    );
    return {
      observe(labelValues, value) {
        const key = labelValues.join(SEPARATOR);
        let distribution = series.get(key);
        if (distribution === undefined) {
          const counts = buckets.map(() => 0);
          distribution = { labels: formatLabels(labels, labelValues), counts, count: 0, sum: 0 };
          series.set(key, distribution);
        }
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

/** Separates the label values in the key of a series. */
const SEPARATOR = "\0";

interface Sample {
  readonly labels: string;
  value: number;
}

interface Distribution {
  readonly labels: string;
  /** Number of values per bucket, not cumulative. */
  readonly counts: number[];
  count: number;
  sum: number;
}

function renderDistribution(
  name: string,
  { labels, counts, count, sum }: Distribution,
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

function renderSamples(name: string, samples: Iterable<Sample>): string {
  return Array.from(samples, ({ labels, value }) => toSample(name, labels, value)).join("");
}

function toSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

function formatLabels(labels: readonly string[], values: readonly string[]): string {
  return labels.map((label, index) => `${label}="${escapeValue(values[index] ?? "")}"`).join(",");
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function join(labels: string, label: string): string {
  return labels === "" ? label : `${labels},${label}`;
}
