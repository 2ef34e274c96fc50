/** Parts of an answer that arrive whole -> our content parts. */
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
} from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject, objectIn, textIn, without } from "../../kit/json/json.ts";
import type { SpelledPart } from "./source.ts";
import type { StateWriter } from "./state.ts";
import type { Part } from "./wire.ts";

/** A part that is neither text nor a call of the caller's tools: a generated image, or a native part as it is spelled. */
export function wholePart(kind: string, { part, spell }: SpelledPart, states: StateWriter): ContentPart {
  return imagePart(part, states) ?? nativePart(states.provider, kind, spell(), states.of({}));
}

/** What was said of an answer as a whole and has no unified form, its grounding for instance. @param block An object with one key, its kind. */
export function answerPart(kind: string, block: JsonObject, states: StateWriter): ContentPart {
  return nativePart(states.provider, kind, JSON.stringify(block), states.ofAnswer());
}

function nativePart(
  provider: string,
  kind: string,
  dataJson: string,
  providerState: ProviderState,
): ContentPart {
  const value = { provider, kind, dataJson };
  return create(ContentPartSchema, { part: { case: "native", value }, providerState });
}

/** A generated image. An image among the thoughts is a draft and no answer, so that it stays native. */
function imagePart(part: Part, states: StateWriter): ContentPart | undefined {
  const blob = objectIn(part.inlineData);
  const mediaType = textIn(blob.mimeType);
  const data = exactBytes(asString(blob.data));
  if (!mediaType.startsWith("image/") || part.thought === true || data === undefined) return undefined;
  const value = { mediaType, source: { case: "data", value: data } } as const;
  const rest = { ...part, inlineData: without(blob, "mimeType", "data") };
  return create(ContentPartSchema, { part: { case: "image", value }, providerState: states.of(rest) });
}

/** The bytes of base64 text; undefined where the text could not be made from them again. */
function exactBytes(base64: string | undefined): Uint8Array | undefined {
  if (base64 === undefined || base64 === "") return undefined;
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes : undefined;
}
