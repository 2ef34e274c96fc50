import { invalidField } from "../../core/errors.ts";
import { type Media, type ResolvedMedia, resolveMedia } from "./media.ts";
import type { MediaReader } from "./media-reader.ts";

/** Default maximum of all files of a request in bytes: as much as a request without files may take. */
const DEFAULT_MAX_REQUEST_MEDIA_BYTES = 32 * 1024 * 1024;

/** Turns the sources of one request into forms that can be sent, see `resolveMedia`. */
export type RequestMedia = (media: Media, fieldPath: string) => Promise<ResolvedMedia>;

/**
 * Resolves the sources of one request. A request of a few bytes can name large files many times, and the provider's
 * body holds every copy: all copies together have a limit, and the same file is read once.
 * @param maxBytes Maximum of all files in bytes, each counted as often as the request names it.
 */
export function createRequestMedia(
  reader: MediaReader,
  maxBytes: number = DEFAULT_MAX_REQUEST_MEDIA_BYTES,
): RequestMedia {
  // Created for the first source: most requests have none.
  let readOnce: MediaReader | undefined;
  return (media, fieldPath) => {
    readOnce ??= createSharedReader(reader, maxBytes);
    return resolveMedia(media, { reader: readOnce }, fieldPath);
  };
}

function createSharedReader(reader: MediaReader, maxBytes: number): MediaReader {
  let remaining = maxBytes;
  const files = new Map<string, Promise<Buffer>>();
  const reserve = (bytes: number, fieldPath: string) => {
    remaining -= bytes;
    if (remaining >= 0) return;
    throw invalidField(
      fieldPath,
      `is a file of ${bytes} bytes; all files of a request together can have ${maxBytes} bytes, limits.max_request_media_bytes`,
    );
  };
  return {
    async read(path, fieldPath) {
      const known = files.get(path);
      if (known === undefined) {
        const file = reader.read(path, fieldPath, (bytes) => reserve(bytes, fieldPath));
        files.set(path, file);
        return file;
      }
      const bytes = await known;
      reserve(bytes.byteLength, fieldPath);
      return bytes;
    },
  };
}
