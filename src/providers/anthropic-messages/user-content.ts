/**
 * Parts of users, tools and instructions -> content blocks (provider documentation: "Create a
 * message", `messages`).
 */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import type { InputContext } from "./context.ts";
import { isOwnProvider } from "./state.ts";
import type { Block } from "./wire.ts";

/**
 * The blocks of what a user says or a tool answers. Blank texts, which the API refuses, are
 * left out.
 * @throws InvalidRequestError naming the part that the API has no form for.
 */
export async function userBlocks(
  parts: readonly ContentPart[],
  field: string,
  context: InputContext,
): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const [index, part] of parts.entries()) {
    const block = await userBlock(part, `${field}[${index}]`, context);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/**
 * The blocks of instructions: text alone. Blank texts are left out.
 * @throws InvalidRequestError naming a part that is no text.
 */
export function systemBlocks(parts: readonly ContentPart[], field: string): Block[] {
  return parts.flatMap(({ part }, index) => {
    if (part.case !== "text")
      throw invalidField(
        `${field}[${index}]`,
        `expected text in instructions, found ${part.case ?? "nothing"}`,
      );
    return textBlocks(part.value);
  });
}

/** A text as a block; none for a text that is empty or only white space, which the API refuses even where it wrote it. */
export function textBlocks(text: string): Block[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

async function userBlock(
  whole: ContentPart,
  field: string,
  context: InputContext,
): Promise<Block | undefined> {
  const { part } = whole;
  switch (part.case) {
    case "text":
      return textBlocks(part.value)[0];
    case "image":
      return imageBlock(part.value, `${field}.image`, context);
    case "document":
      return documentBlock(part.value, `${field}.document`, context);
    case "audio":
      throw invalidField(
        `${field}.audio`,
        "the Messages API takes no audio; use a provider that does, or send the text of it",
      );
    case "native":
      if (isOwnProvider(part.value.provider, context.provider))
        return parseObjectField(part.value.dataJson, `${field}.native.data_json`);
      replaceForeignPart(whole, context.request.foreignState, field, context.loss);
      return undefined;
    default:
      throw invalidField(
        field,
        `expected text, an image, a document or a native part, found ${part.case ?? "nothing"}`,
      );
  }
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** An image. The API looks at all of them alike, so how closely to look is left out. */
export async function imageBlock(image: Image, field: string, context: InputContext): Promise<Block> {
  const media = await context.media(image, field);
  if (media.mediaType !== "" && !IMAGE_TYPES.includes(media.mediaType) && media.kind !== "file_id")
    throw invalidField(field, `expected one of ${IMAGE_TYPES.join(", ")}, found ${media.mediaType}`);
  if (image.detail !== "" && image.detail !== "auto") {
    context.loss.lose(
      `${field}.detail`,
      "unsupported_setting",
      "the Messages API looks at all images alike; the detail was left out",
    );
  }
  return { type: "image", source: sourceOf(media) };
}

async function documentBlock(document: Document, field: string, context: InputContext): Promise<Block> {
  const media = await context.media(document, field);
  return {
    type: "document",
    source: documentSource(media, field),
    ...(document.fileName === "" ? {} : { title: document.fileName }),
    ...(context.documentCitations ? { citations: { enabled: true } } : {}),
  };
}

function documentSource(media: ResolvedMedia, field: string): JsonObject {
  const { mediaType } = media;
  if (
    media.kind === "file_id" ||
    mediaType === "application/pdf" ||
    (media.kind === "url" && mediaType === "")
  )
    return sourceOf(media);
  if (media.kind === "data" && isText(mediaType))
    return { type: "text", media_type: "text/plain", data: textOf(media.base64, field) };
  throw invalidField(field, `expected a PDF, or the bytes of a text, found ${mediaType} as ${media.kind}`);
}

function sourceOf(media: ResolvedMedia): JsonObject {
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

function textOf(base64: string, field: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    throw invalidField(field, "expected text in UTF-8");
  }
}
