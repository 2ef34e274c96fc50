/** Images, audio and documents -> `inlineData` and `fileData` parts (provider documentation: "Part"). */

import { invalidField } from "../../core/errors.ts";
import type { Audio, Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { Media, ResolvedMedia } from "../../kit/media/media.ts";
import type { Part } from "../../wire/gemini/request.ts";

/** A part that has a source. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "audio"; readonly value: Audio }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (media: Media, field: string) => Promise<ResolvedMedia>;

/** The context for translating media. */
export interface MediaContext {
  readonly media: MediaSource;
  readonly loss: LossReport;
  /** Whether the model accepts a resolution for each part, as models do since Gemini 3. */
  readonly acceptsResolution: boolean;
}

/** Converts a part with a source. Throws InvalidRequestError if the API does not accept the media type. */
export async function toMediaPart(part: MediaPart, field: string, context: MediaContext): Promise<Part> {
  const media = await context.media(part.value, field);
  checkType(part.case, media.mediaType, field);
  if (part.case === "document" && part.value.fileName !== "") {
    const message = "the Gemini API does not support file names of documents; it was left out";
    context.loss.lose(`${field}.file_name`, "unsupported_setting", message);
  }
  return { ...toData(media), ...(part.case === "image" ? resolution(part.value, field, context) : {}) };
}

function toData(media: ResolvedMedia): Part {
  if (media.kind === "data") return { inlineData: { mimeType: media.mediaType, data: media.base64 } };
  const fileUri = media.kind === "url" ? media.url : toFileUri(media.id);
  return { fileData: { ...(media.mediaType === "" ? {} : { mimeType: media.mediaType }), fileUri } };
}

/** Returns the URI of a file, which the API requires; the Files API also gives a name (`files/abc`). */
function toFileUri(id: string): string {
  if (/^[a-z]+:/i.test(id)) return id;
  return `${FILES_BASE_URL}/${id.startsWith("files/") ? id : `files/${id}`}`;
}

// URIs of files name this host, even if requests are sent to another one.
const FILES_BASE_URL = "https://generativelanguage.googleapis.com/v1beta";

function checkType(kind: MediaPart["case"], mediaType: string, field: string): void {
  const [type = ""] = mediaType.toLowerCase().split(";");
  const isSupported =
    kind === "image" ? IMAGE_TYPES.has(type) : kind === "document" || type.startsWith("audio/");
  if (mediaType === "" || isSupported) return;
  const expected = kind === "image" ? [...IMAGE_TYPES].join(", ") : "one like audio/wav";
  throw invalidField(`${field}.media_type`, `expected ${expected}, found ${type}`);
}

const IMAGE_TYPES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/heic",
  "image/heif",
]);

/** Returns the resolution at which the model reads an image. Unknown values of `detail` are passed on. */
function resolution(
  { detail }: Image,
  field: string,
  { loss, acceptsResolution }: MediaContext,
): Pick<Part, "mediaResolution"> {
  const level = LEVELS.get(detail) ?? detail;
  if (level === "") return {};
  if (acceptsResolution) return { mediaResolution: { level } };
  const message = "the model does not support a resolution per image; it was left out";
  loss.lose(`${field}.detail`, "unsupported_setting", message);
  return {};
}

const LEVELS: ReadonlyMap<string, string> = new Map([
  ["auto", ""],
  ["low", "MEDIA_RESOLUTION_LOW"],
  ["medium", "MEDIA_RESOLUTION_MEDIUM"],
  ["high", "MEDIA_RESOLUTION_HIGH"],
]);
