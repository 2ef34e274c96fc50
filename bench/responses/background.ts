/** Stored responses in the background: all started at once on one sidecar, and then read again, event by event. */
import { EVENTS_AROUND_DELTAS, writeExchange } from "../exchange.ts";
import { startUpstream } from "../load/load.ts";
import { cpuMicrosOf, residentMbOf, watchResident } from "../measure/process-stats.ts";
import { markdownTable } from "../report.ts";
import { inParallel, type ResponsesCaller, responsesCaller } from "./caller.ts";
import { startSidecar } from "./sidecar.ts";

const RUNS = 1_000;
const DELTAS = 100 - EVENTS_AROUND_DELTAS;

/** Milliseconds between two events of the upstream, as with a model that writes 50 tokens a second. */
const INTERVAL_MS = 20;

/** Requests at once while runs are started and read. */
const CONCURRENCY = 50;

/** Runs them. @returns The table. */
export async function measureBackground(quick: boolean): Promise<string> {
  const runs = quick ? RUNS / 10 : RUNS;
  const { script } = await writeExchange({ deltas: DELTAS, clocked: false });
  await using upstream = await startUpstream({ script, intervalMs: INTERVAL_MS });
  const sidecar = await startSidecar(upstream.address, "sqlite");
  try {
    const idle = residentMbOf(sidecar.pid);
    const peakOf = watchResident(sidecar.pid);
    const started = performance.now();
    const cpu = cpuMicrosOf(sidecar.pid);
    const caller = responsesCaller(sidecar.address);
    const ids = await inParallel(runs, CONCURRENCY, () => caller.create({ background: true }));
    const statuses = await inParallel(runs, CONCURRENCY, (index) => caller.ended(ids[index] ?? ""));
    const seconds = (performance.now() - started) / 1000;
    const used = cpuMicrosOf(sidecar.pid) - cpu;
    const peak = peakOf();
    const completed = statuses.filter((status) => status === "completed").length;
    const events = await inParallel(runs, CONCURRENCY, (index) => eventsOf(caller, ids[index] ?? ""));
    const rows = [
      ["completed", `${completed} of ${runs}`],
      ["events read again, least and most of a run", `${Math.min(...events)}, ${Math.max(...events)}`],
      ["seconds until all had ended", seconds.toFixed(1)],
      ["CPU per run, µs", (used / runs).toFixed(0)],
      ["RSS idle, MB", idle.toFixed(0)],
      ["RSS peak, MB", peak.toFixed(0)],
      ["RSS afterwards, MB", residentMbOf(sidecar.pid).toFixed(0)],
    ];
    return [
      `${runs} stored runs in the background, created ${CONCURRENCY} at a time; ${DELTAS} deltas each, ${INTERVAL_MS} ms apart.`,
      markdownTable([["Background", "measured"], ...rows]),
    ].join("\n\n");
  } finally {
    await sidecar.stop();
  }
}

/** Number of events of a run. Throws where a number is missing or the last one does not end the run. */
async function eventsOf(caller: ResponsesCaller, id: string): Promise<number> {
  const body = await caller.events(id);
  const numbers = [...body.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  const gap = numbers.findIndex((number, index) => number !== index);
  if (gap !== -1) throw new Error(`${id}: event ${gap} has number ${numbers[gap]}`);
  if (!body.includes('"type":"response.completed"')) throw new Error(`${id} has no last event`);
  return numbers.length;
}
