import { type buildConnector, Client, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import { Connector } from "./connector.ts";
import { MAX_RESPONSE_HEADER_BYTES } from "./error.ts";
import { Exchange } from "./exchange.ts";
import { lookupPrivate } from "./private-address.ts";
import type { ProxySettings } from "./proxy.ts";

/** Options of the connections to one provider. */
export interface DispatcherOptions {
  /** Scheme, host and port of the provider. */
  readonly origin: string;
  /** Maximum number of connections; undefined for no limit. Further exchanges wait. */
  readonly maxConnections: number | undefined;
  /** How long a connection waits for its next request, in milliseconds. */
  readonly keepAliveMs: number;
  /** Time limit for reaching a target through a proxy, in milliseconds; 0 for none. */
  readonly connectMs: number;
  /** Whether names may resolve only to private addresses. Only without proxies. */
  readonly localOnly: boolean;
  readonly proxies: ProxySettings | undefined;
}

/**
 * Bytes that Node buffers for a socket that is not read: a quarter of undici's default, which halves the memory of a
 * stalled stream and slows no stream down.
 */
const SOCKET = { highWaterMark: 16 * 1024, keepAlive: true };

/**
 * Opens a pool for one provider: HTTP/1.1, one exchange at a time on each connection. If proxies are given, https:
 * targets go through a tunnel (CONNECT) and http: targets are forwarded in absolute form, as in undici's
 * EnvHttpProxyAgent.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { origin, maxConnections, keepAliveMs, connectMs, localOnly, proxies } = options;
  const common: Pool.Options = {
    allowH2: false,
    pipelining: 1,
    connections: maxConnections ?? null,
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    // The exchange enforces the time limits.
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: createConnection,
  };
  if (proxies === undefined) {
    const connect = localOnly ? { ...SOCKET, lookup: lookupPrivate } : SOCKET;
    return new Pool(origin, { ...common, connectTimeout: 0, connect });
  }
  return new EnvHttpProxyAgent({
    ...common,
    ...proxies,
    connectTimeout: connectMs,
    factory: (target, settings) => new Pool(target, { ...settings, ...common }),
    clientFactory: (proxy, settings) => new ProxyPool(proxy, { ...settings, allowH2: false }),
  });
}

type TunnelOptions = Parameters<Pool["connect"]>[0];
type TunnelCallback = Parameters<Pool["connect"]>[1];

/**
 * Opens the tunnels. A tunnel closes when its attempt is cancelled: the TLS handshake through it may be under way, and
 * undici gives no access to that.
 */
class ProxyPool extends Pool {
  override connect(options: TunnelOptions): Promise<Dispatcher.ConnectData>;
  override connect(options: TunnelOptions, callback: TunnelCallback): void;
  override connect(options: TunnelOptions, callback?: TunnelCallback): unknown {
    if (callback !== undefined) return super.connect(options, callback);
    return super.connect(options).then((tunnel) => {
      const { signal } = options;
      if (signal instanceof AbortSignal) signal.addEventListener("abort", () => tunnel.socket.destroy());
      return tunnel;
    });
  }
}

/** undici's client, extended so that an exchange can cancel the connection attempt that it waits for. */
class Connection extends Client {
  readonly #connector: Connector;

  constructor(origin: URL, options: Client.Options, connector: Connector) {
    super(origin, { ...options, connect: connector.connect });
    this.#connector = connector;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (handler instanceof Exchange) {
      // The exchange ended while it waited for a free connection, so opening one would be useless.
      if (handler.ended) return true;
      this.#connector.limitMs = handler.connectMs;
      handler.connectWith(this.#connector);
    }
    return super.dispatch(options, handler);
  }
}

/** Creates a connection for the pool. undici's types do not say that the connector exists by then. */
function createConnection(origin: URL, settings: object): Connection {
  const { connect, ...options } = settings as Client.Options & { connect: buildConnector.connector };
  return new Connection(origin, options, new Connector(connect));
}
