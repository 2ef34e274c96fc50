import { chmod, lstat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { addressError, formatAddress } from "./address.ts";

/**
 * Removes a socket file that no process answers, which a killed process leaves behind. Other files are left alone.
 * @param field Name of the setting, for the error.
 * @throws ConfigurationError if the path holds another kind of file, or a socket that is in use.
 */
export async function removeStaleSocket(path: string, field: string): Promise<void> {
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

/** Sets who may connect: on Linux, everyone who may write to the socket. */
export async function setSocketMode(path: string, mode: number): Promise<void> {
  await chmod(path, mode);
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
