/**
 * HTTP to a provider, over undici's dispatcher: bytes go from the socket's callback to the reader through a bounded
 * queue and nothing else.
 */
import type { Dispatcher } from "undici";
import { ConfigurationError } from "../../core/errors.ts";
import { createDispatcher } from "./dispatcher.ts";
import { notLocal } from "./error.ts";
import { Exchange, type HttpAnswer } from "./exchange.ts";
import { addressInHost, isPrivateAddress } from "./private-address.ts";
import { type Environment, getProxySettings } from "./proxy.ts";
import { DEFAULT_HTTP_TIMEOUTS, type HttpTimeouts, layTimeouts } from "./timeouts.ts";
import { getPeer, joinUrl, parseBaseUrl } from "./url.ts";

export type { HttpAnswer } from "./exchange.ts";
export { createHeaders, type HttpHeaders } from "./headers.ts";
export { DEFAULT_HTTP_TIMEOUTS, type HttpTimeouts } from "./timeouts.ts";
export { joinUrl, parseBaseUrl } from "./url.ts";

/** Options of a transport. */
export interface HttpTransportOptions {
  /** Address of the provider: http or https, with or without a path. */
  readonly baseUrl: string;
  /** Default limits of an exchange. */
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
}

/** Options of a request without a body. */
export interface HttpGetOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the exchange in any phase: its socket closes at once. */
  readonly signal?: AbortSignal | undefined;
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
  /** Closes all connections at once; exchanges under way fail with AbortError. Resolves when they are closed. */
  close(): Promise<void>;
}

const DEFAULT_KEEP_ALIVE_MS = 4_000;

/** Opens a transport. Throws ConfigurationError if an option or a proxy variable is wrong. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const base = parseBaseUrl(options.baseUrl);
  const peer = getPeer(base);
  const timeouts = layTimeouts(options.timeouts, DEFAULT_HTTP_TIMEOUTS);
  const defaults = { "user-agent": options.userAgent ?? "outrigger", "accept-encoding": "identity" };
  const dispatcher = openDispatcher(base, timeouts, options);

  const send = (method: "GET" | "POST" | "DELETE", path: string, request: HttpGetOptions, body: Body) => {
    const limits = layTimeouts(request.timeouts, timeouts);
    const exchange = new Exchange({ peer, timeouts: limits, signal: request.signal });
    return exchange.run(dispatcher, {
      origin: base.origin,
      path: joinUrl(base, path),
      method,
      headers: mergeHeaders(defaults, request.headers),
      body,
    });
  };

  return {
    post: async (path, request) => send("POST", path, request, request.body),
    get: async (path, request) => send("GET", path, request, null),
    delete: async (path, request) => send("DELETE", path, request, null),
    close: () => dispatcher.destroy(),
  };
}

type Body = string | Uint8Array | null;

function openDispatcher(base: URL, timeouts: HttpTimeouts, options: HttpTransportOptions): Dispatcher {
  const { maxConnections, keepAliveMs = DEFAULT_KEEP_ALIVE_MS, environment = process.env } = options;
  const { localOnly = false } = options;
  const address = addressInHost(base.hostname);
  if (localOnly && address !== undefined && !isPrivateAddress(address)) throw notLocal(getPeer(base));
  return createDispatcher({
    origin: base.origin,
    maxConnections: maxConnections === undefined ? undefined : atLeastOne("maxConnections", maxConnections),
    keepAliveMs: atLeastOne("keepAliveMs", keepAliveMs),
    connectMs: timeouts.connectMs,
    localOnly,
    // The target of a proxy's connection cannot be checked from here.
    proxies: localOnly ? undefined : getProxySettings(environment),
  });
}

function atLeastOne(name: string, value: number): number {
  if (value >= 1) return value;
  throw new ConfigurationError(`the transport's ${name} is ${value}; expected at least 1`);
}

/** Merges headers under lower-case names, so that a caller's `User-Agent` replaces the default. */
function mergeHeaders(
  defaults: Readonly<Record<string, string>>,
  overrides: Readonly<Record<string, string>>,
): Record<string, string> {
  const merged: Record<string, string> = { ...defaults };
  for (const [name, value] of Object.entries(overrides)) merged[name.toLowerCase()] = value;
  return merged;
}
