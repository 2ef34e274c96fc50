import { invalidField } from "../../core/errors.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { formatDataUri, type ResolvedMedia } from "../../kit/media/media.ts";

/** An image or document part. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (part: MediaPart, field: string) => Promise<ResolvedMedia>;

/** What the translation of media needs. */
export interface MediaContext {
  readonly media: MediaSource;
  readonly loss: LossReport;
}

/**
 * An image as `input_image`, a document as `input_file` (provider documentation: "Input item list").
 * @throws InvalidRequestError naming the field where the source is wrong or the API has no such images.
 */
export async function mediaPart(
  part: MediaPart,
  field: string,
  { media: source, loss }: MediaContext,
): Promise<JsonObject> {
  const media = await source(part, field);
  if (part.case === "image") return imagePart(part.value, media, field);
  if (media.kind !== "data" && part.value.fileName !== "") {
    loss.lose(
      `${field}.file_name`,
      "unsupported_setting",
      "the Responses API takes a name only beside the bytes of a file; it was left out",
    );
  }
  return filePart(part.value, media);
}

/** Provider documentation: "Images and vision", "Image input requirements". */
const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

function imagePart({ detail }: Image, media: ResolvedMedia, field: string): JsonObject {
  if (media.kind === "data" && !IMAGE_TYPES.includes(media.mediaType)) {
    throw invalidField(
      `${field}.media_type`,
      `is ${media.mediaType}; the provider takes ${IMAGE_TYPES.join(", ")}`,
    );
  }
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
  return media.kind === "url" ? media.url : formatDataUri(media.mediaType, media.base64);
}

function defaultName(mediaType: string): string {
  return mediaType === "application/pdf" ? "document.pdf" : "document";
}
