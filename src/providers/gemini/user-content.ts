/** Parts that the caller wrote: of users' messages and of tools' results -> parts of a `user` content. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { InputContext } from "./context.ts";
import { type MediaContext, mediaPart } from "./media.ts";
import type { Answer, ToolOutput } from "./tool-results.ts";
import { type Part, WIRE_NAME } from "./wire.ts";

/** The parts of a user's message; empty texts are left out, which the API refuses. @param field Path of the content. */
export async function userParts(
  content: readonly ContentPart[],
  field: string,
  context: InputContext,
  media: MediaContext,
): Promise<Part[]> {
  const parts: Part[] = [];
  for (const [index, whole] of content.entries()) {
    const place = `${field}[${index}]`;
    const { part } = whole;
    if (part.case === "text") parts.push(...(part.value === "" ? [] : [{ text: part.value }]));
    else if (part.case === "audio") parts.push(await mediaPart(part, `${place}.audio`, media));
    else parts.push(...(await pictureOrNative(whole, place, context, media)));
  }
  return parts;
}

/** What a tool gave, in the API's words. A native `functionResponse` is the whole answer, and so alone. */
export async function toolOutput(
  { parts, isError, field }: Answer,
  context: InputContext,
  media: MediaContext,
): Promise<ToolOutput> {
  const texts: string[] = [];
  const others: Part[] = [];
  let verbatim: Part | undefined;
  for (const { part: whole, field: place } of parts) {
    const { part } = whole;
    if (part.case === "text") texts.push(part.value);
    else if (!isResponse(part)) others.push(...(await pictureOrNative(whole, place, context, media)));
    else if (parts.length === 1) verbatim = ownNative(whole, part.value, place, context);
    else throw invalidField(place, "expected a functionResponse part alone, found other parts beside it");
  }
  if (others.length > 0 && !context.traits.toolResultMedia)
    context.loss.lose(field, "converted_content", MEDIA_BEHIND);
  return { text: texts.join("\n"), isError, media: others, verbatim };
}

const MEDIA_BEHIND = "the model takes no media in a tool's result; they were sent behind it";

function isResponse(part: ContentPart["part"]): part is { case: "native"; value: NativePart } {
  return part.case === "native" && part.value.kind === "functionResponse";
}

async function pictureOrNative(
  whole: ContentPart,
  field: string,
  context: InputContext,
  media: MediaContext,
): Promise<Part[]> {
  const { part } = whole;
  if (part.case === "image" || part.case === "document")
    return [await mediaPart(part, `${field}.${part.case}`, media)];
  if (part.case !== "native")
    throw invalidField(field, `expected text, media or a native part, found ${part.case ?? "nothing"}`);
  const native = ownNative(whole, part.value, field, context);
  return native === undefined ? [] : [native];
}

/** A part in the provider's own words; undefined where it is another provider's, and left out. */
function ownNative(
  whole: ContentPart,
  { provider, dataJson }: NativePart,
  field: string,
  { request, loss, provider: asked }: InputContext,
): Part | undefined {
  if (provider !== asked && provider !== WIRE_NAME) {
    replaceForeignPart(whole, request.foreignState, field, loss);
    return undefined;
  }
  parseObjectField(dataJson, `${field}.native.data_json`);
  return sourceObject(dataJson);
}
