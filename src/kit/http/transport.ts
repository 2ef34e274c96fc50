/**
 * HTTP to a provider, over undici's dispatcher: bytes go from the socket's callback to the reader through a bounded
 * queue and nothing else.
 */

import { buildConnector, Client, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import type { CallTiming } from "../../core/call-timing.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { Connector } from "./connector.ts";
import { MAX_RESPONSE_HEADER_BYTES, notLocal } from "./error.ts";
import { Exchange, type HttpAnswer } from "./exchange.ts";
import { addressInHost, isPrivateAddress, lookupPrivate } from "./private-address.ts";
import { type Environment, getProxySettings } from "./proxy.ts";
import { DEFAULT_HTTP_TIMEOUTS, type HttpTimeouts, mergeTimeouts } from "./timeouts.ts";

export type { HttpAnswer } from "./exchange.ts";
export { createHeaders, type HttpHeaders } from "./headers.ts";
export { DEFAULT_HTTP_TIMEOUTS, type HttpTimeouts } from "./timeouts.ts";

/** Options of a transport. */
export interface HttpTransportOptions {
  /** Address of the provider: http or https, with or without a path. */
  readonly baseUrl: string;
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Maximum number of connections; further exchanges wait. No limit if absent. */
  readonly maxConnections?: number | undefined;
  /**
   * How long a connection waits for its next request, in milliseconds, if the provider does not say. Defaults to 4
   * seconds: servers commonly close idle connections after 5, and a request that is sent at that moment is lost.
   */
  readonly keepAliveMs?: number | undefined;
  /** Header `user-agent`. Defaults to `outrigger`. */
  readonly userAgent?: string | undefined;
  /** Source of the proxy variables, which are read once. Defaults to `process.env`. */
  readonly environment?: Environment | undefined;
  /**
   * Connects only to this machine and to private networks, whatever the provider's name resolves to, and to no proxy.
   * Default false.
   */
  readonly localOnly?: boolean | undefined;
  /**
   * Returns the TLS of the next connection: the same object until it changes. Through a proxy, the TLS settings at the
   * start are used. Default: public authorities, and no certificate.
   */
  readonly tls?: (() => ConnectionTls) | undefined;
}

/** TLS of a connection to a server, in PEM. */
export interface ConnectionTls {
  /** The authorities that sign the server's certificate, instead of the public ones. */
  readonly ca?: string | undefined;
  /** Our certificate and its key, for servers that ask for them. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Options of a request without a body. */
export interface HttpGetOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the exchange in any phase: its socket closes at once. */
  readonly signal?: AbortSignal | undefined;
  /** Measures the time until the end of the exchange. */
  readonly timing?: CallTiming | undefined;
  /** Limits of this exchange, overriding the limits of the transport. */
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
}

/** Options of a request with a body. */
export interface HttpPostOptions extends HttpGetOptions {
  readonly body: string | Uint8Array;
}

/** Exchanges with one provider. */
export interface HttpTransport {
  /**
   * Sends a request and resolves when the head of the answer has arrived, whatever its status; redirects are not
   * followed. Never sends twice.
   *
   * @param path Below the base URL, with its query.
   * @throws NetworkError if the provider cannot be reached or the connection is lost, RequestTimeoutError if a limit
   *   runs out, AbortError (or the signal's SDKError) if the call is cancelled, ConfigurationError if a header cannot
   *   be sent.
   */
  post(path: string, options: HttpPostOptions): Promise<HttpAnswer>;
  /** Like `post`, without a body. */
  get(path: string, options: HttpGetOptions): Promise<HttpAnswer>;
  /** Like `get`, with the method DELETE. */
  delete(path: string, options: HttpGetOptions): Promise<HttpAnswer>;
  /** Closes all connections at once; exchanges in progress fail with AbortError. Resolves when they are closed. */
  close(): Promise<void>;
}

const DEFAULT_KEEP_ALIVE_MS = 4_000;

/** Opens a transport. Throws ConfigurationError if an option or a proxy variable is wrong. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const base = parseBaseUrl(options.baseUrl);
  const peer = getPeer(base);
  const { origin } = base;
  const join = createUrlJoiner(base);
  const timeouts = mergeTimeouts(options.timeouts, DEFAULT_HTTP_TIMEOUTS);
  const userAgent = options.userAgent ?? "outrigger";
  const dispatcher = openDispatcher(base, timeouts, options);

  /** The headers of requests that are frozen: most requests have the same. */
  const prepared = new WeakMap<HttpGetOptions["headers"], Record<string, string>>();
  const prepare = (given: HttpGetOptions["headers"]) => {
    const headers: Record<string, string> = { "user-agent": userAgent, "accept-encoding": "identity" };
    // In lower case, so that a caller's `User-Agent` replaces the default.
    for (const name in given) headers[name.toLowerCase()] = given[name] ?? "";
    if (Object.isFrozen(given)) prepared.set(given, headers);
    return headers;
  };
  const send = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    request: HttpRequest,
  ): Promise<HttpAnswer> => {
    const { body = null } = request;
    const limits = request.timeouts === undefined ? timeouts : mergeTimeouts(request.timeouts, timeouts);
    const headers = prepared.get(request.headers) ?? prepare(request.headers);
    const exchange = new Exchange({ peer, timeouts: limits, signal: request.signal, timing: request.timing });
    return exchange.run(dispatcher, { origin, path: join(path), method, headers, body });
  };

  return {
    post: send.bind(undefined, "POST"),
    get: send.bind(undefined, "GET"),
    delete: send.bind(undefined, "DELETE"),
    close: () => dispatcher.destroy(),
  };
}

