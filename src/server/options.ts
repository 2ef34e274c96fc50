import type { Logger } from "pino";
import type { MemoryAccount } from "../core/memory-account.ts";
import type { Endpoint } from "../endpoints/endpoint.ts";
import type { AccessControl } from "./access/access-control.ts";
import type { HttpApi } from "./http/http-api.ts";
import { getHeapLimits, type HeapLimits } from "./memory-limits.ts";
import type { Inference } from "./services/inference.ts";
import type { Service } from "./services/service.ts";
import type { ShutdownPart } from "./shutdown.ts";
import type { CallObserver } from "./telemetry/call-observer.ts";
import type { Metrics } from "./telemetry/metrics.ts";

/** Limits of connections, requests and messages. What each defends against is in docs/configuration.md. */
export interface Limits extends HeapLimits {
  /** Connections that the data listener has open; further ones are closed at once. Default 1024. */
  readonly maxConnections: number;
  /** The same for the admin listener. Default 64. */
  readonly maxAdminConnections: number;
  /** Largest message of a client, after decompression. Default 32 MiB: images travel in requests. */
  readonly maxMessageBytes: number;
  /** Fields and values of a message, those of the messages and JSON texts in it included. Default 250000. */
  readonly maxMessageElements: number;
  /** How many times larger a message may become by decompression. Default 100; up to 1 MiB any ratio is fine. */
  readonly maxCompressionRatio: number;
  /** Streams that one HTTP/2 connection may have open. Default 1000. */
  readonly maxConcurrentStreams: number;
  /** Largest header list of a request. Default 64 KiB. */
  readonly maxHeaderListBytes: number;
  /**
   * Resets that one HTTP/2 connection may send at once before it is closed as an attack. Default 10000: Node's 1000
   * closes the connection of a client that cancels often, and all its streams.
   */
  readonly streamResetBurst: number;
  /** Resets per second by which the burst refills. Default 500; Node has 33. */
  readonly streamResetRate: number;
  /** A peer that has not answered one HTTP/2 ping when the next is due is dead. Default 30 s. */
  readonly keepaliveIntervalMs: number;
  /**
   * An HTTP/2 connection without a stream for that long gets a GOAWAY. Default 30 minutes, after which gRPC clients
   * close idle connections themselves; Infinity for never.
   */
  readonly maxConnectionIdleMs: number;
  /** An HTTP/2 connection of that age, a tenth more or less, gets a GOAWAY; calls in flight finish. Default: never. */
  readonly maxConnectionAgeMs: number;
  /** Time for calls in flight on a connection that got a GOAWAY for its age. Default: no limit. */
  readonly maxConnectionAgeGraceMs: number;
  /** Longest wait for the first bytes of a connection, which show its HTTP version. Default 10 s. */
  readonly protocolTimeoutMs: number;
  /** Longest wait for all headers of an HTTP/1.1 request. Default 10 s. */
  readonly headersTimeoutMs: number;
  /** Longest wait for the whole of a request, or for each message of a stream of them. Default 300 s. */
  readonly requestTimeoutMs: number;
  /** Longest wait for the next bytes of a request that is not complete. Default 30 s. */
  readonly stallTimeoutMs: number;
  /** How long an idle HTTP/1.1 connection is kept. Default 75 s. */
  readonly idleTimeoutMs: number;
}

/** The limits of a server without settings of its own. Those of memory fit the heap of this process. */
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

/** Which browsers may call. */
export interface CorsOptions {
  /** Origins as browsers send them, for instance `https://app.example`; `*` means all. */
  readonly allowedOrigins: readonly string[];
}

/** Where a server listens, and for whom. */
export interface ListenersOptions {
  /** Serves the services and the HTTP APIs. */
  readonly data: {
    /** `127.0.0.1:6190`, `[::1]:0`, `:6190`, `unix:///run/outrigger.sock`. At least one. */
    readonly addresses: readonly string[];
    /** Default: no browser may call. */
    readonly cors?: CorsOptions | undefined;
  };
  /**
   * Names by which both listeners may be called over HTTP/1.1, besides those that are always allowed: see
   * `createHostCheck`. Default none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Permissions of Unix sockets. Default 0660: the owner and the group may connect. */
  readonly unixSocketMode?: number | undefined;
  /** Serves health and metrics. Undefined: there is no such listener. */
  readonly admin?: { readonly address: string } | undefined;
  /** Changes to the default limits. Those of the admin listener that are stricter stay. */
  readonly limits?: Partial<Limits> | undefined;
}

/** HTTP APIs, and what calls the models for them. */
export interface EndpointsOptions {
  readonly endpoints: readonly Endpoint[];
  readonly inference: Inference;
}

/** Everything that a server is made of. */
export interface ServerOptions {
  readonly listeners: ListenersOptions;
  /** Who may call the data listener. Undefined: everybody who reaches it. */
  readonly access?: AccessControl | undefined;
  /** The memory of the process. Default: an account of its own, with the limits of the listeners. */
  readonly account?: MemoryAccount | undefined;
  /** Served on the data listener by gRPC, gRPC-Web, Connect and JSON. */
  readonly services: readonly Service[];
  /** Further HTTP APIs of the data listener. */
  readonly apis?: readonly HttpApi[] | undefined;
  /** HTTP APIs over the models, on the data listener. */
  readonly endpoints?: EndpointsOptions | undefined;
  /** Follow all calls of both listeners, probes included. */
  readonly observers?: readonly CallObserver[] | undefined;
  /** What `/metrics` of the admin listener shows. Undefined: there is no such page. */
  readonly metrics?: Pick<Metrics, "render" | "connectionRefused"> | undefined;
  readonly shutdown?: {
    /** Longest wait for work under way when the server drains. Default 30 s. */
    readonly timeoutMs?: number | undefined;
    /** Further parts that end with the server, after its listeners. Closed also where the server cannot be started. */
    readonly parts?: readonly ShutdownPart[] | undefined;
  };
  /** Whether gRPC reflection is served. Default true. */
  readonly reflection?: boolean | undefined;
  /** Gets the server's own events. Calls are logged by an observer, see `createCallLog`. */
  readonly logger: Logger;
}

/** A server that accepts calls. */
export interface RunningServer {
  /** The bound data addresses, with real ports, in the order of the options. */
  readonly addresses: readonly string[];
  /** The bound admin address; undefined where there is none. */
  readonly adminAddress: string | undefined;
  /**
   * Ends the service: not ready, health watches end, no new connections and calls, calls in flight finish. Resolves
   * when all parts are done, at the latest after the timeout, when what is left is cut off. The admin listener stays.
   * Never rejects.
   */
  drain(): Promise<void>;
  /** Cuts off everything, and closes all parts. Never rejects. */
  close(): Promise<void>;
}
