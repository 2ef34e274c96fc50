import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { type JsonObject, objectIn, parseObjectField, textIn, tryParseJson } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { InputContent, InputText } from "../../wire/openai-responses/request.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";
import { mediaPart } from "./media.ts";

/** A part and its path in the request. */
export interface PartWithPath {
  readonly part: ContentPart;
  readonly field: string;
}

/** Returns the parts of a list, each with its path. @param field Path of the list. */
export function withPaths(parts: readonly ContentPart[], field: string): PartWithPath[] {
  return parts.map((part, index) => ({ part, field: `${field}[${index}]` }));
}

/**
 * Converts content of a message or a result: text, images, documents, and native parts of this API. Native parts of
 * other providers become what `foreign_state` asks for.
 * @throws InvalidRequestError naming the part that the API has no form for.
 */
export async function toUserContent(
  parts: readonly PartWithPath[],
  context: RequestContext,
): Promise<JsonObject[]> {
  const converted: JsonObject[] = [];
  for (const part of parts) {
    const inputPart = await toInputPart(part, context);
    if (inputPart !== undefined) converted.push(inputPart);
  }
  return converted;
}

async function toInputPart(
  { part: contentPart, field }: PartWithPath,
  context: RequestContext,
): Promise<JsonObject | undefined> {
  const { part } = contentPart;
  switch (part.case) {
    case "text":
      return { type: "input_text", text: part.value } satisfies InputText;
    case "image":
    case "document":
      return mediaPart(part, `${field}.${part.case}`, context);
    case "audio":
      throw invalidField(
        `${field}.audio`,
        "the Responses API does not accept audio; use a provider that does, or send a transcript",
      );
    case "native":
      return nativeBlock({ part: contentPart, field }, context);
    default:
      throw invalidField(
        field,
        `expected text, an image or a document here, found ${part.case ?? "nothing"}`,
      );
  }
}

/**
 * Reports whether a part is a separate item, such as the answer to a request for approval, that goes alongside messages
 * and not inside one.
 */
export function isItem({ part }: ContentPart, context: RequestContext): boolean {
  if (part.case !== "native" || !isSameNative(part.value, context)) return false;
  const block = objectIn<InputContent>(tryParseJson(part.value.dataJson));
  return !textIn(block.type).startsWith("input_");
}

/**
 * Returns the block of a native part with its original spelling; undefined if it belongs to another provider and
 * `foreign_state` does not refuse it.
 */
export function nativeBlock(
  { part: contentPart, field }: PartWithPath,
  context: RequestContext,
): JsonObject | undefined {
  const { part } = contentPart;
  if (part.case !== "native") return undefined;
  if (isSameNative(part.value, context)) {
    parseObjectField(part.value.dataJson, `${field}.native.data_json`);
    return sourceObject(part.value.dataJson);
  }
  replaceForeignPart(contentPart, context.request.foreignState, field, context.loss);
  return undefined;
}

function isSameNative({ provider }: NativePart, context: RequestContext): boolean {
  return provider === context.provider || provider === PROVIDER_NAME;
}
