/**
 * The cost of traces: `node bench/tracing.ts [--quick] [--write]`. Two sidecars, one of which sends all spans to a
 * collector that drops them, answer the same gRPC calls in turn. `--quick` makes a tenth of the calls, `--write` writes
 * the table into RESULTS.md.
 */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../src/cli/process-settings.ts";
import { Role } from "../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../src/gen/outrigger/v1/request_pb.ts";
import { EVENTS_AROUND_DELTAS, writeExchange } from "./exchange.ts";
import { buildLoad, formatFailures, type LoadServer, makeCalls, startUpstream } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { readCpuMicros } from "./measure/process-stats.ts";
import { getMedian, getSpread } from "./measure/statistics.ts";
import { killAll, type Running, startListening } from "./processes.ts";
import { formatRatio, markdownTable } from "./report.ts";
import { buildCurrent } from "./responses/programs.ts";
import { writeSection } from "./results-file.ts";
import { PROJECT_FOLDER, RUN_FOLDER } from "./work-folder.ts";

const DELTAS = 100 - EVENTS_AROUND_DELTAS;
const ROUNDS = 7;
const WARM_UP = 600;
const CALLS = 2_000;
const CONCURRENCY = 20;

const METHODS = [
  { name: "Complete", label: "Whole answer", messages: 1, aim: "" },
  { name: "Stream", label: "Stream of 100 events", messages: DELTAS + EVENTS_AROUND_DELTAS, aim: "1.1 ×" },
] as const;

type Method = (typeof METHODS)[number];

/** The two sidecars, and the spans that the collector was sent. */
interface Compared {
  readonly off: Running;
  readonly on: Running;
  readonly countExports: () => number;
}

async function startCollector(): Promise<{ server: Server; url: string; countExports: () => number }> {
  let exports = 0;
  const server = createServer((request, response) => {
    exports += 1;
    request.resume().once("end", () => response.writeHead(200).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, url, countExports: () => exports };
}

function startSidecar(program: string, upstream: LoadServer, env: Record<string, string>): Promise<Running> {
  return startListening((address) => ({
    file: process.execPath,
    args: [...NODE_OPTIONS, program, "serve"],
    env: {
      ...ALLOCATOR_VARIABLES,
      OPENAI_API_KEY: "sk-none-0123456789",
      OPENAI_BASE_URL: `http://${upstream.address}/v1`,
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
      ...env,
    },
  }));
}

async function writeRequest(): Promise<string> {
  const file = join(RUN_FOLDER, "tracing-request");
  const content = [{ part: { case: "text", value: "What does a trace cost?" } as const }];
  const messages = [{ role: Role.USER, content }];
  await writeFile(
    file,
    toBinary(RequestSchema, create(RequestSchema, { provider: "openai", model: "m", messages })),
  );
  return file;
}

/** Returns the CPU of a call, in microseconds. */
async function measure(
  { pid, address }: Running,
  { name, messages }: Method,
  divisor: number,
): Promise<number> {
  const options = {
    target: address,
    concurrency: CONCURRENCY,
    request: await writeRequest(),
    protocol: "grpc",
    path: `/outrigger.v1.InferenceService/${name}`,
    connections: 4,
    messages,
  } as const;
  await makeCalls({ ...options, calls: WARM_UP / divisor });
  const before = readCpuMicros(pid);
  const { failed, failures, calls } = await makeCalls({ ...options, calls: CALLS / divisor });
  if (failed > 0) throw new Error(`${name}: ${failed} calls failed: ${formatFailures(failures)}`);
  return (readCpuMicros(pid) - before) / calls;
}

async function measureAll({ off, on, countExports }: Compared, divisor: number): Promise<string> {
  const rows: string[][] = [];
  for (const method of METHODS) {
    const found: { off: number; on: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      found.push({ off: await measure(off, method, divisor), on: await measure(on, method, divisor) });
      process.stderr.write(`${method.label}: round ${round + 1} of ${ROUNDS}\n`);
    }
    const ratio = getSpread(found.map((micros) => micros.on / micros.off));
    const medians = [found.map(({ off: micros }) => micros), found.map(({ on: micros }) => micros)].map(
      getMedian,
    );
    rows.push([method.label, ...medians.map((micros) => micros.toFixed(0)), formatRatio(ratio), method.aim]);
  }
  if (countExports() === 0) throw new Error("the collector got no spans");
  return markdownTable([["", "off, CPU µs", "on, CPU µs", "on / off", "aim"], ...rows]);
}

process.once("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.chdir(PROJECT_FOLDER);
const divisor = process.argv.includes("--quick") ? 10 : 1;
const machine = await describeMachine();
const { start } = await buildCurrent();
await buildLoad();
const { script } = await writeExchange({ deltas: DELTAS, clocked: false });
const upstream = await startUpstream({ script });
const collector = await startCollector();
const off = await startSidecar(start, upstream, {});
const on = await startSidecar(start, upstream, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
const section = [
  "## Traces",
  `The same gRPC calls, ${CONCURRENCY} at once, with a span for the call and one for its request to the provider.`,
  await measureAll({ off, on, countExports: collector.countExports }, divisor),
  `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/tracing.ts\`.`,
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
await Promise.all([off.stop(), on.stop()]);
collector.server.close();
await upstream[Symbol.asyncDispose]();
process.stdout.write(`${section}\n`);
if (process.argv.includes("--write")) await writeSection("tracing.ts", section);
