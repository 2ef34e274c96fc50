/** The configuration of MCP servers. */
import type { ConnectionTls } from "../../kit/http/transport.ts";

/** A server of the configuration. */
export interface ConfiguredMcpServer {
  readonly url: string;
  /** Headers of every request to the server. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the TLS of the next connection. Default: public authorities, and no certificate. */
  readonly tls?: (() => ConnectionTls) | undefined;
  /** The current access token, sent as `authorization: Bearer`. Rejects with SDKError if it cannot be read. */
  readonly token?: () => Promise<string>;
}

/** The default limits. */
export const DEFAULT_MCP_LIMITS = {
  /** Time to connect to a server and list its tools, in milliseconds. */
  listMs: 30_000,
  /** Time of one call, in milliseconds. */
  callMs: 120_000,
  /** Maximum number of tools of one server in a run. With more, models choose badly. */
  maxTools: 256,
  /** Bytes of the names, descriptions and schemas of one server's tools. */
  maxListingBytes: 1024 * 1024,
  /** Bytes of one HTTP answer of a server, and so of a result: images travel in results. */
  maxAnswerBytes: 16 * 1024 * 1024,
  /** JSON values of one answer: parsed, a value of three bytes takes many times that. */
  maxAnswerValues: 100_000,
};

/** Limits on the MCP servers of a run. */
export type McpLimits = Readonly<typeof DEFAULT_MCP_LIMITS>;

/** Which MCP servers runs may use, and how. */
export interface McpSettings {
  /** Servers that a run names by their label alone. */
  readonly servers: ReadonlyMap<string, ConfiguredMcpServer>;
  /** Addresses that callers may give themselves. */
  readonly allowedUrls: readonly AddressPattern[];
  /** Limits; those left out keep their defaults. */
  readonly limits?: Partial<McpLimits> | undefined;
  /** Connects only to this machine and to private networks, and to no proxy. Default false. */
  readonly localOnly?: boolean | undefined;
  /** Environment with the proxy variables. Defaults to `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Addresses of one origin, or of all hosts below a domain. */
export interface AddressPattern {
  readonly protocol: string;
  /** In lower case. Begins with a dot if the pattern allows all hosts below a domain. */
  readonly host: string;
  /** Empty for the port of the scheme. */
  readonly port: string;
}

const PATTERN = /^(https?):\/\/(\*\.)?([^/*?#@\s]+)\/?$/i;

/** A domain of at least two labels that is not an IP address: `*.com` would be half the internet. */
const DOMAIN = /^[^.]+\..*[a-z]$/;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

/**
 * Reads `https://mcp.example.com`, `https://mcp.example.com:8443`, `https://*.example.com` or, for servers alongside
 * the sidecar, `http://127.0.0.1:8080`. Undefined if a text is none of these.
 */
export function parseAddressPattern(text: string): AddressPattern | undefined {
  const [, scheme = "", wildcard = "", authority = ""] = PATTERN.exec(text) ?? [];
  const url = URL.parse(`${scheme}://${authority}`);
  if (url === null) return undefined;
  const { protocol, hostname, port } = url;
  if (wildcard !== "")
    return protocol === "https:" && DOMAIN.test(hostname)
      ? { protocol, host: `.${hostname}`, port }
      : undefined;
  return protocol === "https:" || LOOPBACK.test(hostname) ? { protocol, host: hostname, port } : undefined;
}

/** Reports whether a pattern allows an address. */
export function allowsAddress(pattern: AddressPattern, { protocol, hostname, port }: URL): boolean {
  if (protocol !== pattern.protocol || port !== pattern.port) return false;
  return pattern.host.startsWith(".") ? hostname.endsWith(pattern.host) : hostname === pattern.host;
}
