/** Two sidecars that answer the same gRPC calls in turn. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { Role } from "../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../src/gen/outrigger/v1/request_pb.ts";
import { EVENTS_AROUND_DELTAS, writeExchange } from "./exchange.ts";
import { buildLoad, formatFailures, type LoadServer, makeCalls, startUpstream } from "./load/load.ts";
import { readCpuMicros } from "./measure/process-stats.ts";
import { killAll, type Running, startListening } from "./processes.ts";
import { PROJECT_FOLDER, RUN_FOLDER } from "./work-folder.ts";

const DELTAS = 100 - EVENTS_AROUND_DELTAS;
const WARM_UP = 600;
const CALLS = 2_000;

/** Calls at the same time. */
export const CONCURRENCY = 20;

/** The calls that are measured. */
export const METHODS = [
  { name: "Complete", label: "Whole answer", messages: 1 },
  { name: "Stream", label: "Stream of 100 events", messages: DELTAS + EVENTS_AROUND_DELTAS },
] as const;

type Method = (typeof METHODS)[number];

/** Builds the callers and starts the upstream. What still runs when this process ends is killed. */
export async function startPairUpstream(): Promise<LoadServer> {
  process.once("exit", killAll);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  process.chdir(PROJECT_FOLDER);
  await buildLoad();
  const { script } = await writeExchange({ deltas: DELTAS, clocked: false });
  return startUpstream({ script });
}

/** Starts a sidecar as an operator does: without options, it gives itself those of the image. */
export function startSidecar(
  program: string,
  upstream: LoadServer,
  env: Record<string, string> = {},
): Promise<Running> {
  return startListening((address) => ({
    file: process.execPath,
    args: [program, "serve"],
    env: {
      OPENAI_API_KEY: "sk-none-0123456789",
      OPENAI_BASE_URL: `http://${upstream.address}/v1`,
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
      ...env,
    },
  }));
}

async function writeRequest(): Promise<string> {
  const file = join(RUN_FOLDER, "pair-request");
  const content = [{ part: { case: "text", value: "What does a call cost?" } as const }];
  const messages = [{ role: Role.USER, content }];
  await writeFile(
    file,
    toBinary(RequestSchema, create(RequestSchema, { provider: "openai", model: "m", messages })),
  );
  return file;
}

/**
 * Returns the CPU of a call, in microseconds.
 * @param divisor Divides the number of calls.
 */
export async function measureCpu(
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
