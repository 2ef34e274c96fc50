import type { Logger } from "pino";
import type { Catalog as ModelCatalog } from "../catalog/catalog.ts";
import type { CallOptions } from "../core/adapter.ts";
import type { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";

/** What answers the calls of InferenceService. A Client is one. */
export interface Inference {
  /** The whole answer. Throws SDKError. */
  complete(request: Request, options?: CallOptions): Promise<Response>;
  /** The answer as events, under the laws of a stream. Ends early when its iteration is left. */
  stream(request: Request, options?: CallOptions): EventStream;
}

/** What answers the calls of CatalogService: the lookups of the model catalog. */
export type Catalog = Pick<ModelCatalog, "getModelInfo" | "listModels" | "getLatestModel">;

/** What a connection and a message may cost. */
export interface Limits {
  /** Largest message that a caller may send, after decompression. Default 32 MiB: images travel in requests. */
  readonly maxMessageBytes: number;
  /** Streams that one HTTP/2 connection may have open. Default 1000. */
  readonly maxConcurrentStreams: number;
  /** Largest header list of a request. Default 64 KiB. */
  readonly maxHeaderListBytes: number;
  /**
   * Resets that one HTTP/2 connection may send at once before it is closed as an attack.
   * Default 100000: Node's 1000 kills the innocent streams of a client that cancels a lot.
   */
  readonly streamResetBurst: number;
  /** Resets per second by which the burst refills. Default 10000. */
  readonly streamResetRate: number;
  /** Memory that the HTTP/2 state of one connection may hold, in MiB. Default 128. */
  readonly maxSessionMemoryMiB: number;
  /** A peer that has not answered one HTTP/2 ping when the next is due is dead. Default 30 s. */
  readonly keepaliveIntervalMs: number;
  /**
   * An HTTP/2 connection without a stream for that long is sent away (GOAWAY). Default 30
   * minutes, after which gRPC clients give up an idle connection by themselves; Infinity for never.
   */
  readonly maxConnectionIdleMs: number;
  /** An HTTP/2 connection of that age, a tenth more or less, is sent away; calls in flight finish. Default: never. */
  readonly maxConnectionAgeMs: number;
  /** How long calls in flight may take to finish on a connection that was sent away for its age. Default: for ever. */
  readonly maxConnectionAgeGraceMs: number;
  /** Longest wait for the bytes that tell which HTTP a new connection speaks. Default 10 s. */
  readonly protocolTimeoutMs: number;
  /** Longest wait for all headers of an HTTP/1.1 request. Default 10 s. */
  readonly headersTimeoutMs: number;
  /** Longest wait for the whole of an HTTP/1.1 request. Default 300 s. */
  readonly requestTimeoutMs: number;
  /** How long an idle HTTP/1.1 connection is kept. Default 75 s. */
  readonly idleTimeoutMs: number;
}

/** The limits of a server that was told none. */
export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 32 * 1024 * 1024,
  maxConcurrentStreams: 1000,
  maxHeaderListBytes: 64 * 1024,
  streamResetBurst: 100_000,
  streamResetRate: 10_000,
  maxSessionMemoryMiB: 128,
  keepaliveIntervalMs: 30_000,
  maxConnectionIdleMs: 1_800_000,
  maxConnectionAgeMs: Number.POSITIVE_INFINITY,
  maxConnectionAgeGraceMs: Number.POSITIVE_INFINITY,
  protocolTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  idleTimeoutMs: 75_000,
};

/** Which browsers may call. */
export interface CorsOptions {
  /** Origins as browsers send them, for instance `https://app.example`; `*` means all. */
  readonly allowedOrigins: readonly string[];
}

/** Everything that a server is made of. */
export interface ServerOptions {
  /** Answers InferenceService. Closing it is the caller's affair. */
  readonly inference: Inference;
  /** Answers CatalogService. */
  readonly catalog: Catalog;
  /** Addresses of the door: `127.0.0.1:6190`, `[::1]:0`, `:6190`, `unix:///run/outrigger.sock`. At least one. */
  readonly listen: readonly string[];
  /** Address of health and metrics. Undefined: there is no admin listener. */
  readonly adminListen?: string | undefined;
  /** Changes to the default limits. */
  readonly limits?: Partial<Limits> | undefined;
  /** Longest wait for calls in flight when the server drains. Default 30 s. */
  readonly drainTimeoutMs?: number | undefined;
  /** Whether gRPC reflection is served. Default true. */
  readonly reflection?: boolean | undefined;
  /** Default: no browser may call. */
  readonly cors?: CorsOptions | undefined;
  /** Gets one line per call and the server's own events. */
  readonly logger: Logger;
  /** Version of the program, for `outrigger_build_info`. */
  readonly version: string;
}

/** A server that accepts calls. */
export interface RunningServer {
  /** The bound addresses, with real ports, in the order of `listen`. */
  readonly addresses: readonly string[];
  /** The bound admin address; undefined where there is none. */
  readonly adminAddress: string | undefined;
  /**
   * Lets go: not ready, health watches end, no new connections and calls, calls in flight
   * finish. Resolves when the last connection is closed, at the latest after the drain
   * timeout, when what is left is cut off. The admin listener stays. Never rejects.
   */
  drain(): Promise<void>;
  /** Cuts off everything, the admin listener too. Resolves when all sockets are closed. Never rejects. */
  close(): Promise<void>;
}
