/** Images, sounds and documents -> `inlineData` and `fileData` parts (provider documentation: "Part", "Media understanding"). */

import { invalidField } from "../../core/errors.ts";
import type { Audio, Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { Media, ResolvedMedia } from "../../kit/media/media.ts";
import type { Part } from "./wire.ts";

/** A part that has a source. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "audio"; readonly value: Audio }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (media: Media, field: string) => Promise<ResolvedMedia>;

/** What the translation of media needs. */
export interface MediaContext {
  readonly media: MediaSource;
  readonly loss: LossReport;
  /** Whether the model takes a resolution for each part, as models do since Gemini 3. */
  readonly takesResolution: boolean;
}

/** A part with a source as the API takes it. Throws InvalidRequestError where it takes no such image or sound. */
export async function mediaPart(part: MediaPart, field: string, context: MediaContext): Promise<Part> {
  const media = await context.media(part.value, field);
  checkType(part.case, media.mediaType, field);
  if (part.case === "document" && part.value.fileName !== "") {
    const message = "the Gemini API takes no names of documents; it was left out";
    context.loss.lose(`${field}.file_name`, "unsupported_setting", message);
  }
  return { ...dataOf(media), ...(part.case === "image" ? resolution(part.value, field, context) : {}) };
}

function dataOf(media: ResolvedMedia): Part {
  if (media.kind === "data") return { inlineData: { mimeType: media.mediaType, data: media.base64 } };
  const fileUri = media.kind === "url" ? media.url : fileUriOf(media.id);
  return { fileData: { ...(media.mediaType === "" ? {} : { mimeType: media.mediaType }), fileUri } };
}

/** Files go by their URI; their name alone (`files/abc`) is what the Files API calls them. */
function fileUriOf(id: string): string {
  if (/^[a-z]+:/i.test(id)) return id;
  return `${FILES}/${id.startsWith("files/") ? id : `files/${id}`}`;
}

// URIs of files name this host, also where requests go through another.
const FILES = "https://generativelanguage.googleapis.com/v1beta";

function checkType(kind: MediaPart["case"], mediaType: string, field: string): void {
  const [type = ""] = mediaType.toLowerCase().split(";");
  const isTaken = kind === "image" ? IMAGE_TYPES.has(type) : kind === "document" || type.startsWith("audio/");
  if (mediaType === "" || isTaken) return;
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

/** How closely the model looks, in the API's words where there are such. */
function resolution({ detail }: Image, field: string, { loss, takesResolution }: MediaContext): JsonObject {
  const level = LEVELS.get(detail) ?? detail;
  if (level === "") return {};
  if (takesResolution) return { mediaResolution: { level } };
  const message = "the model takes no resolution for a single image; it was left out";
  loss.lose(`${field}.detail`, "unsupported_setting", message);
  return {};
}

const LEVELS: ReadonlyMap<string, string> = new Map([
  ["auto", ""],
  ["low", "MEDIA_RESOLUTION_LOW"],
  ["medium", "MEDIA_RESOLUTION_MEDIUM"],
  ["high", "MEDIA_RESOLUTION_HIGH"],
]);
