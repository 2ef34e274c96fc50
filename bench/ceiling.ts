/** The maximum throughput of the callers and the upstream, to show that they are not the bottleneck. */
import { EVENTS_AROUND_DELTAS, writeExchange } from "./exchange.ts";
import {
  type CallOptions,
  type CallReport,
  makeCalls,
  startResponder,
  startUpstream,
  UPSTREAM_PATH,
} from "./load/load.ts";
import { readCpuMicros } from "./measure/process-stats.ts";
import { markdownTable } from "./report.ts";

const EVENTS = 100;
const CALLS = 40_000;
const STREAMS = 5_000;

/**
 * Measures the callers with answers from memory, and the callers connected directly to the upstream.
 * @returns A table.
 */
export async function measureCeiling({ quick }: { readonly quick: boolean }): Promise<string> {
  const part = quick ? 10 : 1;
  const complete = { calls: CALLS / part, concurrency: 50 };
  const stream = { calls: STREAMS / part, concurrency: 20 };
  return markdownTable([
    [
      "",
      "calls per second",
      "events per second",
      "CPU per call of the callers, µs",
      "CPU per call of the server, µs",
    ],
    ["Complete, gRPC from memory", ...toRow(await callResponder(1, complete))],
    ["Complete, directly at the upstream", ...toRow(await callUpstream("directRequest", complete))],
    ["Stream of 100 events, gRPC from memory", ...toRow(await callResponder(EVENTS, stream))],
    [
      "Stream of 100 events, directly at the upstream",
      ...toRow(await callUpstream("directStreamRequest", stream)),
    ],
  ]);
}

interface Ceiling {
  readonly report: CallReport;
  /** CPU of the server that answered, in microseconds. */
  readonly serverMicros: number;
}

type Burst = Pick<CallOptions, "calls" | "concurrency">;

async function callResponder(messages: number, burst: Burst): Promise<Ceiling> {
  const files = await writeExchange({ deltas: EVENTS - EVENTS_AROUND_DELTAS, clocked: false });
  await using responder = await startResponder(files.binaryEvent, messages);
  const report = await makeCalls({
    ...burst,
    target: responder.address,
    protocol: "grpc",
    path: "/outrigger.v1.InferenceService/Stream",
    request: files.binaryRequest,
    connections: 4,
  });
  return { report, serverMicros: readCpuMicros(responder.pid) };
}

async function callUpstream(
  request: "directRequest" | "directStreamRequest",
  burst: Burst,
): Promise<Ceiling> {
  const files = await writeExchange({ deltas: EVENTS - EVENTS_AROUND_DELTAS, clocked: false });
  await using upstream = await startUpstream({ script: files.script });
  const report = await makeCalls({
    ...burst,
    target: upstream.address,
    protocol: "direct",
    path: UPSTREAM_PATH,
    request: files[request],
  });
  return { report, serverMicros: readCpuMicros(upstream.pid) };
}

function toRow({ report, serverMicros }: Ceiling): string[] {
  const { calls, messages, seconds, cpuMicros } = report;
  return [
    (calls / seconds).toFixed(0),
    messages > calls ? (messages / seconds).toFixed(0) : "",
    (cpuMicros / calls).toFixed(0),
    (serverMicros / calls).toFixed(0),
  ];
}
