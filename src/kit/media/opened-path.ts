import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

/** Folder with links to the open files of the process, on Linux. */
const DESCRIPTORS = "/proc/self/fd";

/**
 * Returns the real path of an open file. Linux gives it exactly; elsewhere it is the path by which the file was opened,
 * if that leads to the same file without links. Undefined if it does not.
 */
export async function findOpenedPath(
  handle: FileHandle,
  path: string,
  descriptors: string = DESCRIPTORS,
): Promise<string | undefined> {
  const resolved = await readlink(join(descriptors, String(handle.fd))).catch(() => undefined);
  return resolved ?? (await findSamePath(handle, path).catch(() => undefined));
}

async function findSamePath(handle: FileHandle, path: string): Promise<string | undefined> {
  const [opened, found, real] = await Promise.all([handle.stat(), stat(path), realpath(path)]);
  return opened.dev === found.dev && opened.ino === found.ino ? real : undefined;
}