/** A request of any method. */
interface HttpRequest extends HttpGetOptions {
  readonly body?: string | Uint8Array;
}

function atLeastOne(name: string, value: number): number {
  if (value >= 1) return value;
  throw new ConfigurationError(`the transport's ${name} is ${value}; expected at least 1`);
}

const EXPECTED = "expected an http: or https: URL, for instance https://api.example.com/v1";

/**
 * Reads the base URL of a provider: http or https, with or without a path, a query or a
 * trailing slash. Throws ConfigurationError naming what was found, never a user name, a
 * password or a query, since people put keys there.
 */
export function parseBaseUrl(baseUrl: string): URL {
  const url = URL.parse(baseUrl);
  if (url === null) throw wrongBaseUrl(`is ${nameText(baseUrl)}`);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw wrongBaseUrl(`has the scheme ${nameText(url.protocol)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw wrongBaseUrl("contains a user name or password, which belong in a header");
  }
  if (url.hash !== "") throw wrongBaseUrl("contains a fragment (#...)");
  return url;
}

/**
 * Returns a function that creates the target of a request: path and query below the base URL. A slash at the end of the
 * base or at the start of the path makes no difference. A query of the base comes before the query of the path.
 */
export function createUrlJoiner({ pathname, search }: URL): (path: string) => string {
  const prefix = `${pathname.replace(/(?<!\/)\/+$/, "")}/`;
  const query = search.slice(1);
  return (path) => {
    const joined = prefix + path.replace(/^\/+/, "");
    if (query === "") return joined;
    const at = joined.indexOf("?");
    return at < 0 ? `${joined}?${query}` : `${joined.slice(0, at)}?${query}&${joined.slice(at + 1)}`;
  };
}

/** Returns host and port, also if the port is the scheme's default, for instance `api.example.com:443`. */
export function getPeer(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`;
}

function wrongBaseUrl(found: string): ConfigurationError {
  return new ConfigurationError(`the base URL ${found}; ${EXPECTED}`);
}

/** Shows a text only if it reads like a host or a scheme: the pasted text may be a key. */
function nameText(text: string): string {
  if (text === "") return "empty";
  const hostLike = /^[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{0,5})?(\/[\w./-]*)?$/i;
  const shown = text.length <= 80 && hostLike.test(text) && /[.:/]/.test(text);
  return shown ? `"${text}"` : `a text of ${text.length} characters that is not a URL`;
}

/**
 * Bytes that Node buffers for a socket that is not read: a quarter of undici's default, which halves the memory of a
 * stalled stream and slows no stream down.
 */
const SOCKET = { highWaterMark: 16 * 1024, keepAlive: true };

/**
 * Opens a pool for one provider: HTTP/1.1, one exchange at a time on each connection. If there are proxies, https:
 * targets go through a tunnel (CONNECT) and http: targets are forwarded in absolute form, as in undici's
 * EnvHttpProxyAgent.
 */
function openDispatcher(base: URL, { connectMs }: HttpTimeouts, options: HttpTransportOptions): Dispatcher {
  const { maxConnections, keepAliveMs = DEFAULT_KEEP_ALIVE_MS, environment = process.env } = options;
  const { localOnly = false, tls } = options;
  const address = addressInHost(base.hostname);
  if (localOnly && address !== undefined && !isPrivateAddress(address)) throw notLocal(getPeer(base));
  const common: Pool.Options = {
    allowH2: false,
    pipelining: 1,
    connections: maxConnections === undefined ? null : atLeastOne("maxConnections", maxConnections),
    keepAliveTimeout: atLeastOne("keepAliveMs", keepAliveMs),
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    // The exchange enforces the time limits.
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: createConnection,
  };
  const socket = localOnly ? { ...SOCKET, lookup: lookupPrivate } : SOCKET;
  const connect = tls === undefined ? socket : createTlsConnector(socket, tls);
  // The target of a proxy's connection cannot be checked from here.
  const proxies = localOnly ? undefined : getProxySettings(environment);
  if (proxies === undefined) return new Pool(base.origin, { ...common, connectTimeout: 0, connect });
  return new EnvHttpProxyAgent({
    ...common,
    ...proxies,
    ...(tls === undefined ? {} : { connect, requestTls: tls() }),
    connectTimeout: connectMs,
    factory: (target, settings) => new Pool(target, { ...settings, ...common }),
    clientFactory: (proxy, settings) => new ProxyPool(proxy, { ...settings, allowH2: false }),
  });
}

/** Connects with the current TLS settings. Sessions are resumed as long as these do not change. */
function createTlsConnector(socket: object, tls: () => ConnectionTls): buildConnector.connector {
  let latest: { readonly material: ConnectionTls; readonly connect: buildConnector.connector } | undefined;
  return (options, callback) => {
    const material = tls();
    if (latest?.material !== material)
      latest = { material, connect: buildConnector({ ...socket, ...material, timeout: 0, allowH2: false }) };
    return latest.connect(options, callback);
  };
}

type TunnelOptions = Parameters<Pool["connect"]>[0];
type TunnelCallback = Parameters<Pool["connect"]>[1];

/**
 * Opens the tunnels. A tunnel closes when its attempt is cancelled: the TLS handshake through it may be in progress,
 * and undici gives no access to that.
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
    // An exchange that ended while it waited for a free connection needs none.
    if (handler instanceof Exchange && !handler.connectWith(this.#connector)) return true;
    return super.dispatch(options, handler);
  }
}

/** Creates a connection for the pool. undici's types do not say that the connector exists by then. */
function createConnection(origin: URL, settings: object): Connection {
  const { connect, ...options } = settings as Client.Options & { connect: buildConnector.connector };
  return new Connection(origin, options, new Connector(connect));
}
