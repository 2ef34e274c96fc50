/** Addresses of this machine and of its owner's networks. */
import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Code of the error for a name that resolves to no private address. */
export const NOT_PRIVATE = "ERR_NOT_PRIVATE";

/**
 * Reports whether an IP address belongs to this machine or a private network: loopback, RFC 1918, the shared space of
 * RFC 6598 (pods and overlay networks use it) and the unique local addresses of IPv6. Link-local addresses do not
 * count: clouds serve their metadata there, and nobody serves models there. False for a name.
 */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && PRIVATE.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** Returns the IP address in the host of a URL; undefined if the host is a name. */
export function addressInHost(hostname: string): string | undefined {
  const address = hostname.replace(/^\[|\]$/g, "");
  return isIP(address) === 0 ? undefined : address;
}

/**
 * Resolves a name for a connection, and returns only its private addresses. Earlier results do not count, so that a
 * change of the DNS cannot send a request elsewhere.
 */
export const lookupPrivate: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, "");
    const addresses = found.filter(({ address }) => isPrivateAddress(address));
    const [first] = addresses;
    if (first === undefined) return callback(notPrivate(hostname), "");
    if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

function notPrivate(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no private address`), { code: NOT_PRIVATE });
}

const PRIVATE = new BlockList();
PRIVATE.addSubnet("127.0.0.0", 8, "ipv4");
PRIVATE.addSubnet("10.0.0.0", 8, "ipv4");
PRIVATE.addSubnet("172.16.0.0", 12, "ipv4");
PRIVATE.addSubnet("192.168.0.0", 16, "ipv4");
PRIVATE.addSubnet("100.64.0.0", 10, "ipv4");
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addAddress("::1", "ipv6");
// Connecting to these addresses reaches this machine.
PRIVATE.addAddress("0.0.0.0", "ipv4");
PRIVATE.addAddress("::", "ipv6");
