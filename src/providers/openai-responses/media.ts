import { invalidField } from "../../core/errors.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { formatDataUri, type ResolvedMedia } from "../../kit/media/media.ts";
import type { InputFile, InputImage } from "../../wire/openai-responses/request.ts";
import type { MediaPart, RequestContext, Settings } from "./context.ts";

/**
 * Converts an image to `input_image`, a document to `input_file` (provider documentation: "Input item list").
 * @throws InvalidRequestError naming the field if the source is wrong or the API accepts no such images.
 */
export async function mediaPart(
  part: MediaPart,
  field: string,
  { media: source, loss }: Pick<RequestContext, "media" | "loss">,
): Promise<JsonObject> {
  const media = await source(part, field);
  if (part.case === "image") return imagePart(part.value, media, field);
  if (media.kind !== "data" && part.value.fileName !== "") {
    const message =
      "the Responses API accepts a name only together with the bytes of a file; it was left out";
    loss.lose(`${field}.file_name`, "unsupported_setting", message);
  }
  return filePart(part.value, media);
}

/** Provider documentation: "Images and vision", "Image input requirements". */
const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

function imagePart({ detail }: Image, media: ResolvedMedia, field: string): JsonObject {
  if (media.kind === "data" && !IMAGE_TYPES.includes(media.mediaType)) {
    const message = `is ${media.mediaType}; the provider accepts ${IMAGE_TYPES.join(", ")}`;
    throw invalidField(`${field}.media_type`, message);
  }
  return {
    type: "input_image",
    file_id: media.kind === "file_id" ? media.id : undefined,
    image_url: media.kind === "file_id" ? undefined : toUrl(media),
    detail: detail || undefined,
  } satisfies Settings<InputImage>;
}

function filePart({ fileName }: Document, media: ResolvedMedia): JsonObject {
  if (media.kind === "file_id") return { type: "input_file", file_id: media.id } satisfies InputFile;
  if (media.kind === "url") return { type: "input_file", file_url: media.url } satisfies InputFile;
  // The API requires a name alongside the bytes.
  const filename = fileName || defaultName(media.mediaType);
  return { type: "input_file", filename, file_data: toUrl(media) } satisfies InputFile;
}

function toUrl(media: Exclude<ResolvedMedia, { kind: "file_id" }>): string {
  return media.kind === "url" ? media.url : formatDataUri(media.mediaType, media.base64);
}

function defaultName(mediaType: string): string {
  return mediaType === "application/pdf" ? "document.pdf" : "document";
}
