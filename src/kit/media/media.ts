/** Reads the images, audio clips and documents of a request, for all adapters. */

import { invalidField } from "../../core/errors.ts";
import type { Audio, Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import { encodeBase64, isDataUri, parseDataUri } from "./data-uri.ts";
import { createMediaReader, DEFAULT_MAX_MEDIA_BYTES, isLocalPath, type MediaReader } from "./media-reader.ts";
import { detectMediaType, guessMediaType, isMediaType } from "./media-type.ts";

export { formatDataUri } from "./data-uri.ts";
export { createMediaReader, type MediaReader } from "./media-reader.ts";

/** A part that has a source. */
export type Media = Image | Audio | Document;

/** A source in a form that can be sent to a provider. */
export type ResolvedMedia =
  /** An http: or https: URL as the caller wrote it. The media type is empty if neither field nor extension give it. */
  | { readonly kind: "url"; readonly url: string; readonly mediaType: string }
  /** Bytes, in standard base64. The media type is never empty. */
  | { readonly kind: "data"; readonly base64: string; readonly mediaType: string }
  /** A file that was uploaded to the provider. The media type is the field's, and may be empty. */
  | { readonly kind: "file_id"; readonly id: string; readonly mediaType: string };

/** Options for reading sources. */
export interface MediaOptions {
  /** Reads paths. Defaults to a reader that rejects all paths. */
  readonly reader?: MediaReader | undefined;
  /** Maximum size of one source in bytes. Defaults to 32 MiB, the limit of a whole request. */
  readonly maxBytes?: number | undefined;
}

const REFUSING_READER = createMediaReader({ allowFilesUnder: [] });

/** Default media types of bytes (see message.proto). Audio has none: the caller must name it. */
const DEFAULT_TYPES: Readonly<Record<Media["$typeName"], string | undefined>> = {
  "outrigger.v1.Image": "image/png",
  "outrigger.v1.Document": "application/pdf",
  "outrigger.v1.Audio": undefined,
};

/**
 * Turns a source into a form that can be sent to a provider: URLs stay, data: URIs and bytes become base64, files are
 * read if the configuration allows it (a path on this machine is not a URL). The media type comes from the field, else
 * from the data: URI or the file's extension or first bytes, else it is the default of the part.
 *
 * @param fieldPath Path of the part, for instance `messages[0].content[1].image`.
 * @throws InvalidRequestError naming the field and what was expected.
 */
export async function resolveMedia(
  media: Media,
  options: MediaOptions,
  fieldPath: string,
): Promise<ResolvedMedia> {
  const { source, mediaType } = media;
  if (mediaType !== "" && !isMediaType(mediaType)) {
    throw invalidField(`${fieldPath}.media_type`, "is not a media type; expected one like image/png");
  }
  switch (source.case) {
    case "url":
      return resolveUrl(media, source.value, options, fieldPath);
    case "data":
      return resolveBytes(media, source.value, options, fieldPath);
    case "fileId":
      if (source.value === "") throw invalidField(`${fieldPath}.file_id`, "is empty");
      return { kind: "file_id", id: source.value, mediaType };
    default:
      throw invalidField(fieldPath, "has no source; expected one of url, data and file_id");
  }
}

async function resolveUrl(
  media: Media,
  url: string,
  { reader = REFUSING_READER, maxBytes = DEFAULT_MAX_MEDIA_BYTES }: MediaOptions,
  fieldPath: string,
): Promise<ResolvedMedia> {
  const urlPath = `${fieldPath}.url`;
  if (isDataUri(url)) {
    const { mediaType, base64 } = parseDataUri(url, maxBytes, urlPath);
    return { kind: "data", base64, mediaType: getMediaType(media, mediaType, fieldPath) };
  }
  if (isLocalPath(url)) {
    const bytes = await reader.read(url, urlPath);
    const inferred = guessMediaType(url) ?? detectMediaType(bytes);
    return { kind: "data", base64: encodeBase64(bytes), mediaType: getFileType(media, inferred, fieldPath) };
  }
  const { pathname } = checkWebUrl(url, urlPath);
  return { kind: "url", url, mediaType: media.mediaType || (guessMediaType(pathname) ?? "") };
}

function resolveBytes(
  media: Media,
  bytes: Uint8Array,
  { maxBytes = DEFAULT_MAX_MEDIA_BYTES }: MediaOptions,
  fieldPath: string,
): ResolvedMedia {
  if (bytes.byteLength === 0) throw invalidField(`${fieldPath}.data`, "is empty");
  if (bytes.byteLength > maxBytes) {
    throw invalidField(`${fieldPath}.data`, `has ${bytes.byteLength} bytes; at most ${maxBytes} are allowed`);
  }
  return { kind: "data", base64: encodeBase64(bytes), mediaType: getMediaType(media, "", fieldPath) };
}

function checkWebUrl(url: string, fieldPath: string): URL {
  const expected = "expected an https: or data: URL, or a path that begins with /, ./ or ~";
  const parsed = URL.parse(url);
  if (parsed === null) throw invalidField(fieldPath, `is not a URL; ${expected}`);
  if (parsed.protocol === "https:" || parsed.protocol === "http:") return parsed;
  throw invalidField(fieldPath, `has the scheme ${parsed.protocol.slice(0, 20)}; ${expected}`);
}

/** Returns the field's media type, else the one of the data, else the default of the part. */
function getMediaType(media: Media, known: string, fieldPath: string): string {
  const mediaType = media.mediaType || known || DEFAULT_TYPES[media.$typeName];
  if (mediaType !== undefined) return mediaType;
  throw invalidField(`${fieldPath}.media_type`, "is empty; expected one like audio/wav");
}

/** Returns the field's media type, else the one of the file. No default: a wrong guess would be worse than none. */
function getFileType(media: Media, inferred: string | undefined, fieldPath: string): string {
  const mediaType = media.mediaType || inferred;
  if (mediaType !== undefined) return mediaType;
  throw invalidField(
    `${fieldPath}.media_type`,
    "is empty, and neither the file's name nor its first bytes show the type",
  );
}
