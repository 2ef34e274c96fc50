/** What the configuration says about MCP servers. */
import type { AddressPattern } from "./address-pattern.ts";

/** A server of the configuration. */
export interface ConfiguredMcpServer {
  readonly url: string;
  /** Headers of every request to the server. */
  readonly headers: Readonly<Record<string, string>>;
  /** The access token of now, sent as `authorization: Bearer`. Rejects with SDKError if it cannot be read. */
  readonly token?: () => Promise<string>;
}

/** Limits of what MCP servers may cost. */
export interface McpLimits {
  /** Time to connect to a server and list its tools, in milliseconds. Default 30 seconds. */
  readonly listMs: number;
  /** Time of one call, in milliseconds. Default 120 seconds. */
  readonly callMs: number;
  /** Tools that one server may give to a run. Default 256. More make a model choose badly. */
  readonly maxTools: number;
  /** Bytes of the names, descriptions and schemas of one server's tools. Default 1 MiB. */
  readonly maxListingBytes: number;
  /** Bytes of one HTTP answer of a server, and so of a result. Default 16 MiB: images travel in results. */
  readonly maxAnswerBytes: number;
  /** JSON values of one answer: parsed, a value of three bytes takes many times that. Default 100,000. */
  readonly maxAnswerValues: number;
  /** Servers of one run. Default 16. */
  readonly maxServers: number;
}

/** The default limits. */
export const DEFAULT_MCP_LIMITS: McpLimits = {
  listMs: 30_000,
  callMs: 120_000,
  maxTools: 256,
  maxListingBytes: 1024 * 1024,
  maxAnswerBytes: 16 * 1024 * 1024,
  maxAnswerValues: 100_000,
  maxServers: 16,
};

/** Which MCP servers runs may use, and how. */
export interface McpSettings {
  /** Servers that a run names by their label alone. */
  readonly servers: ReadonlyMap<string, ConfiguredMcpServer>;
  /** Addresses that callers may give themselves. */
  readonly allowedUrls: readonly AddressPattern[];
  /** Limits; those left out keep their defaults. */
  readonly limits?: Partial<McpLimits> | undefined;
  /** Connects to this machine and to private networks alone, and to no proxy. Default false. */
  readonly localOnly?: boolean | undefined;
  /** Where the proxy variables are read. Defaults to `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}
