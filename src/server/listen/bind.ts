import { chmod, lstat, unlink } from "node:fs/promises";
import { connect, type Server } from "node:net";
import type { ConfigurationError } from "../../core/errors.ts";
import { addressError, formatAddress, type ListenAddress } from "./address.ts";

/** Options for binding an address. */
export interface BindOptions {
  /** Name of the setting, for the error. */
  readonly field: string;
  /** Permissions of a Unix socket. Default 0660: the owner and the group may connect. */
  readonly unixSocketMode?: number | undefined;
}

/**
 * Makes a server listen.
 * @returns The bound address, with its real port.
 * @throws ConfigurationError that names the address and says what to do.
 */
export async function bind(
  server: Server,
  address: ListenAddress,
  { field, unixSocketMode = DEFAULT_SOCKET_MODE }: BindOptions,
): Promise<string> {
  if (address.kind === "unix") await removeStaleSocket(address.path, field);
  try {
    await listen(server, address);
  } catch (error) {
    throw bindError(address, field, error);
  }
  // On Linux, everyone who may write to the socket may connect.
  if (address.kind === "unix") await chmod(address.path, unixSocketMode);
  return boundAddress(server, address);
}

const BACKLOG = 1024;
const DEFAULT_SOCKET_MODE = 0o660;

function listen(server: Server, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...toTarget(address), backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function toTarget(address: ListenAddress): { path: string } | { port: number; host?: string } {
  if (address.kind === "unix") return { path: address.path };
  return { port: address.port, ...(address.host === undefined ? {} : { host: address.host }) };
}

function boundAddress(server: Server, address: ListenAddress): string {
  const bound = server.address();
  if (bound === null || typeof bound === "string") return formatAddress(address);
  return formatAddress({ kind: "tcp", host: bound.address, port: bound.port });
}

function bindError(address: ListenAddress, field: string, error: unknown): ConfigurationError {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return addressError(
    field,
    formatAddress(address),
    `cannot be bound (${code}): ${getAdvice(code, address)}`,
    error,
  );
}

function getAdvice(code: string, { kind }: ListenAddress): string {
  // Node also reports a missing socket directory as EACCES.
  if (kind === "unix") return "its directory must exist and be writable for this process";
  switch (code) {
    case "EADDRINUSE":
      return "another process is listening there; stop it, or choose another port (0 for a free port)";
    case "EACCES":
    case "EPERM":
      return "this process is not allowed to bind that port; choose one from 1024";
    case "EADDRNOTAVAIL":
      return "this machine does not have the address; choose one of its addresses, or :<port> for all of them";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host name does not resolve; check its spelling or give an IP address";
    default:
      return "choose another address";
  }
}

/**
 * Removes a socket file that no process listens on, such as one left behind by a killed process. Leaves other files
 * alone.
 * @param field Name of the setting, for the error.
 * @throws ConfigurationError if the path holds another kind of file, or a socket that is in use.
 */
async function removeStaleSocket(path: string, field: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  const address = formatAddress({ kind: "unix", path });
  if (!found.isSocket()) {
    throw addressError(field, address, "exists and is not a socket; remove it or choose another path");
  }
  if (await isAnswered(path)) {
    throw addressError(field, address, "is in use by another process; stop it or choose another path");
  }
  await unlink(path);
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => settle(true));
    // Refused: no process listens. After other failures (no permission, a full queue) a process may be listening.
    socket.once("error", (error: NodeJS.ErrnoException) => settle(error.code !== "ECONNREFUSED"));
  });
}
