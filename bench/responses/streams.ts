/**
 * What a streamed response costs: with and without a store, compared with the same stream over gRPC, and with LiteLLM's
 * `/v1/responses`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EVENTS_AROUND_DELTAS, type ExchangeFiles, writeExchange } from "../exchange.ts";
import { GatewayUnavailableError } from "../gateways/install.ts";
import { litellm } from "../gateways/litellm.ts";
import { type CallReport, makeCalls, startUpstream, UPSTREAM_PATH } from "../load/load.ts";
import { cpuMicrosOf } from "../measure/process-stats.ts";
import { medianOf, spreadOf } from "../measure/statistics.ts";
import { startListening } from "../processes.ts";
import { formatRatio, markdownTable } from "../report.ts";
import { RUN_FOLDER } from "../work-folder.ts";
import { startSidecar } from "./sidecar.ts";

const ROUNDS = 5;
const DELTAS = 100 - EVENTS_AROUND_DELTAS;

/** Streams that warm up, that measure the CPU, and whose first event is timed, at a rate that leaves cores idle. */
const WARM_UP = 600;
const BUSY = 2_000;
const CALM = { calls: 60, rate: 20 };
const CONCURRENCY = 20;

/** A way to get the same stream. */
interface Way {
  readonly label: string;
  /** Aims, as the most that it may cost: CPU as a multiple of gRPC's, and milliseconds later than gRPC's first event. */
  readonly most?: { readonly cpu: number; readonly firstMs: number };
  readonly pid: number;
  call(burst: { calls: number; rate?: number }): Promise<CallReport>;
}

/** One measurement of a way. */
interface Cost {
  /** Microseconds of CPU for each stream. */
  readonly cpu: number;
  /** Median milliseconds to the first event. */
  readonly firstMs: number;
}

/** Measures all ways, in rounds. @returns The table. */
export async function measureStreams(quick: boolean): Promise<string> {
  const files = await writeExchange({ deltas: DELTAS, clocked: false });
  const costs = new Map<string, { readonly way: Way; readonly rounds: Cost[] }>();
  for (let round = 0; round < ROUNDS; round += 1) {
    await runRound(files, quick, async (way) => {
      const cost = await measure(way, quick ? 10 : 1);
      const entry = costs.get(way.label) ?? { way, rounds: [] };
      entry.rounds.push(cost);
      costs.set(way.label, entry);
    });
    process.stderr.write(`streams: round ${round + 1} of ${ROUNDS}\n`);
  }
  return tableOf([...costs.values()]);
}

async function runRound(
  files: ExchangeFiles,
  quick: boolean,
  visit: (way: Way) => Promise<void>,
): Promise<void> {
  await using upstream = await startUpstream({ script: files.script });
  const sidecar = await startSidecar(upstream.address, "sqlite");
  try {
    for (const way of await waysOf(sidecar, files)) await visit(way);
  } finally {
    await sidecar.stop();
  }
  if (!quick) await besideLitellm(upstream.address, files, visit);
}

async function waysOf(
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
    { label: "gRPC", pid, call: (burst) => makeCalls({ ...grpc, ...burst, concurrency: CONCURRENCY }) },
    {
      label: "/v1/responses, store: false",
      most: { cpu: 1.6, firstMs: 1 },
      pid,
      call: (burst) => makeCalls({ ...unstored, ...burst, concurrency: CONCURRENCY }),
    },
    {
      label: "/v1/responses, stored in SQLite",
      most: { cpu: 2.2, firstMs: 1 },
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
      label: "LiteLLM's /v1/responses",
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

async function measure({ label, pid, call }: Way, divisor: number): Promise<Cost> {
  await call({ calls: Math.ceil(WARM_UP / divisor) });
  const before = cpuMicrosOf(pid);
  const busy = await call({ calls: Math.ceil(BUSY / divisor) });
  const used = cpuMicrosOf(pid) - before;
  const calm = await call({ ...CALM, calls: Math.ceil(CALM.calls / divisor) });
  for (const { failed, failures } of [busy, calm]) {
    if (failed > 0) throw new Error(`${label}: ${failed} streams failed: ${(failures ?? []).join("; ")}`);
  }
  return { cpu: used / busy.calls, firstMs: calm.first.p50 / 1000 };
}

function tableOf(measured: readonly { readonly way: Way; readonly rounds: readonly Cost[] }[]): string {
  const grpc = measured[0]?.rounds ?? [];
  const rows = measured.map(({ way, rounds }) => {
    const cpu = spreadOf(rounds.map((cost, index) => cost.cpu / (grpc[index]?.cpu ?? Number.NaN)));
    const later = medianOf(rounds.map((cost, index) => cost.firstMs - (grpc[index]?.firstMs ?? Number.NaN)));
    return [
      way.label,
      medianOf(rounds.map((cost) => cost.cpu)).toFixed(0),
      formatRatio(cpu),
      way.most === undefined ? "" : `${way.most.cpu} ×`,
      medianOf(rounds.map((cost) => cost.firstMs)).toFixed(2),
      later.toFixed(2),
      way.most === undefined ? "" : `${way.most.firstMs} ms`,
    ];
  });
  const header = [
    "Stream of 100 events",
    "CPU, µs",
    "/ gRPC",
    "aim",
    "first event, ms",
    "later than gRPC",
    "aim",
  ];
  return [
    `Streams of 100 events, unpaced, ${CONCURRENCY} at once; the first event at ${CALM.rate} streams a second.`,
    markdownTable([header, ...rows]),
  ].join("\n\n");
}
