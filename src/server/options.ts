import type { Logger } from "pino";
import type { MemoryAccount } from "../core/memory-account.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { AccessControl } from "./access/access-control.ts";
import type { Limits } from "./base/limits.ts";
import type { Inference } from "./calls/inference.ts";
import type { Service } from "./calls/service.ts";
import type { HttpApi } from "./http/http-api.ts";
import type { CorsOptions } from "./http/origin.ts";
import type { ShutdownPart } from "./shutdown.ts";
import type { CallObserver } from "./telemetry/call-observer.ts";
import type { Metrics } from "./telemetry/metrics.ts";

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
  /** Gets the server's events. Calls are logged by an observer, see `createCallLog`. */
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
