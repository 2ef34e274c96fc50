/**
 * Measures the cost of a response, streamed and whole: with and without a store, compared with the same call over gRPC,
 * and with LiteLLM's `/v1/responses`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { EVENTS_AROUND_DELTAS, type ExchangeFiles, writeExchange } from "../exchange.ts";
import { GatewayUnavailableError } from "../gateways/install.ts";
import { litellm } from "../gateways/litellm.ts";
import {
  type CallOptions,
  type CallReport,
  formatFailures,
  makeCalls,
  startUpstream,
  UPSTREAM_PATH,
} from "../load/load.ts";
import { readCpuMicros } from "../measure/process-stats.ts";
import { getMedian } from "../measure/statistics.ts";
import { startListening } from "../processes.ts";
import { formatRatio, markdownTable } from "../report.ts";
import { RUN_FOLDER } from "../work-folder.ts";
import { formatMedian, medianIn, ratioIn } from "./figures.ts";
import type { Figures, Part } from "./part.ts";
import { createPath, startSidecar } from "./sidecar.ts";

const DELTAS = 100 - EVENTS_AROUND_DELTAS;

/** Streams that warm up, that measure the CPU, and whose first event is timed, at a rate that leaves cores idle. */
const WARM_UP = 600;
const BUSY = 2_000;
const CALM = { calls: 60, rate: 20 };
const CONCURRENCY = 20;

const GRPC = "gRPC";
const UNSTORED = "/v1/responses, store: false";
const STORED = "/v1/responses, stored in SQLite";
const LITELLM = "LiteLLM's /v1/responses";

/**
 * Aims, as the most that a way may cost: CPU as a multiple of gRPC's, and milliseconds later than gRPC's first event.
 */
const AIMS: Readonly<Record<string, { readonly cpu: number; readonly firstMs: number }>> = {
  [UNSTORED]: { cpu: 1.3, firstMs: 1 },
  [STORED]: { cpu: 1.8, firstMs: 1 },
};

/** The same for whole answers: CPU as a multiple of gRPC's Complete. */
const WHOLE_AIMS: Readonly<Record<string, number>> = { [UNSTORED]: 1.3, [STORED]: 1.6 };

/** A way to get the same answer. */
interface Way {
  readonly label: string;
  readonly isWhole: boolean;
  readonly pid: number;
  call(burst: { calls: number; rate?: number }): Promise<CallReport>;
}

/** The part `streams`. */
export const streams: Part = {
  rounds: 5,

  async measure({ program, quick, isCompared }) {
    const files = await writeExchange({ deltas: DELTAS, clocked: false });
    const figures: Record<string, number> = {};
    const visit = async (way: Way) => {
      Object.assign(figures, await measureWay(way, quick ? 10 : 1));
    };
    await using upstream = await startUpstream({ script: files.script });
    const store = createPath("db");
    const sidecar = await startSidecar({ program, upstream: upstream.address, runs: { store } });
    try {
      for (const way of await createWays(sidecar, files)) await visit(way);
    } finally {
      await sidecar.stop();
    }
    if (!quick && !isCompared) await besideLitellm(upstream.address, files, visit);
    return figures;
  },

  describe: (rounds) =>
    [
      `Streams of 100 events, unpaced, ${CONCURRENCY} at once; the first event at ${CALM.rate} streams a second.`,
      markdownTable([HEADER, ...[GRPC, UNSTORED, STORED, LITELLM].flatMap((label) => toRow(rounds, label))]),
      `Whole answers of the same text, ${CONCURRENCY} at once.`,
      markdownTable([WHOLE_HEADER, ...[GRPC, UNSTORED, STORED].map((label) => toWholeRow(rounds, label))]),
    ].join("\n\n"),
};

async function createWays(
  { address, pid }: { readonly address: string; readonly pid: number },
  files: ExchangeFiles,
): Promise<readonly Way[]> {
  const shared = { target: address, concurrency: CONCURRENCY };
  const grpc = { ...shared, protocol: "grpc", request: files.binaryRequest, connections: 4 } as const;
  const responses = { ...shared, protocol: "direct", path: UPSTREAM_PATH } as const;
  const toWay = (label: string, isWhole: boolean, options: Omit<CallOptions, "calls">): Way => ({
    label,
    isWhole,
    pid,
    call: (burst) => makeCalls({ ...options, ...burst }),
  });
  const [stored, storedWhole] = await Promise.all(
    [files.directStreamRequest, files.directRequest].map(withStore),
  );
  const service = "/outrigger.v1.InferenceService";
  return [
    toWay(GRPC, false, { ...grpc, path: `${service}/Stream`, messages: DELTAS + EVENTS_AROUND_DELTAS }),
    toWay(UNSTORED, false, { ...responses, request: files.directStreamRequest }),
    toWay(STORED, false, { ...responses, request: stored ?? "" }),
    toWay(GRPC, true, { ...grpc, path: `${service}/Complete`, messages: 1 }),
    toWay(UNSTORED, true, { ...responses, request: files.directRequest }),
    toWay(STORED, true, { ...responses, request: storedWhole ?? "" }),
  ];
}

