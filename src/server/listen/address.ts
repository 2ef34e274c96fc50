import { ConfigurationError } from "../../core/errors.ts";

/** The address of a listener. */
export type ListenAddress =
  | { readonly kind: "tcp"; readonly host: string | undefined; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/**
 * Reads an address: `127.0.0.1:6190`, `localhost:6190`, `[::1]:0`, `:6190` (all interfaces) or
 * `unix:///run/outrigger.sock`. Port 0 takes a free one.
 * @param field Name of the setting, for the error.
 * @throws ConfigurationError
 */
export function parseAddress(text: string, field: string): ListenAddress {
  if (text.startsWith("unix:")) return { kind: "unix", path: parsePath(text, field) };
  const match = TCP_ADDRESS.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > MAX_PORT) throw invalidAddress(text, field);
  return { kind: "tcp", host: match[1] ?? match[2], port };
}

/** Formats an address as `parseAddress` reads it. */
export function formatAddress(address: ListenAddress): string {
  if (address.kind === "unix") return `unix://${address.path}`;
  const host = address.host ?? "";
  return `${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

/** Reports whether a bound address can be reached only from this machine (in a pod: from the pod). */
export function isLocal(bound: string): boolean {
  return /^(?:unix:|127\.|\[::1\]:)/.test(bound);
}

/**
 * Reports whether an address that `parseAddress` reads belongs to this machine alone. A name other than `localhost`
 * does not.
 */
export function isLocalSetting(text: string): boolean {
  return isLocal(text) || /^localhost:/i.test(text);
}

/** Creates the error of an unusable address: it names the setting and what was found, and says what to do. */
export function addressError(
  field: string,
  address: string,
  problem: string,
  cause?: unknown,
): ConfigurationError {
  const description = `${address} ${problem}`;
  return new ConfigurationError(`${field}: ${description}`, { cause, violations: [{ field, description }] });
}

const TCP_ADDRESS = /^(?:\[([0-9A-Za-z:.%]+)\]|([A-Za-z0-9._-]+))?:([0-9]{1,5})$/;
const MAX_PORT = 65_535;
// The longest path that the kernel's sockaddr_un holds on Linux, without the closing zero.
const MAX_PATH_BYTES = 107;

function parsePath(text: string, field: string): string {
  const path = text.replace(/^unix:(\/\/)?/, "");
  if (!path.startsWith("/")) throw invalidAddress(text, field);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  throw addressError(field, text, `is too long: a socket's path may have ${MAX_PATH_BYTES} bytes`);
}

function invalidAddress(text: string, field: string): ConfigurationError {
  const expected = "127.0.0.1:6190, [::1]:6190, :6190 or unix:///run/outrigger.sock";
  return addressError(field, JSON.stringify(text), `is not an address; expected one like ${expected}`);
}
