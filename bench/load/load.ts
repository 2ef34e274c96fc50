/** The compiled ends of the benchmark, as the rest of it uses them. */
import { join } from "node:path";
import { type Paused, run, runUntil, startListening } from "../processes.ts";
import { RUN_FOLDER } from "../work-folder.ts";

const BINARY = join(RUN_FOLDER, "load");

/** Builds them. @throws Error that says what to install, where there is no Go. */
export async function buildLoad(): Promise<void> {
  await run({ file: "go", args: ["version"] }).catch(() => {
    throw new Error(
      "The callers and the upstream of this benchmark are written in Go. " +
        "Please install Go 1.26 or later (https://go.dev/dl) and have `go` on the PATH.",
    );
  });
  await run({ file: "go", args: ["build", "-C", "bench/load", "-buildvcs=false", "-o", BINARY, "."] });
}

/** A server at the other end, until it is disposed of. */
export interface LoadServer extends AsyncDisposable {
  readonly pid: number;
  /** Host and port. */
  readonly address: string;
}

/** How an upstream answers. */
export interface UpstreamOptions {
  /** File with the answers; see `writeExchange`. */
  readonly script: string;
  /** Milliseconds between two events of a stream. Default: none. */
  readonly intervalMs?: number;
  /** Whether a stream leaves in one write instead of one for each event. */
  readonly whole?: boolean;
}

/** Starts an upstream that speaks as OpenAI does. */
export function startUpstream({
  script,
  intervalMs = 0,
  whole = false,
}: UpstreamOptions): Promise<LoadServer> {
  return startServer(["upstream", "-script", script, "-interval", `${intervalMs}ms`, `-whole=${whole}`]);
}

/** Starts a server that answers calls of gRPC from memory: each with a file's message, a number of times. */
export function startResponder(message: string, messages: number): Promise<LoadServer> {
  return startServer(["responder", "-message", message, "-messages", String(messages)]);
}

async function startServer([command = "", ...flags]: readonly string[]): Promise<LoadServer> {
  const running = await startListening((address) => ({
    file: BINARY,
    args: [command, "-listen", address, ...flags],
  }));
  return { pid: running.pid, address: running.address, [Symbol.asyncDispose]: () => running.stop() };
}

/** Which calls to make. */
export interface CallOptions {
  /** Host and port. */
  readonly target: string;
  /** Path of the RPC. Without one the calls are plain HTTP/1.1, straight at an upstream. */
  readonly method?: string;
  /** File with the message, or with the body. */
  readonly request: string;
  readonly calls: number;
  readonly concurrency: number;
  /** Connections of HTTP/2 that the calls share. */
  readonly connections?: number;
  /** Messages that a whole answer has. A call with more or fewer is a failed one. */
  readonly messages?: number;
  /** Calls per second at the most. Default: as many as go. */
  readonly rate?: number;
  /** Milliseconds over which the first calls are spread. */
  readonly rampMs?: number;
}

/** Durations in microseconds. */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** What came of a number of calls. */
export interface CallReport {
  readonly calls: number;
  readonly failed: number;
  /** The first few failures. */
  readonly failures: readonly string[] | null;
  readonly messages: number;
  /** DATA frames, or chunks where the calls were plain HTTP/1.1. */
  readonly frames: number;
  readonly seconds: number;
  /** CPU that the callers used, in microseconds. */
  readonly cpuMicros: number;
  /** From the call to its end. */
  readonly call: Quantiles;
  /** From the call to its first message. */
  readonly first: Quantiles;
  /** From the upstream's write of an event to its arrival; where the deltas are clocked. */
  readonly event: Quantiles;
}

/** Makes calls. */
export async function makeCalls(options: CallOptions): Promise<CallReport> {
  const { target, method = "", request, calls, concurrency, connections = 1 } = options;
  const { messages = 0, rate = 0, rampMs = 0 } = options;
  const flags = { target, method, request, calls, concurrency, connections, messages, rate };
  return JSON.parse(await run({ file: BINARY, args: ["call", ...flagsOf(flags), `-ramp=${rampMs}ms`] }));
}

/** Which streams to open and not to read. */
export interface StallOptions {
  readonly target: string;
  readonly method: string;
  readonly request: string;
  readonly streams: number;
  readonly connections: number;
}

/** What came of streams that nobody read. */
export interface StallReport {
  readonly streams: number;
  /** Messages that fitted into the windows. */
  readonly messages: number;
  /** Streams that ended, which none should. */
  readonly ended: number;
  readonly failures: readonly string[];
}

/** Opens streams and reads none. Resolves when nothing comes any more; `resume` closes them and gives a StallReport. */
export function stallStreams(options: StallOptions): Promise<Paused> {
  return runUntil({ file: BINARY, args: ["stall", ...flagsOf({ ...options })] }, /^stalled\n/);
}

/** Which streams to cancel. */
export interface CancelOptions {
  readonly target: string;
  readonly method: string;
  readonly request: string;
  /** Streams to cancel. */
  readonly streams: number;
  /** Streams that are opened at once on a connection, and cancelled at once. */
  readonly burst: number;
  /** Streams on each connection that nobody cancels. */
  readonly bystanders: number;
  readonly connections: number;
  /** Messages that a whole answer has. */
  readonly messages: number;
}

/** What came of streams that were cancelled, and of those beside them. */
export interface CancelReport {
  readonly cancelled: number;
  /** Streams that were gone before they could be cancelled. */
  readonly lost: number;
  readonly bystanders: number;
  /** Bystanders that did not end with status 0 and all of their messages in sequence. */
  readonly disturbed: number;
  readonly failures: readonly string[];
  readonly seconds: number;
}

/** Cancels streams in bursts, while others run on the same connections. */
export async function cancelStreams(options: CancelOptions): Promise<CancelReport> {
  return JSON.parse(await run({ file: BINARY, args: ["cancel", ...flagsOf({ ...options })] }));
}

function flagsOf(flags: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(flags).map(([name, value]) => `-${name}=${value}`);
}
