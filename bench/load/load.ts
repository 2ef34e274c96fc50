/** Runs the callers and servers of the benchmark, which are written in Go. */
import { join } from "node:path";
import { type Paused, run, runUntil, startListening } from "../processes.ts";
import { RUN_FOLDER } from "../work-folder.ts";

const BINARY = join(RUN_FOLDER, "load");

/** Builds the load generator. @throws Error that says how to install Go if it is missing. */
export async function buildLoad(): Promise<void> {
  await run({ file: "go", args: ["version"] }).catch(() => {
    throw new Error(
      "The callers and the upstream of this benchmark are written in Go. " +
        "Please install Go 1.26 or later (https://go.dev/dl) and have `go` on the PATH.",
    );
  });
  await run({ file: "go", args: ["build", "-C", "bench/load", "-buildvcs=false", "-o", BINARY, "."] });
}

/** A running server, until it is disposed of. */
export interface LoadServer extends AsyncDisposable {
  readonly pid: number;
  /** Host and port. */
  readonly address: string;
}

/** The path of the API that an upstream implements. */
export const UPSTREAM_PATH = "/v1/responses";

/** Options of an upstream. */
export interface UpstreamOptions {
  /** File with the answers; see `writeExchange`. */
  readonly script: string;
  /** Milliseconds between two events of a stream. Default: none. */
  readonly intervalMs?: number;
  /** Whether a stream is sent in one write instead of one per event. */
  readonly whole?: boolean;
}

/** Starts an upstream that implements OpenAI's Responses API. */
export function startUpstream({
  script,
  intervalMs = 0,
  whole = false,
}: UpstreamOptions): Promise<LoadServer> {
  return startServer(["upstream", "-script", script, "-interval", `${intervalMs}ms`, `-whole=${whole}`]);
}

/** Starts a server that answers gRPC calls from memory, with the message of a file, a number of times. */
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

/**
 * Protocol of the callers: gRPC over shared HTTP/2 connections, all others over HTTP/1.1 with one connection each.
 * `direct` is the provider's protocol, for calls of an upstream.
 */
export type Protocol = "grpc" | "connect+json" | "connect+proto" | "sse" | "direct";

/** Which calls to make. */
export interface CallOptions {
  /** Host and port. */
  readonly target: string;
  readonly protocol: Protocol;
  readonly path: string;
  /** File with the message, or with the body. */
  readonly request: string;
  /** Maximum number of calls. */
  readonly calls: number;
  readonly concurrency: number;
  /** HTTP/2 connections that the calls of gRPC share. */
  readonly connections?: number;
  /** Messages of a complete answer. A call with more or fewer has failed. */
  readonly messages?: number;
  /** Further headers of the calls over HTTP/1.1, each as `name: value`. */
  readonly headers?: readonly string[];
  /** Maximum calls per second. Default: no limit. */
  readonly rate?: number;
  /** Milliseconds over which the first calls are spread. */
  readonly rampMs?: number;
  /** Milliseconds after which no further call begins. Default: no limit. */
  readonly durationMs?: number;
}

/** Durations in microseconds. */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** Numbers of failures by their descriptions. */
export type Failures = Readonly<Record<string, number>>;

/** Failures as one line. */
export function formatFailures(failures: Failures | null): string {
  return Object.entries(failures ?? {})
    .map(([failure, count]) => `${count} × ${failure}`)
    .join("; ");
}

/** The results of a number of calls. */
export interface CallReport {
  readonly calls: number;
  readonly failed: number;
  /**
   * Numbers of failed calls by their failures, of which only the first few kinds are distinguished; null if there are
   * none.
   */
  readonly failures: Failures | null;
  readonly messages: number;
  /** DATA frames, or chunks of HTTP/1.1. */
  readonly frames: number;
  readonly seconds: number;
  /** CPU time of the callers, in microseconds. */
  readonly cpuMicros: number;
  /** From the call to its end. */
  readonly call: Quantiles;
  /** From the call to its first message. */
  readonly first: Quantiles;
  /** From the upstream's write of an event to its arrival, for deltas with a timestamp. */
  readonly event: Quantiles;
}

