/**
 * Measures how readers delay other callers of a sidecar. Two sidecars share a PostgreSQL: one executes runs in the
 * background; many readers stream them from the other one, while a bystander makes stored calls there, one after the
 * other.
 */
import { rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Postgres } from "../../test/support/postgres/start-postgres.ts";
import { writeExchange } from "../exchange.ts";
import {
  type CallReport,
  type Failures,
  formatFailures,
  makeCalls,
  type ReadReport,
  readStored,
  startUpstream,
  UPSTREAM_PATH,
} from "../load/load.ts";
import { formatRatio, markdownTable } from "../report.ts";
import { inParallel, type ResponsesCaller, responsesCaller } from "./caller.ts";
import { formatMedian, medianIn, ratioIn } from "./figures.ts";
import type { Figures, Part, Program } from "./part.ts";
import { createPath, startSidecar } from "./sidecar.ts";

const RUNS = 5;

/** Milliseconds between two events of a run: 20 events a second. */
const INTERVAL_MS = 50;

/** The aim for the bystander's times: at most this multiple of its times without readers. */
const MOST = 2;

const WARM_UP = 100;

/** Deltas of an answer to the bystander. They arrive at once: a paced answer would hide the time of the sidecar. */
const BYSTANDER_DELTAS = 20;

/** More than the bystander can make in its time. */
const MOST_CALLS = 1_000_000;

const POLL_MS = 50;

/** A reader gives up after this time, which is several times as long as a run. */
const READER_LIMIT_MS = 90_000;

/** The size of a measurement. */
interface Scale {
  /** Numbers of readers. */
  readonly levels: readonly number[];
  /** Deltas of a run. The runs end after the bystander. */
  readonly deltas: number;
  readonly rampMs: number;
  readonly bystanderMs: number;
}

const WHOLE: Scale = { levels: [0, 500, 900], deltas: 500, rampMs: 2_000, bystanderMs: 12_000 };
const QUICK: Scale = { levels: [0, 50, 90], deltas: 120, rampMs: 500, bystanderMs: 2_000 };

/** The processes and settings that all levels share. */
interface Stage {
  readonly program: Program;
  /** Upstream of the bystander. */
  readonly unpaced: string;
  readonly database: string;
  /** Calls the sidecar that executes the runs. */
  readonly executor: ResponsesCaller;
  readonly scale: Scale;
}

/** The results with one number of readers. */
interface Level {
  readonly bystander: CallReport;
  /** Readers that got all events. */
  readonly whole: number;
}

/** The part `readers`. */
export const readers: Part = {
  rounds: 3,

  async measure({ program, quick }) {
    const postgres = await Postgres.start();
    if (postgres === undefined) return {};
    const kill = () => {
      void postgres.pause("SIGKILL");
      rmSync(postgres.folder, { recursive: true, force: true, maxRetries: 10 });
    };
    process.once("exit", kill);
    try {
      return await measureLevels(program, postgres.url(), quick ? QUICK : WHOLE);
    } finally {
      process.off("exit", kill);
      await postgres.stop();
    }
  },

  describe(rounds, quick) {
    const { levels } = quick ? QUICK : WHOLE;
    const sentence =
      `${RUNS} runs in the background on one sidecar, ${1000 / INTERVAL_MS} events a second each; on another sidecar their ` +
      "readers, and a bystander that makes stored calls one after the other. Both use one PostgreSQL, without fsync.";
    if (Number.isNaN(medianIn(rounds, toLabel(0, P50)))) {
      return `${sentence} Not measured: no PostgreSQL works on this machine.`;
    }
    const rows = levels.map((level) => toRow(rounds, level));
    return [sentence, markdownTable([HEADER, ...rows])].join("\n\n");
  },
};

async function measureLevels(program: Program, database: string, scale: Scale): Promise<Figures> {
  const slow = await writeExchange({ deltas: scale.deltas, clocked: false });
  const fast = await writeExchange({ deltas: BYSTANDER_DELTAS, clocked: false });
  await using paced = await startUpstream({ script: slow.script, intervalMs: INTERVAL_MS });
  await using unpaced = await startUpstream({ script: fast.script });
  const runs = { store: database };
  const sidecar = await startSidecar({ program, upstream: paced.address, runs });
  const executor = responsesCaller(sidecar.address);
  const stage = { program, unpaced: unpaced.address, database, executor, scale };
  try {
    const figures: Record<string, number> = {};
    for (const level of scale.levels) {
      const { bystander, whole } = await measureLevel(stage, level);
      figures[toLabel(level, P50)] = bystander.call.p50 / 1000;
      figures[toLabel(level, P99)] = bystander.call.p99 / 1000;
      figures[toLabel(level, CALLS)] = bystander.calls;
      figures[toLabel(level, FAILED)] = bystander.failed;
      if (level > 0) figures[toLabel(level, WHOLE_STREAMS)] = whole;
    }
    return figures;
  } finally {
    await sidecar.stop();
  }
}

