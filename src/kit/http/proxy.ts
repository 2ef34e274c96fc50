import { ConfigurationError } from "../../core/errors.ts";

/** The proxies that an environment names. */
export interface ProxySettings {
  /** For http: targets, and for https: targets if `httpsProxy` is absent. */
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  /** Hosts that are reached without a proxy: names, `.suffixes`, `*`, each with an optional port. */
  readonly noProxy: string;
}

/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

const SCHEMES = ["http:", "https:", "socks5:", "socks:"];

/**
 * Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, lower case before upper case as curl does. Undefined if no proxy is
 * named. Throws ConfigurationError naming a variable that holds no proxy URL; its value may hold a password and is not
 * shown.
 */
export function getProxySettings(environment: Environment): ProxySettings | undefined {
  const httpProxy = readProxy(environment, "HTTP_PROXY");
  const httpsProxy = readProxy(environment, "HTTPS_PROXY");
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  return {
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
    noProxy: readVariable(environment, "NO_PROXY"),
  };
}

function readProxy(environment: Environment, name: string): string | undefined {
  const value = readVariable(environment, name);
  if (value === "") return undefined;
  const url = URL.parse(value);
  if (url !== null && SCHEMES.includes(url.protocol)) return value;
  throw new ConfigurationError(`${name} is not a proxy URL; expected one like http://proxy.example.com:3128`);
}

function readVariable(environment: Environment, name: string): string {
  return environment[name.toLowerCase()] ?? environment[name] ?? "";
}
