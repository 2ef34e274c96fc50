/**
 * Finds the address and headers of a run's MCP servers, from the configuration and the request.
 */
import { quote, Violations } from "../../client/violations.ts";
import { InvalidRequestError, invalidField } from "../../core/errors.ts";
import type { McpServer } from "../../gen/outrigger/v1/run_pb.ts";
import { allowsAddress, type ConfiguredMcpServer, type McpSettings } from "./settings.ts";

/** A server whose address and headers have been checked. */
export interface McpEndpoint {
  readonly server: McpServer;
  readonly url: URL;
  /** Headers of every request, under lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Reads the access token that the configuration has for the server. */
  readonly token?: ConfiguredMcpServer["token"];
  /** The TLS that the configuration has for the server. */
  readonly tls?: ConfiguredMcpServer["tls"];
}

const LABEL = /^[A-Za-z0-9_-]{1,64}$/;

/** Longest address, and longest value of a header, in characters. */
const MAX_URL_CHARS = 2048;
const MAX_HEADER_CHARS = 16 * 1024;
const MAX_HEADERS = 64;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of the connection and of the protocol, which callers must not set. */
const RESERVED_HEADER =
  /^(?:accept|accept-encoding|connection|content-.*|expect|host|keep-alive|last-event-id|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

/**
 * Finds the addresses of a run's servers. Pure: nothing is sent.
 * @throws InvalidRequestError naming every server that is invalid or that the configuration does not allow.
 */
export function readEndpoints(servers: readonly McpServer[], settings: McpSettings): McpEndpoint[] {
  const labels = new Set<string>();
  const violations = new Violations();
  const endpoints = servers.flatMap((server, index) => {
    try {
      if (labels.has(server.serverLabel))
        throw invalidField(
          "server_label",
          `expected a unique label, found another ${quote(server.serverLabel)}`,
        );
      labels.add(server.serverLabel);
      return [readEndpoint(server, settings)];
    } catch (thrown) {
      if (!(thrown instanceof InvalidRequestError)) throw thrown;
      for (const { field, description } of thrown.violations)
        violations.add(`mcp_servers[${index}].${field}`, description);
      return [];
    }
  });
  violations.throwIfAny();
  return endpoints;
}

function readEndpoint(server: McpServer, settings: McpSettings): McpEndpoint {
  const { serverLabel: label, serverUrl } = server;
  if (!LABEL.test(label))
    throw invalidField("server_label", `expected at most 64 letters, digits, _ or -, found ${quote(label)}`);
  const headers = readHeaders(server);
  const configured = settings.servers.get(label);
  if (configured !== undefined && hasAddress(configured, serverUrl))
    return toConfiguredEndpoint(server, configured, headers);
  if (serverUrl === "")
    throw invalidField("server_url", `expected an address: mcp.servers has no server ${label}`);
  const url = serverUrl.length > MAX_URL_CHARS ? null : URL.parse(serverUrl);
  if (url === null) throw invalidField("server_url", "expected an https: address");
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw invalidField("server_url", "expected an address without user name, password and fragment");
  if (settings.allowedUrls.some((pattern) => allowsAddress(pattern, url))) return { server, url, headers };
  // The rest of the address may hold a key.
  const origin = `${url.protocol}//${url.host}`.slice(0, 200);
  const remedy = "add it to mcp.allow_urls, or the server to mcp.servers";
  throw invalidField("server_url", `the configuration does not allow ${origin}: ${remedy}`);
}

/** Reports whether the caller means the configured server: by its label alone, or by its address as well. */
function hasAddress({ url }: ConfiguredMcpServer, serverUrl: string): boolean {
  return serverUrl === "" || URL.parse(serverUrl)?.href === URL.parse(url)?.href;
}

/**
 * Returns the configured server with the caller's headers. A header that both set is refused: calls would silently use
 * the credentials of only one of them.
 */
function toConfiguredEndpoint(
  server: McpServer,
  { url, headers: configured, token, tls }: ConfiguredMcpServer,
  headers: Readonly<Record<string, string>>,
): McpEndpoint {
  const fixed = lowerCaseNames(configured);
  const isFixed = (name: string) =>
    Object.hasOwn(fixed, name) || (name === "authorization" && token !== undefined);
  const duplicate = Object.keys(headers).find(isFixed);
  if (duplicate !== undefined)
    throw invalidField("headers", `the configuration already sets ${duplicate} for this server`);
  return { server, url: new URL(url), headers: { ...headers, ...fixed }, token, tls };
}

function readHeaders({ headers: given, authorization }: McpServer): Record<string, string> {
  const headers = lowerCaseNames(given);
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS)
    throw invalidField("headers", `expected at most ${MAX_HEADERS}, found ${names.length}`);
  for (const name of names) {
    if (!HEADER_NAME.test(name))
      throw invalidField("headers", `expected names of headers, found ${quote(name)}`);
    if (RESERVED_HEADER.test(name)) throw invalidField("headers", `${name} cannot be set`);
    if (!isHeaderValue(headers[name])) throw invalidField("headers", `the value of ${name} cannot be sent`);
  }
  if (authorization === "") return headers;
  if (Object.hasOwn(headers, "authorization"))
    throw invalidField("authorization", "expected either this or the header, found both");
  if (!isHeaderValue(authorization)) throw invalidField("authorization", "its value cannot be sent");
  return { ...headers, authorization: `Bearer ${authorization}` };
}

function isHeaderValue(value = ""): boolean {
  return value.length <= MAX_HEADER_CHARS && HEADER_VALUE.test(value);
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
