import type { Config } from "../config/index.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isLocalSetting } from "../server/listen/address.ts";

/** Checks that a configuration has a provider and does not open it to everyone. @throws ConfigurationError */
export function checkSetup(config: Config): void {
  if (config.client.providers.size === 0) throw noProvider(config.client.remedy);
  checkNetwork(config);
}

/**
 * Rejects an address that is reachable from the network if nothing authenticates callers: that must be a decision, not
 * an accident.
 * @throws ConfigurationError
 */
function checkNetwork({ access, listeners }: Config): void {
  if (access.keys !== undefined || access.issuers !== undefined || access.allowUnauthenticated) return;
  if (listeners.data.tls?.clientCertificates === "required") return;
  const open = listeners.data.addresses.filter((address) => !isLocalSetting(address));
  if (open.length === 0) return;
  const risk =
    "any client that reaches it could use the providers' keys, because no access keys or tokens are configured";
  throw new ConfigurationError(`listen: ${open.join(", ")} is open to the network: ${risk}.\n${ADVICE}`);
}

const ADVICE =
  "Name a file with keys in access_keys_file (OUTRIGGER_ACCESS_KEYS_FILE), an issuer of tokens in jwt, listen on 127.0.0.1 or a Unix socket, or,\n" +
  "if the network itself restricts who can call, set allow_unauthenticated: true (OUTRIGGER_ALLOW_UNAUTHENTICATED=true).";

function noProvider(remedy: string): ConfigurationError {
  const advice = 'Name one in a configuration file, or try "outrigger demo", which needs no key.';
  return new ConfigurationError(`no provider is configured. ${remedy}\n${advice}`);
}
