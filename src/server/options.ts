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
   * An HTTP/2 connection without a stream for that long gets a GOAWAY. Default 30 minutes, after which gRPC clients
   * close idle connections themselves; Infinity for never.
   */
  readonly maxConnectionIdleMs: number;
  /**
   * An HTTP/2 connection of that age, a tenth more or less, gets a GOAWAY; calls in progress finish. Default: never.
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

/** Which browsers may call. */
export interface CorsOptions {
  /** Origins as browsers send them, for instance `https://app.example`; `*` means all. */
  readonly allowedOrigins: readonly string[];
}

/** The addresses of a server, and its callers. */
export interface ListenersOptions {
  /** Serves the services and the HTTP APIs. */
  readonly data: {
    /** `127.0.0.1:6190`, `[::1]:0`, `:6190`, `unix:///run/outrigger.sock`. At least one. */
    readonly addresses: readonly string[];
    /** Default: no browser may call. */
    readonly cors?: CorsOptions | undefined;
  };
  /**
   * Names under which both listeners may be called over HTTP/1.1, besides those that are always allowed: see
   * `createHostCheck`. Default none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Permissions of Unix sockets. Default 0660: the owner and the group may connect. */
  readonly unixSocketMode?: number | undefined;
  /** Serves health and metrics. Undefined if there is no such listener. */
  readonly admin?: { readonly address: string } | undefined;
  /** Changes to the default limits. Stricter limits of the admin listener stay. */
  readonly limits?: Partial<Limits> | undefined;
}

/** HTTP APIs, and the client that calls the models for them. */
export interface EndpointsOptions {
  readonly endpoints: readonly Endpoint[];
  readonly inference: Inference;
}

/** All parts and settings of a server. */
export interface ServerOptions {
  readonly listeners: ListenersOptions;
  /** Who may call the data listener. Undefined if everybody who reaches it may call. */
  readonly access?: AccessControl | undefined;
  /** The memory of the process. Default: a new account with the limits of the listeners. */
  readonly account?: MemoryAccount | undefined;
  /** Served on the data listener by gRPC, gRPC-Web, Connect and JSON. */
  readonly services: readonly Service[];
  /** Further HTTP APIs of the data listener. */
  readonly apis?: readonly HttpApi[] | undefined;
  /** HTTP APIs over the models, on the data listener. */
  readonly endpoints?: EndpointsOptions | undefined;
  /** Follow all calls of both listeners, probes included. */
  readonly observers?: readonly CallObserver[] | undefined;
  /** The metrics of the admin listener's `/metrics`. Undefined if there is no such page. */
  readonly metrics?: Pick<Metrics, "render" | "connectionRefused"> | undefined;
  readonly shutdown?: {
    /** Longest wait for work in progress when the server drains. Default 30 s. */
    readonly timeoutMs?: number | undefined;
    /**
     * Further parts that end with the server, after its listeners. They are closed also if the server cannot be
     * started.
     */
    readonly parts?: readonly ShutdownPart[] | undefined;
  };
  /** Whether gRPC reflection is served. Default true. */
  readonly reflection?: boolean | undefined;
  /** Gets the events of the server itself. Calls are logged by an observer, see `createCallLog`. */
  readonly logger: Logger;
}

/** A server that accepts calls. */
export interface RunningServer {
  /** The bound data addresses, with real ports, in the order of the options. */
  readonly addresses: readonly string[];
  /** The bound admin address; undefined if there is none. */
  readonly adminAddress: string | undefined;
  /**
   * Drains the server: it is not ready, health watches end, no new connections and calls are accepted, and calls in
   * progress finish. Resolves when all parts are done, or after the timeout, when the remaining work is aborted. The
   * admin listener stays open. Never rejects.
   */
  drain(): Promise<void>;
  /** Aborts all work and closes all parts. Never rejects. */
  close(): Promise<void>;
}
