import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type InvalidRequestError, invalidField } from "../../core/errors.ts";

/** The places from which a media reader may read. */
export interface MediaReaderOptions {
  /** Folders whose files may be read. Empty: none, which is the right setting for a sidecar. */
  readonly allowFilesUnder: readonly string[];
  /** Largest file, in bytes. Defaults to 32 MiB, the limit of a whole request. */
  readonly maxBytes?: number | undefined;
}

/** Reads files that a request names, within bounds. */
export interface MediaReader {
  /**
   * Reads a file. Throws InvalidRequestError naming `fieldPath` if reading is off, the file is not under an allowed
   * folder once `..` and symbolic links are resolved, is not a regular file, is empty or is too large. Does not reveal
   * whether a file outside exists.
   *
   * @param path A path by `isLocalPath`.
   * @param reserve Called with the size of the file before it is read; its errors are thrown.
   */
  read(path: string, fieldPath: string, reserve?: (bytes: number) => void): Promise<Buffer>;
}

/** Default maximum size of one source in bytes. */
export const DEFAULT_MAX_MEDIA_BYTES = 32 * 1024 * 1024;

/** Maximum length of a path on Linux. */
const LONGEST_PATH = 4096;

/** Reports whether the `url` of a source is a path on this machine: it begins with `/`, `./`, `../`, `~` or `file:`. */
export function isLocalPath(url: string): boolean {
  return /^(\/|\.{1,2}\/|~|file:)/i.test(url);
}

/**
 * Creates a reader of the files under some folders, so that a caller cannot read the container's secrets. The real path
 * of the open file is checked, so that a link that changes between a check and the opening has no effect.
 */
export function createMediaReader({
  allowFilesUnder,
  maxBytes = DEFAULT_MAX_MEDIA_BYTES,
}: MediaReaderOptions): MediaReader {
  const roots = allowFilesUnder.map((root) => resolve(root));
  return {
    async read(path, fieldPath, reserve = () => {}) {
      if (roots.length === 0) {
        throw invalidField(
          fieldPath,
          `is a path on this machine, and reading files is not allowed; set ${SETTINGS} to allow folders`,
        );
      }
      const absolute = checkAbsolutePath(path, fieldPath);
      const real = await resolveRealPaths(roots);
      if (!isUnder([...roots, ...real], absolute)) throw outside(fieldPath);
      const handle = await openUnder(real, absolute, fieldPath);
      try {
        return await readWhole(handle, await getSize(handle, maxBytes, fieldPath), reserve);
      } finally {
        await handle.close();
      }
    },
  };
}

function checkAbsolutePath(path: string, fieldPath: string): string {
  if (path.length > LONGEST_PATH) {
    throw invalidField(
      fieldPath,
      `is ${path.length} characters long, too long for a path; base64 belongs in data or a data: URI`,
    );
  }
  if (path.includes("\0")) throw invalidField(fieldPath, "is a path with a NUL character");
  if (/^file:/i.test(path)) return toFilePath(path, fieldPath);
  if (!path.startsWith("~")) return resolve(path);
  if (path !== "~" && !path.startsWith("~/")) {
    throw invalidField(fieldPath, "names the home folder of another user; expected ~/ for the current user");
  }
  return resolve(homedir(), path.slice(2));
}

function toFilePath(url: string, fieldPath: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw invalidField(fieldPath, "is a malformed file: URL; expected one like file:///folder/picture.png");
  }
}

/** Roots may be links themselves, and may change while the process runs. */
async function resolveRealPaths(roots: readonly string[]): Promise<string[]> {
  const paths = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return paths.filter((path) => path !== undefined);
}

function isUnder(roots: readonly string[], path: string): boolean {
  return roots.some((root) => path.startsWith(root.endsWith(sep) ? root : root + sep));
}

async function openUnder(roots: readonly string[], path: string, fieldPath: string): Promise<FileHandle> {
  const real = await realpath(path).catch((error: unknown) => unreadable(error, fieldPath));
  if (!isUnder(roots, real)) throw outside(fieldPath);
  // Opens neither a device, which would block, nor a link that has replaced the file since.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(real, flags).catch((error: unknown) => unreadable(error, fieldPath));
  const opened = await findOpenedPath(handle, real);
  if (opened !== undefined && isUnder(roots, opened)) return handle;
  await handle.close();
  throw outside(fieldPath);
}

async function getSize(handle: FileHandle, maxBytes: number, fieldPath: string): Promise<number> {
  const facts = await handle.stat();
  if (!facts.isFile()) throw invalidField(fieldPath, "is not a regular file");
  if (facts.size === 0) throw invalidField(fieldPath, "is an empty file");
  if (facts.size > maxBytes) {
    throw invalidField(fieldPath, `is a file of ${facts.size} bytes; at most ${maxBytes} are allowed`);
  }
  return facts.size;
}

async function readWhole(
  handle: FileHandle,
  size: number,
  reserve: (bytes: number) => void,
): Promise<Buffer> {
  reserve(size);
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = (await handle.read(bytes, length, bytes.length - length, length)).bytesRead;
  }
  return bytes.subarray(0, length);
}

const SETTINGS = "media.allow_files_under (in the library the option allowFilesUnder)";

function outside(fieldPath: string): InvalidRequestError {
  return invalidField(fieldPath, `is a path outside the folders that ${SETTINGS} names`);
}

function unreadable(error: unknown, fieldPath: string): never {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  throw invalidField(
    fieldPath,
    code === "ENOENT" ? "is a file that does not exist" : `cannot be read (${code})`,
  );
}

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
