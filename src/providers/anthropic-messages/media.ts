/** Images and documents -> content blocks (provider documentation: "Vision", "PDF support"). */
import { invalidField } from "../../core/errors.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import {
  type DocumentBlockParam,
  IMAGE_MEDIA_TYPES,
  type ImageBlockParam,
} from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";

/** Converts an image. The API has no `detail`: it treats all images alike. */
export async function imageBlock(
  image: Image,
  field: string,
  context: RequestContext,
): Promise<Untrusted<ImageBlockParam>> {
  const media = await context.media(image, field);
  if (media.mediaType !== "" && !isImageType(media.mediaType) && media.kind !== "file_id")
    throw invalidField(field, `expected one of ${IMAGE_MEDIA_TYPES.join(", ")}, found ${media.mediaType}`);
  if (image.detail !== "" && image.detail !== "auto") {
    context.loss.lose(
      `${field}.detail`,
      "unsupported_setting",
      "the Messages API has no detail setting for images; it was left out",
    );
  }
  return { type: "image", source: toSource(media) };
}

function isImageType(mediaType: string): boolean {
  return (IMAGE_MEDIA_TYPES as readonly string[]).includes(mediaType);
}

/** Converts a document: a PDF or text. */
export async function documentBlock(
  document: Document,
  field: string,
  context: RequestContext,
): Promise<Untrusted<DocumentBlockParam>> {
  const media = await context.media(document, field);
  return {
    type: "document",
    source: documentSource(media, field),
    title: document.fileName === "" ? undefined : document.fileName,
    citations: context.options.documentCitations ? { enabled: true } : undefined,
  };
}

/** The source of a document, with the fields that the API documents. */
type DocumentSource = Untrusted<DocumentBlockParam["source"]>;

function documentSource(media: ResolvedMedia, field: string): DocumentSource {
  const { mediaType } = media;
  if (
    media.kind === "file_id" ||
    mediaType === "application/pdf" ||
    (media.kind === "url" && mediaType === "")
  )
    return toSource(media);
  if (media.kind === "data" && isText(mediaType))
    return { type: "text", media_type: "text/plain", data: decodeText(media.base64, field) };
  throw invalidField(field, `expected a PDF, or the bytes of a text, found ${mediaType} as ${media.kind}`);
}

function toSource(media: ResolvedMedia): DocumentSource {
  switch (media.kind) {
    case "url":
      return { type: "url", url: media.url };
    case "file_id":
      return { type: "file", file_id: media.id };
    case "data":
      return { type: "base64", media_type: media.mediaType, data: media.base64 };
  }
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith("text/") || mediaType === "application/json" || mediaType === "application/xml";
}

function decodeText(base64: string, field: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    throw invalidField(field, "expected text in UTF-8");
  }
}
