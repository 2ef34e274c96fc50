import type { Logger } from "pino";
import type { TlsOptions } from "../config/tls-files.ts";
import type { MemoryAccount } from "../core/memory-account.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import type { HttpApi } from "../http/endpoint.ts";
import type { AccessControl } from "./access/access-control.ts";
import type { Limits } from "./base/limits.ts";
import type { Service } from "./calls/service.ts";
import type { CorsOptions } from "./http/origin.ts";
import type { ShutdownPart } from "./shutdown.ts";
import type { CallObserver } from "./telemetry/call-observer.ts";
import type { Metrics } from "./telemetry/metrics.ts";

/** The listeners of a server. */
export interface ListenersOptions {
  /** Serves the services and the HTTP APIs. */
  readonly data: {
    /** `127.0.0.1:6190`, `[::1]:0`, `:6190`, `unix:///run/outrigger.sock`. At least one. */
    readonly addresses: readonly string[];
    /** Default: no browser may call. */
    readonly cors?: CorsOptions | undefined;
    /** TLS of the TCP addresses. Default: none. */
    readonly tls?: TlsOptions | undefined;
  };
  /**
   * Names under which both listeners may be called over HTTP/1.1, in addition to those that are always allowed: see
   * `createHostCheck`. Default none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Permissions of Unix sockets. Default 0660: the owner and the group may connect. */
  readonly unixSocketMode?: number | undefined;
  /** Serves health and metrics. Undefined if there is no such listener. */
  readonly admin?: { readonly address: string; readonly tls?: TlsOptions | undefined } | undefined;
  /** Changes to the default limits. Stricter limits of the admin listener stay. */
  readonly limits?: Partial<Limits> | undefined;
}

/** HTTP APIs, and the client that calls the models for them. */
export interface HttpApisOptions {
  readonly apis: readonly HttpApi[];
  readonly client: ModelClient;
}

/** All parts and settings of a server. */
export interface ServerOptions {
  readonly listeners: ListenersOptions;
  /** Who may call the data listener. Undefined if every client that reaches it may call. */
  readonly access?: AccessControl | undefined;
  /** The memory of the process. Default: a new account with the limits of the listeners. */
  readonly account?: MemoryAccount | undefined;
  /** Services of the data listener, over gRPC, gRPC-Web, Connect and JSON. */
  readonly services: readonly Service[];
  /** The HTTP APIs of the data listener. */
  readonly http?: HttpApisOptions | undefined;
  /** Observe all calls of both listeners, including probes. */
  readonly observers?: readonly CallObserver[] | undefined;
  /** The metrics of the admin listener's `/metrics`. Undefined if there is no such page. */
  readonly metrics?: Pick<Metrics, "render" | "connectionRefused"> | undefined;
  /** Returns what is degraded, for `/readyz?verbose`. Default: nothing. */
  readonly listProblems?: (() => readonly string[]) | undefined;
  readonly shutdown?: {
    /** Longest wait for work in progress when the server drains. Default 30 s. */
    readonly timeoutMs?: number | undefined;
    /**
     * Further parts that end with the server, after its listeners. They are also closed if the server cannot be
     * started.
     */
    readonly parts?: readonly ShutdownPart[] | undefined;
  };
  /** Whether gRPC reflection is served. Default true. */
  readonly reflection?: boolean | undefined;
  /** Logs the server's events. An observer logs calls, see `createCallLog`. */
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
