import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { ResolvedMedia } from "../../kit/media.ts";
import { invalidField } from "../../spec/errors.ts";

/** An image or document part. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (part: MediaPart, field: string) => Promise<ResolvedMedia>;

/** An image as `input_image`, a document as `input_file` (provider documentation: "Input item list"). */
export async function mediaPart(part: MediaPart, field: string, source: MediaSource): Promise<JsonObject> {
  const media = await source(part, field);
  if (part.case === "document") return filePart(part.value, media);
  if (media.kind === "data" && !IMAGE_TYPES.includes(media.mediaType)) {
    throw invalidField(
      `${field}.media_type`,
      `is ${media.mediaType}; the provider takes ${IMAGE_TYPES.join(", ")}`,
    );
  }
  return imagePart(part.value, media);
}

/** Provider documentation: "Images and vision", "Image input requirements". */
const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

function imagePart({ detail }: Image, media: ResolvedMedia): JsonObject {
  const from = media.kind === "file_id" ? { file_id: media.id } : { image_url: urlOf(media) };
  return { type: "input_image", ...from, ...(detail === "" ? {} : { detail }) };
}

function filePart({ fileName }: Document, media: ResolvedMedia): JsonObject {
  if (media.kind === "file_id") return { type: "input_file", file_id: media.id };
  if (media.kind === "url") return { type: "input_file", file_url: media.url };
  // The API wants a name beside the bytes.
  return { type: "input_file", filename: fileName || defaultName(media.mediaType), file_data: urlOf(media) };
}

function urlOf(media: Exclude<ResolvedMedia, { kind: "file_id" }>): string {
  return media.kind === "url" ? media.url : `data:${media.mediaType};base64,${media.base64}`;
}

function defaultName(mediaType: string): string {
  return mediaType === "application/pdf" ? "document.pdf" : "document";
}
