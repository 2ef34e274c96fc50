import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { asObject, type JsonObject, parseObjectField, textIn, tryParseJson } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { type MediaContext, mediaPart } from "./media.ts";
import { WIRE_NAME } from "./wire.ts";

/** What the translation of a part needs to know of its request. */
export interface PartContext extends MediaContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly request: Request;
}

/** A part and its path in the request. */
export interface PlacedPart {
  readonly part: ContentPart;
  readonly field: string;
}

/** The parts of a list, each with its path. @param field Path of the list. */
export function placed(parts: readonly ContentPart[], field: string): PlacedPart[] {
  return parts.map((part, index) => ({ part, field: `${field}[${index}]` }));
}

/**
 * What the API takes as content of a message or a result: text, images, documents, and its own
 * native parts. Native parts of others are dealt with as the request says.
 * @throws InvalidRequestError naming the part that the API has no form for.
 */
export async function inputParts(parts: readonly PlacedPart[], context: PartContext): Promise<JsonObject[]> {
  const converted: JsonObject[] = [];
  for (const part of parts) {
    const inputPart = await toInputPart(part, context);
    if (inputPart !== undefined) converted.push(inputPart);
  }
  return converted;
}

async function toInputPart(
  { part: whole, field }: PlacedPart,
  context: PartContext,
): Promise<JsonObject | undefined> {
  const { part } = whole;
  switch (part.case) {
    case "text":
      return { type: "input_text", text: part.value };
    case "image":
    case "document":
      return mediaPart(part, `${field}.${part.case}`, context);
    case "audio":
      throw invalidField(
        `${field}.audio`,
        "the Responses API takes no audio; use a provider that does, or send the text of it",
      );
    case "native":
      return nativeBlock({ part: whole, field }, context);
    default:
      throw invalidField(
        field,
        `expected text, an image or a document here, found ${part.case ?? "nothing"}`,
      );
  }
}

/**
 * Whether a part is an item of its own, such as the answer to a request for approval, that stands
 * beside messages and not inside one.
 */
export function isItem({ part }: ContentPart, context: PartContext): boolean {
  if (part.case !== "native" || !isOwnNative(part.value, context)) return false;
  const block = asObject(tryParseJson(part.value.dataJson));
  return !textIn(block?.type).startsWith("input_");
}

/**
 * The block of a native part, as it is spelled; undefined where it belongs to another provider, and
 * was dealt with as the request says.
 */
export function nativeBlock(
  { part: whole, field }: PlacedPart,
  context: PartContext,
): JsonObject | undefined {
  const { part } = whole;
  if (part.case !== "native") return undefined;
  if (isOwnNative(part.value, context)) {
    parseObjectField(part.value.dataJson, `${field}.native.data_json`);
    return sourceObject(part.value.dataJson);
  }
  replaceForeignPart(whole, context.request.foreignState, field, context.loss);
  return undefined;
}

function isOwnNative({ provider }: NativePart, context: PartContext): boolean {
  return provider === context.provider || provider === WIRE_NAME;
}