/** Measures with one number of readers. Their sidecar starts after the runs, so that it executes none. */
async function measureLevel(stage: Stage, level: number): Promise<Level> {
  const { program, unpaced, database, executor, scale } = stage;
  const ids = await inParallel(RUNS, RUNS, () => executor.create({ background: true }));
  for (const id of ids) await waitUntilStarted(executor, id);
  const sidecar = await startSidecar({ program, upstream: unpaced, runs: { store: database } });
  try {
    const target = sidecar.address;
    const request = createPath("json");
    await writeFile(request, JSON.stringify({ model: "gpt-4.1-mini", input: "Write." }));
    const calls = { target, protocol: "direct", path: UPSTREAM_PATH, request, concurrency: 1 } as const;
    await makeCalls({ ...calls, calls: WARM_UP });
    const reading = level === 0 ? undefined : await startReaders(target, ids, level, scale.rampMs);
    const bystander = await makeCalls({ ...calls, calls: MOST_CALLS, durationMs: scale.bystanderMs });
    if ((await executor.status(ids[0] ?? "")) !== "in_progress") {
      process.stderr.write(`readers: ${level} readers: the runs ended before the bystander\n`);
    }
    const read = await reading?.end();
    printFailures(level, "calls", bystander.failures);
    printFailures(level, "streams", read?.failures ?? null);
    return { bystander, whole: await countWhole(executor, ids, read) };
  } finally {
    await sidecar.stop();
  }
}

function startReaders(target: string, ids: readonly string[], level: number, rampMs: number) {
  const paths = ids.map((id) => `/v1/responses/${id}?stream=true`);
  return readStored({ target, paths, readers: level, rampMs, limitMs: READER_LIMIT_MS });
}

async function waitUntilStarted(executor: ResponsesCaller, id: string): Promise<void> {
  while ((await executor.status(id)) === "queued") await sleep(POLL_MS);
}

/** Counts the readers that got as many events as the executing sidecar has after the runs have ended. */
async function countWhole(
  executor: ResponsesCaller,
  ids: readonly string[],
  read: ReadReport | undefined,
): Promise<number> {
  const counts: number[] = [];
  for (const id of ids) {
    await executor.ended(id);
    counts.push(await executor.countEvents(id));
  }
  if (read === undefined) return 0;
  const isWhole = read.leastEvents === Math.min(...counts) && read.mostEvents === Math.max(...counts);
  return isWhole ? read.complete : 0;
}

function printFailures(level: number, kind: string, failures: Failures | null): void {
  const text = formatFailures(failures);
  if (text !== "") process.stderr.write(`readers: ${level} readers: failed ${kind}: ${text}\n`);
}

const P50 = "p50, ms";
const P99 = "p99, ms";
const CALLS = "calls";
const FAILED = "failed calls";
const WHOLE_STREAMS = "readers with all events";

const HEADER = [
  "Readers",
  P50,
  "/ none",
  "aim",
  P99,
  "/ none",
  "aim",
  CALLS,
  FAILED,
  "aim",
  WHOLE_STREAMS,
  "aim",
];

function toLabel(level: number, measure: string): string {
  return `${level} readers: ${measure}`;
}

function toRow(rounds: readonly Figures[], level: number): string[] {
  const format = (measure: string, decimals: number) =>
    formatMedian(rounds, toLabel(level, measure), decimals);
  const times = [P50, P99].flatMap((measure) => {
    const ratio = formatRatio(ratioIn(rounds, toLabel(level, measure), toLabel(0, measure)));
    return [format(measure, 1), ...(level === 0 ? ["", ""] : [ratio, `${MOST} ×`])];
  });
  const whole = level === 0 ? ["", ""] : [format(WHOLE_STREAMS, 0), `${level}`];
  return [`${level}`, ...times, format(CALLS, 0), format(FAILED, 0), "0", ...whole];
}
