import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

/** Where Linux shows the files that a process has open, as links. */
const DESCRIPTORS = "/proc/self/fd";

/**
 * The real path of an open file. Linux tells it exactly; elsewhere it is the path through which
 * the file was opened, if that leads without links to the very same file. Undefined where it
 * does not.
 */
export async function openedPathOf(
  handle: FileHandle,
  path: string,
  descriptors: string = DESCRIPTORS,
): Promise<string | undefined> {
  const told = await readlink(join(descriptors, String(handle.fd))).catch(() => undefined);
  return told ?? (await samePathOf(handle, path).catch(() => undefined));
}

async function samePathOf(handle: FileHandle, path: string): Promise<string | undefined> {
  const [opened, found, real] = await Promise.all([handle.stat(), stat(path), realpath(path)]);
  return opened.dev === found.dev && opened.ino === found.ino ? real : undefined;
}
