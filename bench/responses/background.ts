/** Stored responses in the background: all started at once on one sidecar, and then read again, event by event. */
import { EVENTS_AROUND_DELTAS, writeExchange } from "../exchange.ts";
import { startUpstream } from "../load/load.ts";
import { readCpuMicros, readResidentMb, watchResident } from "../measure/process-stats.ts";
import { markdownTable } from "../report.ts";
import { inParallel, responsesCaller } from "./caller.ts";
import { formatMedian } from "./figures.ts";
import type { Part } from "./part.ts";
import { createPath, startSidecar } from "./sidecar.ts";

const RUNS = 1_000;
const DELTAS = 100 - EVENTS_AROUND_DELTAS;

/** Milliseconds between two events of the upstream, as with a model that writes 50 tokens a second. */
const INTERVAL_MS = 20;

/** Requests at once while runs are started and read. */
const CONCURRENCY = 50;

const COMPLETED = "completed";
const LEAST_EVENTS = "events read again, least of a run";
const MOST_EVENTS = "events read again, most of a run";
/** Figures and their decimals. */
const MEASURED = {
  "seconds until all had ended": 1,
  "CPU per run, µs": 0,
  "RSS idle, MB": 0,
  "RSS peak, MB": 0,
  "RSS afterwards, MB": 0,
};

/** The part `background`. */
export const background: Part = {
  rounds: 1,

  async measure({ program, quick }) {
    const runs = countRuns(quick);
    const { script } = await writeExchange({ deltas: DELTAS, clocked: false });
    await using upstream = await startUpstream({ script, intervalMs: INTERVAL_MS });
    const store = createPath("db");
    const sidecar = await startSidecar({ program, upstream: upstream.address, runs: { store } });
    try {
      const idle = readResidentMb(sidecar.pid);
      const stopWatching = watchResident(sidecar.pid);
      const started = performance.now();
      const cpu = readCpuMicros(sidecar.pid);
      const caller = responsesCaller(sidecar.address);
      const ids = await inParallel(runs, CONCURRENCY, () => caller.create({ background: true }));
      const statuses = await inParallel(runs, CONCURRENCY, (index) => caller.ended(ids[index] ?? ""));
      const seconds = (performance.now() - started) / 1000;
      const used = readCpuMicros(sidecar.pid) - cpu;
      const peak = stopWatching();
      const events = await inParallel(runs, CONCURRENCY, (index) => caller.countEvents(ids[index] ?? ""));
      return {
        [COMPLETED]: statuses.filter((status) => status === "completed").length,
        [LEAST_EVENTS]: Math.min(...events),
        [MOST_EVENTS]: Math.max(...events),
        "seconds until all had ended": seconds,
        "CPU per run, µs": used / runs,
        "RSS idle, MB": idle,
        "RSS peak, MB": peak,
        "RSS afterwards, MB": readResidentMb(sidecar.pid),
      };
    } finally {
      await sidecar.stop();
    }
  },

  describe(rounds, quick) {
    const runs = countRuns(quick);
    const events = [LEAST_EVENTS, MOST_EVENTS].map((label) => formatMedian(rounds, label, 0));
    const rows = [
      ["completed", `${formatMedian(rounds, COMPLETED, 0)} of ${runs}`],
      ["events read again, least and most of a run", events.join(", ")],
      ...Object.entries(MEASURED).map(([label, decimals]) => [label, formatMedian(rounds, label, decimals)]),
    ];
    return [
      `${runs} stored runs in the background, created ${CONCURRENCY} at a time; ${DELTAS} deltas each, ${INTERVAL_MS} ms apart.`,
      markdownTable([["Background", "measured"], ...rows]),
    ].join("\n\n");
  },
};

function countRuns(quick: boolean): number {
  return quick ? RUNS / 10 : RUNS;
}