/** Writes a request of the provider again, with `store: true`. Returns the path. */
async function withStore(request: string): Promise<string> {
  const path = join(RUN_FOLDER, `stored-${basename(request)}`);
  const body: object = JSON.parse(await readFile(request, "utf8"));
  await writeFile(path, JSON.stringify({ ...body, store: true }));
  return path;
}

async function besideLitellm(
  upstream: string,
  files: ExchangeFiles,
  visit: (way: Way) => Promise<void>,
): Promise<void> {
  const implementation = await litellm().catch((error: unknown) => {
    if (!(error instanceof GatewayUnavailableError)) throw error;
    process.stderr.write(`litellm is skipped: ${error.message}\n`);
  });
  if (implementation === undefined) return;
  const { pid, address, stop } = await startListening((at) => implementation.command(at, upstream));
  const request = files.directStreamRequest;
  const options = { target: address, protocol: "direct", path: UPSTREAM_PATH, request } as const;
  const headers = implementation.headers(upstream);
  // It needs ten times as long.
  const fewer = (calls: number) => Math.ceil(calls / 10);
  try {
    await visit({
      label: LITELLM,
      isWhole: false,
      pid,
      call: ({ calls, rate }) =>
        makeCalls({
          ...options,
          headers,
          calls: fewer(calls),
          concurrency: rate === undefined ? CONCURRENCY : 2,
          ...(rate !== undefined && { rate: rate / 10 }),
        }),
    });
  } finally {
    await stop();
  }
}

async function measureWay({ label, isWhole, pid, call }: Way, divisor: number): Promise<Figures> {
  await call({ calls: Math.ceil(WARM_UP / divisor) });
  const before = readCpuMicros(pid);
  const busy = await call({ calls: Math.ceil(BUSY / divisor) });
  const used = readCpuMicros(pid) - before;
  if (isWhole) {
    checkCalls(label, busy);
    return { [toWholeLabel(label)]: used / busy.calls };
  }
  const calm = await call({ ...CALM, calls: Math.ceil(CALM.calls / divisor) });
  checkCalls(label, busy);
  checkCalls(label, calm);
  return { [toCpuLabel(label)]: used / busy.calls, [toFirstLabel(label)]: calm.first.p50 / 1000 };
}

function checkCalls(label: string, { failed, failures }: CallReport): void {
  if (failed > 0) throw new Error(`${label}: ${failed} calls failed: ${formatFailures(failures)}`);
}

/** The label of a way's CPU for each stream. */
function toCpuLabel(way: string): string {
  return `${way}: CPU, µs`;
}

/** The label of a way's CPU for each whole answer. */
function toWholeLabel(way: string): string {
  return `${way}: CPU of a whole answer, µs`;
}

/** The label of a way's median time to the first event. */
function toFirstLabel(way: string): string {
  return `${way}: first event, ms`;
}

const HEADER = [
  "Stream of 100 events",
  "CPU, µs",
  "/ gRPC",
  "aim",
  "first event, ms",
  "later than gRPC",
  "aim",
];

const WHOLE_HEADER = ["Whole answer", "CPU, µs", "/ gRPC", "aim"];

/** The row of a way for whole answers. */
function toWholeRow(rounds: readonly Figures[], way: string): string[] {
  const cpu = toWholeLabel(way);
  const aim = WHOLE_AIMS[way];
  return [
    way,
    formatMedian(rounds, cpu, 0),
    formatRatio(ratioIn(rounds, cpu, toWholeLabel(GRPC))),
    aim === undefined ? "" : `${aim} ×`,
  ];
}

/** The row of a way; none if it was not measured. */
function toRow(rounds: readonly Figures[], way: string): string[][] {
  const [cpu, first] = [toCpuLabel(way), toFirstLabel(way)];
  if (Number.isNaN(medianIn(rounds, cpu))) return [];
  const later = rounds.flatMap(({ [first]: ms, [toFirstLabel(GRPC)]: grpc }) =>
    ms === undefined || grpc === undefined ? [] : [ms - grpc],
  );
  const aim = AIMS[way];
  return [
    [
      way,
      formatMedian(rounds, cpu, 0),
      formatRatio(ratioIn(rounds, cpu, toCpuLabel(GRPC))),
      aim === undefined ? "" : `${aim.cpu} ×`,
      formatMedian(rounds, first, 2),
      getMedian(later).toFixed(2),
      aim === undefined ? "" : `${aim.firstMs} ms`,
    ],
  ];
}