/** Makes calls. */
export async function makeCalls(options: CallOptions): Promise<CallReport> {
  const { target, protocol, path, request, calls, concurrency, connections = 1 } = options;
  const { messages = 0, headers = [], rate = 0, rampMs = 0, durationMs = 0 } = options;
  const flags = { target, protocol, path, request, calls, concurrency, connections, messages, rate };
  const headerFlags = headers.map((header) => `-header=${header}`);
  const times = [`-ramp=${rampMs}ms`, `-duration=${durationMs}ms`];
  const args = ["call", ...getFlags(flags), ...headerFlags, ...times];
  return JSON.parse(await run({ file: BINARY, args }));
}

/** Which stored responses to stream. */
export interface ReadOptions {
  readonly target: string;
  /** Paths of the streams. The readers take turns. */
  readonly paths: readonly string[];
  readonly readers: number;
  /** Milliseconds over which the readers begin. */
  readonly rampMs: number;
  /** Milliseconds after which a reader gives up. */
  readonly limitMs: number;
}

/** The results of the readers of streams. */
export interface ReadReport {
  readonly readers: number;
  /** Readers that got all events, from the first to `response.completed`, without a gap. */
  readonly complete: number;
  /** Numbers of the other readers by the events that they missed; null if there are none. */
  readonly failures: Failures | null;
  /** Events of the complete readers: the least and the most of one. */
  readonly leastEvents: number;
  readonly mostEvents: number;
}

/** Streams of stored reads. */
export interface Reading {
  /** Waits until all streams have ended. */
  end(): Promise<ReadReport>;
}

/** Reads the streams of stored responses. Resolves when all readers have sent their requests. */
export async function readStored(options: ReadOptions): Promise<Reading> {
  const { target, paths, readers, rampMs, limitMs } = options;
  const pathFlags = paths.map((path) => `-path=${path}`);
  const args = ["read", ...getFlags({ target, readers }), ...pathFlags];
  const times = [`-ramp=${rampMs}ms`, `-limit=${limitMs}ms`];
  const paused = await runUntil({ file: BINARY, args: [...args, ...times] }, /^reading\n/);
  return { end: async () => JSON.parse(await paused.resume()) };
}

/** Which streams to open and not to read. */
export interface StallOptions {
  readonly target: string;
  readonly method: string;
  readonly request: string;
  readonly streams: number;
  readonly connections: number;
}

/** The results of unread streams. */
export interface StallReport {
  readonly streams: number;
  /** Messages that fitted into the windows. */
  readonly messages: number;
  /** Streams that ended; none should. */
  readonly ended: number;
  readonly failures: readonly string[];
}

/** Opens streams and reads none. Resolves when no more data arrives; `resume` closes them and returns a StallReport. */
export function stallStreams(options: StallOptions): Promise<Paused> {
  return runUntil({ file: BINARY, args: ["stall", ...getFlags({ ...options })] }, /^stalled\n/);
}

/** Which streams to cancel. */
export interface CancelOptions {
  readonly target: string;
  readonly method: string;
  readonly request: string;
  /** Streams to cancel. */
  readonly streams: number;
  /** Streams that are opened together on a connection, and cancelled together. */
  readonly burst: number;
  /** Streams on each connection that are not cancelled. */
  readonly bystanders: number;
  readonly connections: number;
  /** Messages of a complete answer. */
  readonly messages: number;
}

/** The results of cancelled streams, and of the bystanders. */
export interface CancelReport {
  readonly cancelled: number;
  /** Streams that ended before they could be cancelled. */
  readonly lost: number;
  readonly bystanders: number;
  /** Bystanders that did not end with status 0 and all of their messages in sequence. */
  readonly disturbed: number;
  readonly failures: readonly string[];
  readonly seconds: number;
}

/** Cancels streams in bursts, while others run on the same connections. */
export async function cancelStreams(options: CancelOptions): Promise<CancelReport> {
  return JSON.parse(await run({ file: BINARY, args: ["cancel", ...getFlags({ ...options })] }));
}

function getFlags(flags: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(flags).map(([name, value]) => `-${name}=${value}`);
}
