import { getHeapStatistics } from "node:v8";
import { getMemoryLimits, type MemoryLimits } from "../../core/memory-account.ts";

/** Limits that depend on the memory of the process. */
export interface HeapLimits extends MemoryLimits {
  /** Calls that are served at once. Default: one for each 256 KiB of the heap. */
  readonly maxCalls: number;
}

/** Heap for a call with all its data, the provider's connection included. */
const HEAP_BYTES_PER_CALL = 256 * 1024;

/** Returns the limits for a heap of this size. */
export function getHeapLimits(heapBytes: number = getHeapStatistics().heap_size_limit): HeapLimits {
  return { ...getMemoryLimits(heapBytes), maxCalls: Math.floor(heapBytes / HEAP_BYTES_PER_CALL) };
}

/** Limits of connections, requests and messages. docs/configuration.md says what each limit defends against. */
export interface Limits extends HeapLimits {
  /** Open connections of the data listener; further ones are closed at once. Default 1024. */
  readonly maxConnections: number;
  /** Open connections of the admin listener. Default 64. */
  readonly maxAdminConnections: number;
  /** Largest message of a client, after decompression. Default 32 MiB: images travel in requests. */
  readonly maxMessageBytes: number;
  /** Fields and values of a message, including those in nested messages and in JSON texts. Default 250000. */
  readonly maxMessageElements: number;
  /** How many times larger a message may become by decompression. Default 100; any ratio is allowed up to 1 MiB. */
  readonly maxCompressionRatio: number;
  /** Streams that one HTTP/2 connection may have open. Default 1000. */
  readonly maxConcurrentStreams: number;
  /** Largest header list of a request. Default 64 KiB. */
  readonly maxHeaderListBytes: number;
  /**
   * Resets that one HTTP/2 connection may send at once before it is closed as an attack. Default 10000: with Node's
   * 1000, a client that cancels often would lose its connection and all its streams.
   */
  readonly streamResetBurst: number;
  /** Resets per second by which the burst refills. Default 500; Node has 33. */
  readonly streamResetRate: number;
  /** Interval of HTTP/2 pings; a peer that has not answered a ping when the next is due is dead. Default 30 s. */
  readonly keepaliveIntervalMs: number;
  /**
   * An HTTP/2 connection without a stream for this long gets a GOAWAY. Default 30 minutes, after which gRPC clients
   * close idle connections themselves; Infinity for never.
   */
  readonly maxConnectionIdleMs: number;
  /**
   * An HTTP/2 connection of this age, a tenth more or less, gets a GOAWAY; calls in progress finish. Default: never.
   */
  readonly maxConnectionAgeMs: number;
  /** Time for calls in progress on a connection that got a GOAWAY for its age. Default: no limit. */
  readonly maxConnectionAgeGraceMs: number;
  /** Longest wait for the first bytes of a connection, which show its HTTP version. Default 10 s. */
  readonly protocolTimeoutMs: number;
  /** Longest wait for all headers of an HTTP/1.1 request. Default 10 s. */
  readonly headersTimeoutMs: number;
  /** Longest wait for a whole request, or for each message of a stream of requests. Default 300 s. */
  readonly requestTimeoutMs: number;
  /** Longest wait for the next bytes of a request that is not complete. Default 30 s. */
  readonly stallTimeoutMs: number;
  /** How long an idle HTTP/1.1 connection is kept. Default 75 s. */
  readonly idleTimeoutMs: number;
}

/** The limits of a server without configured limits. The memory limits fit the heap of this process. */
export const DEFAULT_LIMITS: Limits = {
  ...getHeapLimits(),
  maxConnections: 1024,
  maxAdminConnections: 64,
  maxMessageBytes: 32 * 1024 * 1024,
  maxMessageElements: 250_000,
  maxCompressionRatio: 100,
  maxConcurrentStreams: 1000,
  maxHeaderListBytes: 64 * 1024,
  streamResetBurst: 10_000,
  streamResetRate: 500,
  keepaliveIntervalMs: 30_000,
  maxConnectionIdleMs: 1_800_000,
  maxConnectionAgeMs: Number.POSITIVE_INFINITY,
  maxConnectionAgeGraceMs: Number.POSITIVE_INFINITY,
  protocolTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  stallTimeoutMs: 30_000,
  idleTimeoutMs: 75_000,
};

/**
 * Upper bounds for the admin listener, whatever is configured: everyone who reaches the pod reaches it, and health
 * checks and scrapes are small and few.
 */
const ADMIN_MAXIMA = {
  maxRequestMemoryBytes: 1024 * 1024,
  maxUnsentBytes: 16 * 1024 * 1024,
  maxMessageBytes: 4096,
  maxMessageElements: 100,
  maxConcurrentStreams: 32,
  maxHeaderListBytes: 16 * 1024,
  // Node's default.
  streamResetBurst: 1000,
  streamResetRate: 33,
  requestTimeoutMs: 10_000,
  stallTimeoutMs: 10_000,
} as const satisfies Partial<Limits>;

/** Returns the limits of the admin listener for a server with these limits. */
export function toAdminLimits(limits: Limits): Limits {
  const { maxAdminConnections: maxConnections } = limits;
  const stricter = {
    ...limits,
    maxConnections,
    maxCalls: maxConnections * ADMIN_MAXIMA.maxConcurrentStreams,
  };
  const capped = Object.entries(ADMIN_MAXIMA).map(([name, highest]) => [
    name,
    Math.min(highest, Reflect.get(limits, name)),
  ]);
  return Object.assign(stricter, Object.fromEntries(capped));
}
