/**
 * Images, audio and documents as parts of a content list (provider documentation: "Create chat completion",
 * `messages`).
 */

import { invalidField } from "../../core/errors.ts";
import type { Audio, Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import { formatDataUri, type Media, type ResolvedMedia } from "../../kit/media/media.ts";
import type {
  ContentPartParam,
  FilePart,
  ImagePart,
  InputAudioPart,
} from "../../wire/openai-chat/request.ts";
import type { ServerProfile } from "./profile.ts";

/** A part that has a source. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "audio"; readonly value: Audio }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (media: Media, field: string) => Promise<ResolvedMedia>;

/**
 * Converts a part with a source.
 * @param field Path of the part in the request.
 * @throws InvalidRequestError if the server accepts no such part, or not in this form.
 */
export async function mediaPart(
  part: MediaPart,
  field: string,
  source: MediaSource,
  profile: ServerProfile,
): Promise<ContentPartParam> {
  switch (part.case) {
    case "image":
      return imagePart(part.value, await source(part.value, field), field, profile);
    case "audio":
      return audioPart(await source(part.value, field), field, profile);
    case "document":
      return documentPart(part.value, await source(part.value, field), field, profile);
  }
}

function imagePart(
  { detail }: Image,
  media: ResolvedMedia,
  field: string,
  { imageTypes }: ServerProfile,
): ImagePart {
  if (media.kind === "file_id") throw unsupported(`${field}.file_id`, "images by id", "bytes or a URL");
  if (media.kind === "data" && imageTypes !== undefined && !imageTypes.includes(media.mediaType)) {
    const expected = imageTypes.join(", ");
    throw invalidField(`${field}.media_type`, `is ${media.mediaType}; the server takes ${expected}`);
  }
  return { type: "image_url", image_url: { url: toUrl(media), ...(detail === "" ? {} : { detail }) } };
}

function audioPart(
  media: ResolvedMedia,
  field: string,
  { audioInput, audioFormats }: ServerProfile,
): InputAudioPart {
  if (audioInput === "none") throw unsupported(field, "audio", "its transcript");
  if (media.kind === "file_id") throw unsupported(`${field}.file_id`, "audio by id", "its bytes");
  if (audioInput === "base64")
    return { type: "input_audio", input_audio: media.kind === "url" ? media.url : media.base64 };
  if (media.kind === "url") throw unsupported(`${field}.url`, "audio by URL", "its bytes");
  const format = toAudioFormat(media.mediaType);
  if (audioFormats !== undefined && !audioFormats.includes(format)) {
    const expected = audioFormats.join(", ");
    throw invalidField(`${field}.media_type`, `is ${media.mediaType}; the server takes ${expected}`);
  }
  return { type: "input_audio", input_audio: { data: media.base64, format } };
}

/** Returns the API's name of an audio format: the subtype, except for formats with several names. */
function toAudioFormat(mediaType: string): string {
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

function documentPart(
  { fileName }: Document,
  media: ResolvedMedia,
  field: string,
  { documentInput }: ServerProfile,
): ContentPartParam {
  switch (documentInput) {
    case "none":
      throw unsupported(field, "documents", "their text, or images of their pages");
    case "document_url":
      if (media.kind === "file_id") return { type: "file", file_id: media.id };
      return {
        type: "document_url",
        document_url: toUrl(media),
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
      return filePart(fileName, media, field, documentInput === "file_or_url");
  }
}

function filePart(fileName: string, media: ResolvedMedia, field: string, takesUrl: boolean): FilePart {
  if (media.kind === "file_id") return { type: "file", file: { file_id: media.id } };
  if (media.kind === "url" && !takesUrl)
    throw unsupported(`${field}.url`, "documents by URL", "bytes or the id of an uploaded file");
  // The API requires a name alongside the bytes.
  return { type: "file", file: { filename: fileName || "document.pdf", file_data: toUrl(media) } };
}

function toUrl(media: Exclude<ResolvedMedia, { kind: "file_id" }>): string {
  return media.kind === "url" ? media.url : formatDataUri(media.mediaType, media.base64);
}

function unsupported(field: string, what: string, instead: string): Error {
  return invalidField(field, `the server takes no ${what}; send ${instead} instead`);
}
