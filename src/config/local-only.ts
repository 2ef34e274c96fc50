/** Restricts a configuration to providers on this machine and in private networks. */
import { lookup } from "node:dns/promises";
import { getBaseUrl, type ProviderSettings } from "../client/providers.ts";
import { addressInHost, isPrivateAddress } from "../kit/http/private-address.ts";
import { parseBaseUrl } from "../kit/http/transport.ts";

/** Finds the addresses of a name. Rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A connection target: its description for errors, and its address. */
export interface NamedAddress {
  readonly what: string;
  readonly baseUrl: string;
}

/** Lists the addresses of the providers. Programs have none. */
export function listAddresses(providers: ReadonlyMap<string, ProviderSettings>): NamedAddress[] {
  return [...providers].flatMap(([name, settings]) =>
    settings.api === "command" ? [] : [{ what: `provider ${name}`, baseUrl: getBaseUrl(settings) }],
  );
}

/**
 * Returns one line for each address that is not on this machine or in a private network. A name that cannot be resolved
 * counts as such an address, unless public DNS cannot have it: services of a cluster may start later, and each
 * connection is checked again.
 */
export async function findForeignAddresses(
  addresses: readonly NamedAddress[],
  resolve: Resolve = resolveByName,
): Promise<string[]> {
  const checks = addresses.map(async ({ what, baseUrl }) => {
    const { hostname } = parseBaseUrl(baseUrl);
    const problem = await toProblem(hostname, resolve);
    return problem === undefined ? [] : [`${what}: ${hostname} ${problem}`];
  });
  return (await Promise.all(checks)).flat();
}

async function toProblem(hostname: string, resolve: Resolve): Promise<string | undefined> {
  const literal = addressInHost(hostname);
  const addresses = literal === undefined ? await resolved(hostname, resolve) : [literal];
  if (addresses === undefined)
    return isPrivateName(hostname) ? undefined : "cannot be resolved, so its addresses cannot be checked";
  const foreign = addresses.find((address) => !isPrivateAddress(address));
  if (foreign === undefined) return undefined;
  const where = foreign === literal ? "" : ` (${foreign})`;
  return `is not on this machine or in a private network${where}, as local_only requires`;
}

async function resolved(hostname: string, resolve: Resolve): Promise<readonly string[] | undefined> {
  try {
    return await resolve(hostname);
  } catch {
    return undefined;
  }
}

async function resolveByName(hostname: string): Promise<string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

/**
 * Reports whether the host of a URL is an address or a name of this machine or a private network. Names are not
 * resolved.
 */
export function isPrivateHost(hostname: string): boolean {
  const address = addressInHost(hostname);
  return address === undefined ? isPrivateName(hostname) : isPrivateAddress(address);
}

/** Reports whether a name has no dot, belongs to a Kubernetes service, or is reserved (RFC 6761, RFC 6762, ICANN). */
function isPrivateName(hostname: string): boolean {
  return !hostname.includes(".") || /\.(?:svc|cluster\.local|local|localhost|internal)$/.test(hostname);
}
