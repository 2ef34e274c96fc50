/** The addresses that callers may send the sidecar to. */

/** Addresses of one origin, or of all hosts below a domain. */
export interface AddressPattern {
  readonly protocol: string;
  /** Lower case. Begins with a dot if every host below it is meant. */
  readonly host: string;
  /** Empty for the port of the scheme. */
  readonly port: string;
}

const PATTERN = /^(https?):\/\/(\*\.)?([^/*?#@\s]+)\/?$/i;

/** A domain of at least two labels that is no IP address: `*.com` would be half the internet. */
const DOMAIN = /^[^.]+\..*[a-z]$/;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

/**
 * Reads `https://mcp.example.com`, `https://mcp.example.com:8443`, `https://*.example.com` or, for servers beside the
 * sidecar, `http://127.0.0.1:8080`. Undefined if a text is none of these.
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

/** Whether a pattern allows an address. */
export function allowsAddress(pattern: AddressPattern, { protocol, hostname, port }: URL): boolean {
  if (protocol !== pattern.protocol || port !== pattern.port) return false;
  return pattern.host.startsWith(".") ? hostname.endsWith(pattern.host) : hostname === pattern.host;
}
