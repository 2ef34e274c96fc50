/**
 * Decides which host names a server accepts. By DNS rebinding, a page of any site can send requests to a server
 * that the browser can reach, under the name of that site, and read the answers: to the browser they have the same
 * origin, so a GET carries no `Origin`. But its `Host` header then has the site's name.
 */
import { isIP } from "node:net";
import { hostname } from "node:os";
import { TLSSocket } from "node:tls";
import type { HttpRequest } from "../base/http-types.ts";

/** Reports whether a request may be served, by the name in its `Host` header. */
export type HostCheck = (request: HttpRequest) => boolean;

/**
 * Allows names that cannot belong to a foreign site: IP addresses (probes, Prometheus), names without a dot (services
 * of Docker Compose and of a pod's namespace), names that public DNS does not have, the name of this machine and the
 * hosts of the listen addresses. Other names have to be configured. HTTP/2 is not checked, since browsers do not speak
 * it without TLS: gRPC clients may send any authority. Nor are Unix sockets, which no browser reaches, and connections
 * with TLS, whose certificate is not valid for a foreign name.
 * @param allowed Further names: `api.example.com`, `*.example.com` for all names below, `*` for all.
 * @param addresses The listen addresses, whose hosts are allowed.
 */
export function createHostCheck(allowed: readonly string[], addresses: readonly string[]): HostCheck {
  const names = new Set(
    [...allowed, ...addresses.map(getHostName), hostname()].map((name) => name.toLowerCase()),
  );
  const suffixes = [...names].filter((name) => name.startsWith("*.")).map((name) => name.slice(1));
  return ({ httpVersionMajor, headers: { host }, socket }) => {
    if (httpVersionMajor !== 1 || host === undefined || names.has("*") || socket instanceof TLSSocket)
      return true;
    const name = getHostName(host.toLowerCase()).replace(/\.$/, "");
    if (isPrivateHost(name) || names.has(name) || socket.remoteAddress === undefined) return true;
    return suffixes.some((suffix) => name.endsWith(suffix));
  };
}

/** Returns the host of `host:port`. */
function getHostName(address: string): string {
  return address.replace(/:\d*$/, "");
}

function isPrivateHost(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, "")) !== 0 || !host.includes(".") || NOT_PUBLIC.test(host);
}

// Reserved names (RFC 6761, and by ICANN for private use), and the names of Kubernetes services.
const NOT_PUBLIC = /\.(?:localhost|internal|svc|cluster\.local)$/;
