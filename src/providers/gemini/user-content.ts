/** Parts that the caller wrote, in user messages and results of tools -> parts of a `user` content. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { Part } from "../../wire/gemini/request.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";
import { type MediaContext, toMediaPart } from "./media.ts";

/**
 * Returns the parts of a user message. Empty texts, which the API refuses, are left out. @param field Path of the
 * content.
 */
export async function toUserContent(
  content: readonly ContentPart[],
  field: string,
  context: RequestContext,
  media: MediaContext,
): Promise<Part[]> {
  const parts: Part[] = [];
  for (const [index, whole] of content.entries()) {
    const partField = `${field}[${index}]`;
    const { part } = whole;
    if (part.case === "text") {
      if (part.value !== "") parts.push({ text: part.value });
    } else if (part.case === "audio") parts.push(await toMediaPart(part, `${partField}.audio`, media));
    else {
      const translated = await toMediaOrNativePart(whole, partField, context, media);
      if (translated !== undefined) parts.push(translated);
    }
  }
  return parts;
}

/** Returns an image, document or native part; undefined for another provider's native part, which is left out. */
export async function toMediaOrNativePart(
  whole: ContentPart,
  field: string,
  context: RequestContext,
  media: MediaContext,
): Promise<Part | undefined> {
  const { part } = whole;
  if (part.case === "image" || part.case === "document")
    return toMediaPart(part, `${field}.${part.case}`, media);
  if (part.case !== "native")
    throw invalidField(field, `expected text, media or a native part, found ${part.case ?? "nothing"}`);
  return sameNativePart(whole, part.value, field, context);
}

/** Returns a native part of this API, unchanged; undefined for another provider's, which is left out. */
export function sameNativePart(
  whole: ContentPart,
  native: NativePart,
  field: string,
  { request, loss, provider }: RequestContext,
): Part | undefined {
  if (native.provider !== provider && native.provider !== PROVIDER_NAME) {
    replaceForeignPart(whole, request.foreignState, field, loss);
    return undefined;
  }
  parseObjectField(native.dataJson, `${field}.native.data_json`);
  return sourceObject(native.dataJson);
}
