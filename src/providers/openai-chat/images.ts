/** Images that a model made (OpenRouter documentation: "Image generation", `message.images`). */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, ContentPartSchema, type Image } from "../../gen/outrigger/v1/message_pb.ts";
import { asJson, objectIn, textIn, without } from "../../kit/json/json.ts";
import { formatDataUri } from "../../kit/media/data-uri.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";
import type { GeneratedImage } from "../../wire/openai-chat/parts.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { StateWriter } from "./state.ts";

/** The address of an image, if it is not the URL alone. */
type ImageUrl = Exclude<GeneratedImage["image_url"], string>;

/** Converts an entry of `images` to a part; undefined if it has no URL. */
export function toImagePart(entry: Untrusted<GeneratedImage>, states: StateWriter): ContentPart | undefined {
  const inner = objectIn<ImageUrl>(entry.image_url);
  const url = textIn(entry.image_url) || textIn(inner.url);
  if (url === "") return undefined;
  const rest = { ...without(entry, "image_url", "index"), image_url: without(inner, "url") };
  return create(ContentPartSchema, {
    part: { case: "image", value: toSource(url) },
    providerState: states.ofImage(rest),
  });
}

/** Returns the bytes of a data: URL if the URL can be made from them again, else the URL itself. */
function toSource(url: string) {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  const bytes = decodeExactBase64(base64);
  if (mediaType !== undefined && bytes !== undefined)
    return { mediaType, source: { case: "data", value: new Uint8Array(bytes) } } as const;
  return { source: { case: "url", value: url } } as const;
}

const DATA_URL = /^data:([a-z]+\/[\w.+-]+);base64,([A-Za-z0-9+/=]+)$/;

/** Returns the entry to send back; undefined if the image is an uploaded file. @param rest The entry in its state. */
export function toImageEntry(
  { mediaType, source }: Image,
  rest: Untrusted<GeneratedImage>,
): GeneratedImage | undefined {
  const url =
    source.case === "data"
      ? formatDataUri(mediaType, Buffer.from(source.value).toString("base64"))
      : source.case === "url"
        ? source.value
        : undefined;
  if (url === undefined) return undefined;
  return { ...asJson(rest), image_url: { url, ...objectIn(rest.image_url) } };
}
