/**
 * Images, sounds and documents as pieces of a content list (provider documentation: "Create chat
 * completion", `messages`).
 */

import { invalidField } from "../../core/errors.ts";
import type { Audio, Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import { formatDataUri, type Media, type ResolvedMedia } from "../../kit/media/media.ts";
import type { ServerProfile } from "./profile.ts";
import type { ContentChunk } from "./wire.ts";

/** A part that has a source. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "audio"; readonly value: Audio }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (media: Media, field: string) => Promise<ResolvedMedia>;

/**
 * A part with a source as the server takes it.
 * @param field Path of the part in the request.
 * @throws InvalidRequestError where the server takes no such part, or not in this form.
 */
export async function mediaChunk(
  part: MediaPart,
  field: string,
  source: MediaSource,
  profile: ServerProfile,
): Promise<ContentChunk> {
  switch (part.case) {
    case "image":
      return imageChunk(part.value, await source(part.value, field), field, profile);
    case "audio":
      return audioChunk(await source(part.value, field), field, profile);
    case "document":
      return documentChunk(part.value, await source(part.value, field), field, profile);
  }
}

function imageChunk(
  { detail }: Image,
  media: ResolvedMedia,
  field: string,
  { imageTypes }: ServerProfile,
): ContentChunk {
  if (media.kind === "file_id") throw unsupported(`${field}.file_id`, "images by id", "bytes or a URL");
  if (media.kind === "data" && imageTypes !== undefined && !imageTypes.includes(media.mediaType)) {
    const expected = imageTypes.join(", ");
    throw invalidField(`${field}.media_type`, `is ${media.mediaType}; the server takes ${expected}`);
  }
  return { type: "image_url", image_url: { url: urlOf(media), ...(detail === "" ? {} : { detail }) } };
}

function audioChunk(
  media: ResolvedMedia,
  field: string,
  { audioInput, audioFormats }: ServerProfile,
): ContentChunk {
  if (audioInput === "none") throw unsupported(field, "sounds", "the text of them");
  if (media.kind === "file_id") throw unsupported(`${field}.file_id`, "sounds by id", "their bytes");
  if (audioInput === "base64")
    return { type: "input_audio", input_audio: media.kind === "url" ? media.url : media.base64 };
  if (media.kind === "url") throw unsupported(`${field}.url`, "sounds by URL", "their bytes");
  const format = audioFormatOf(media.mediaType);
  if (audioFormats !== undefined && !audioFormats.includes(format)) {
    const expected = audioFormats.join(", ");
    throw invalidField(`${field}.media_type`, `is ${media.mediaType}; the server takes ${expected}`);
  }
  return { type: "input_audio", input_audio: { data: media.base64, format } };
}

/** The API's word for the format of a sound: the subtype, but for those with several names. */
function audioFormatOf(mediaType: string): string {
  const [, subtype = ""] = mediaType.toLowerCase().split(/[/;]/);
  return AUDIO_FORMATS.get(subtype) ?? subtype;
}

const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ["mpeg", "mp3"],
  ["x-wav", "wav"],
  ["wave", "wav"],
  ["vnd.wave", "wav"],
  ["mp4", "m4a"],
  ["x-m4a", "m4a"],
  ["x-aiff", "aiff"],
  ["x-flac", "flac"],
]);

function documentChunk(
  { fileName }: Document,
  media: ResolvedMedia,
  field: string,
  { documentInput }: ServerProfile,
): ContentChunk {
  switch (documentInput) {
    case "none":
      throw unsupported(field, "documents", "their text, or images of their pages");
    case "document_url":
      if (media.kind === "file_id") return { type: "file", file_id: media.id };
      return {
        type: "document_url",
        document_url: urlOf(media),
        ...(fileName === "" ? {} : { document_name: fileName }),
      };
    case "file_url":
      if (media.kind === "file_id")
        throw unsupported(`${field}.file_id`, "documents by id", "bytes or a URL");
      return {
        type: "file_url",
        file_url: { url: media.kind === "url" ? media.url : media.base64 },
        ...(fileName === "" ? {} : { file_name: fileName }),
      };
    default:
      return fileChunk(fileName, media, field, documentInput === "file_or_url");
  }
}

function fileChunk(fileName: string, media: ResolvedMedia, field: string, takesUrl: boolean): ContentChunk {
  if (media.kind === "file_id") return { type: "file", file: { file_id: media.id } };
  if (media.kind === "url" && !takesUrl)
    throw unsupported(`${field}.url`, "documents by URL", "bytes or the id of an uploaded file");
  // The API wants a name beside the bytes.
  return { type: "file", file: { filename: fileName || "document.pdf", file_data: urlOf(media) } };
}

function urlOf(media: Exclude<ResolvedMedia, { kind: "file_id" }>): string {
  return media.kind === "url" ? media.url : formatDataUri(media.mediaType, media.base64);
}

function unsupported(field: string, what: string, instead: string): Error {
  return invalidField(field, `the server takes no ${what}; send ${instead} instead`);
}
