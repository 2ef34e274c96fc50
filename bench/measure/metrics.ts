/** The measures, and how they are displayed. */

/** How a measure is displayed. */
export interface Metric {
  readonly label: string;
  readonly unit: string;
  readonly decimals: number;
  /** Whether it is a cost, so that its ratio between implementations is meaningful. */
  readonly isCost: boolean;
}

const cpu = (label: string, decimals: number): Metric => ({ label, unit: "µs", decimals, isCost: true });
const time = (label: string): Metric => ({ label, unit: "ms", decimals: 2, isCost: false });
const memory = (label: string): Metric => ({ label, unit: "MB", decimals: 1, isCost: false });
const count = (label: string, decimals = 0): Metric => ({ label, unit: "", decimals, isCost: false });

/** All measures, in display order. */
export const METRICS = {
  cpuPerCall: cpu("CPU per call", 0),
  cpuPerEvent: cpu("CPU per event", 2),
  coreShare: { label: "CPU utilisation", unit: "% of a core", decimals: 0, isCost: false },
  throughput: count("Calls per second"),
  eventThroughput: count("Events per second"),
  eventsPerFrame: count("Events per DATA frame", 1),
  callP50: time("Whole call, p50"),
  callP99: time("Whole call, p99"),
  firstP50: time("First event, p50"),
  firstP99: time("First event, p99"),
  eventP50: time("Event latency, p50"),
  eventP99: time("Event latency, p99"),
  addedCallP50: time("Added to a call, p50"),
  addedCallP99: time("Added to a call, p99"),
  addedFirstP50: time("Added to the first event, p50"),
  addedFirstP99: time("Added to the first event, p99"),
  addedEventP50: time("Added to an event, p50"),
  addedEventP99: time("Added to an event, p99"),
  residentAtRest: memory("RSS idle"),
  residentWarm: memory("RSS after the warm-up"),
  residentPeak: memory("RSS under load, peak"),
  residentHeld: memory("RSS while stalled"),
  residentAfter: memory("RSS after the load"),
  residentHeldGrowth: memory("RSS above idle, stalled"),
  residentGrowth: memory("RSS above idle, peak"),
  residentKept: { label: "RSS kept after the load", unit: "% of idle", decimals: 0, isCost: false },
  startMs: { label: "Start-up", unit: "ms", decimals: 0, isCost: false },
  cancelled: count("Streams cancelled"),
  cancelsPerSecond: count("Cancels per second"),
  bystanders: count("Bystanders"),
  bystandersDisturbed: count("Bystanders disturbed"),
  failed: count("Calls that failed"),
} as const satisfies Record<string, Metric>;

/** Name of a measure. */
export type MetricName = keyof typeof METRICS;

/** The measures of one implementation in one round. */
export type Sample = Partial<Record<MetricName, number>>;
