/**
 * Measures the cost of a streamed response: with and without a store, compared with the same stream over gRPC, and with
 * LiteLLM's `/v1/responses`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EVENTS_AROUND_DELTAS, type ExchangeFiles, writeExchange } from "../exchange.ts";
import { GatewayUnavailableError } from "../gateways/install.ts";
import { litellm } from "../gateways/litellm.ts";
import { type CallReport, formatFailures, makeCalls, startUpstream, UPSTREAM_PATH } from "../load/load.ts";
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

/** Aims, as the most that a way may cost: CPU as a multiple of gRPC's, and milliseconds later than gRPC's first event. */
const AIMS: Readonly<Record<string, { readonly cpu: number; readonly firstMs: number }>> = {
  [UNSTORED]: { cpu: 1.6, firstMs: 1 },
  [STORED]: { cpu: 2.2, firstMs: 1 },
};

/** A way to get the same stream. */
interface Way {
  readonly label: string;
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
    ].join("\n\n"),
};

async function createWays(
  { address, pid }: { readonly address: string; readonly pid: number },
  files: ExchangeFiles,
): Promise<readonly Way[]> {
  const grpc = {
    target: address,
    protocol: "grpc",
    path: "/outrigger.v1.InferenceService/Stream",
    request: files.binaryRequest,
    connections: 4,
    messages: DELTAS + EVENTS_AROUND_DELTAS,
  } as const;
  const responses = { target: address, protocol: "direct", path: UPSTREAM_PATH } as const;
  const unstored = { ...responses, request: files.directStreamRequest };
  const stored = { ...responses, request: await storedRequest(files) };
  return [
    { label: GRPC, pid, call: (burst) => makeCalls({ ...grpc, ...burst, concurrency: CONCURRENCY }) },
    {
      label: UNSTORED,
      pid,
      call: (burst) => makeCalls({ ...unstored, ...burst, concurrency: CONCURRENCY }),
    },
    {
      label: STORED,
      pid,
      call: (burst) => makeCalls({ ...stored, ...burst, concurrency: CONCURRENCY }),
    },
  ];
}

/** The provider's request, with `store: true`. */
async function storedRequest({ directStreamRequest }: ExchangeFiles): Promise<string> {
  const path = join(RUN_FOLDER, "stored-request.json");
  const body: object = JSON.parse(await readFile(directStreamRequest, "utf8"));
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

async function measureWay({ label, pid, call }: Way, divisor: number): Promise<Figures> {
  await call({ calls: Math.ceil(WARM_UP / divisor) });
  const before = readCpuMicros(pid);
  const busy = await call({ calls: Math.ceil(BUSY / divisor) });
  const used = readCpuMicros(pid) - before;
  const calm = await call({ ...CALM, calls: Math.ceil(CALM.calls / divisor) });
  for (const { failed, failures } of [busy, calm]) {
    if (failed > 0) throw new Error(`${label}: ${failed} streams failed: ${formatFailures(failures)}`);
  }
  return { [toCpuLabel(label)]: used / busy.calls, [toFirstLabel(label)]: calm.first.p50 / 1000 };
}

/** The label of a way's CPU for each stream. */
function toCpuLabel(way: string): string {
  return `${way}: CPU, µs`;
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
