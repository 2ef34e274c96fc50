/** The kinds of parts of an answer, and the conversion of whole parts to content parts. */
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
} from "../../gen/outrigger/v1/message_pb.ts";
import { asString, hasOnly, type JsonObject, objectIn, textIn, without } from "../../kit/json/json.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";
import type { Blob, Part } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { StateWriter } from "./state.ts";

/** Fields other than `thought` that describe a part's data and are not data themselves. */
const PART_ATTRIBUTES: ReadonlySet<string> = new Set<keyof Part>([
  "thoughtSignature",
  "partMetadata",
  "videoMetadata",
  "mediaResolution",
  "mediaProcessing",
  "speechMetadata",
  "audioTranscription",
]);

/** Returns the kind of a part: the key of its data, else of an attribute; empty if it has neither. */
export function getKind(part: Untrusted<Part>): string {
  let attribute = "";
  for (const key in part) {
    if (key === "thought" || part[key as keyof Part] === null) continue;
    if (!PART_ATTRIBUTES.has(key)) return key;
    attribute ||= key;
  }
  return attribute;
}

/** Reports whether a part has no content and nothing to send back: the API ends streams with empty texts. */
export function isBlank(part: Untrusted<Part>): boolean {
  return textIn(part.text) === "" && hasOnly(part, "text", "thought");
}

/** Reports whether a part is text of the answer, not of the reasoning. */
export function isAnswerText(part: Untrusted<Part>): boolean {
  return getKind(part) === "text" && part.thought !== true && textIn(part.text) !== "";
}

/**
 * Returns a generated image. An image in the reasoning is a draft, not part of the answer: undefined, as for other
 * data.
 */
export function imagePart(part: Untrusted<Part>, states: StateWriter): ContentPart | undefined {
  const blob = objectIn<Blob>(part.inlineData);
  const mediaType = textIn(blob.mimeType);
  if (!mediaType.startsWith("image/") || part.thought === true) return undefined;
  const data = decodeExactBase64(asString(blob.data));
  if (data === undefined) return undefined;
  const value = { mediaType, source: { case: "data", value: data } } as const;
  const rest = { ...part, inlineData: without(blob, "mimeType", "data") };
  return create(ContentPartSchema, { part: { case: "image", value }, providerState: states.ofPart(rest) });
}

/** Creates a part for a wire part that has no unified form. @param source Its JSON text. */
export function nativePart(kind: string, source: string, states: StateWriter): ContentPart {
  return toNative(states.provider, kind, source, states.ofPart({}));
}

/**
 * Creates a part for data about an answer as a whole that has no unified form, for instance its grounding.
 * @param data An object with one key, its kind.
 */
export function answerDataPart(kind: string, data: JsonObject, states: StateWriter): ContentPart {
  return toNative(states.provider, kind, JSON.stringify(data), states.ofAnswer());
}

function toNative(
  provider: string,
  kind: string,
  dataJson: string,
  providerState: ProviderState,
): ContentPart {
  const value = { provider, kind, dataJson };
  return create(ContentPartSchema, { part: { case: "native", value }, providerState });
}
